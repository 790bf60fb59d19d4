package web

import (
	"context"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

// AlertTask returns the task that sends the usage alerts of all accounts. A nil mailer sends no emails.
func AlertTask(s *store.Store, mailer Mailer, baseURL string) store.Task {
	check := func(ctx context.Context) error {
		if mailer == nil {
			_, err := s.CheckAlerts(ctx, nil)
			return err
		}

		sent, err := s.CheckAlerts(ctx, func(news store.AlertEvent, to []string) ([]store.QueuedEmail, error) {
			return mail.SealAll(mailer, to, alertLetter(news, baseURL))
		})
		if sent > 0 {
			mailer.Wake()
		}
		return err
	}

	return store.Task{Name: "send usage alerts", Every: time.Minute, Do: check}
}

// alertLetter returns the email of an alert.
func alertLetter(news store.AlertEvent, baseURL string) mail.Message {
	usage := mail.Link{Text: "Open usage", URL: baseURL + usagePath}

	switch news.Kind {
	case store.AlertLowBalance:
		balance := views.Dollars(credit.Amount(news.Value))
		threshold := views.Dollars(credit.Amount(news.Threshold))
		return mail.Message{
			Subject: "Your wallet balance is below " + threshold,
			Link:    mail.Link{Text: "Open wallet", URL: baseURL + walletPath},
			Lines: []string{
				"The balance is " + balance + ". Calls are refused when the balance does not cover their price.",
				"Your alert is set to " + threshold + ".",
			},
		}

	case store.AlertDayLimit:
		return mail.Message{
			Subject: fmt.Sprintf("%d%% of the daily spending limit is used", news.Value), Link: usage,
			Lines: []string{
				fmt.Sprintf(
					"The calls of today (UTC) have used %d%% of the daily spending limit. Calls beyond the limit are refused until the next day.",
					news.Value,
				),
				fmt.Sprintf("Your alert is set to %d%%.", news.Threshold),
			},
		}
	}

	return mail.Message{
		Subject: fmt.Sprintf("%d%% of today’s calls failed", news.Value), Link: usage,
		Lines: []string{
			fmt.Sprintf(
				"Of the calls of today (UTC), %d%% failed. Failed calls are not charged. The dashboard lists them under Documents, with their errors.",
				news.Value,
			),
			fmt.Sprintf("Your alert is set to %d%%.", news.Threshold),
		},
	}
}
