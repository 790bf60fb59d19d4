package payments

import (
	"context"
	"log/slog"

	"relaypdf/mail"
	"relaypdf/store"
)

// write tells those who pay for an account what has become of an auto-reload,
// or of a dispute.
func (p *Payments) write(ctx context.Context, change store.PaymentChange) {
	payment := change.Payment
	wallet := mail.Link{Text: "Open the wallet", URL: p.cfg.BaseURL + walletPath}
	switch {
	case change.SwitchOff != "":
		p.send(ctx, payment.AccountID, mail.Letter{
			Subject: "Auto-reload is off", Link: wallet,
			Lines: []string{change.SwitchOff, "Your wallet does not refill itself any more. Top it up, or look at the card and switch auto-reload on again."},
		})
	case change.Disputed:
		p.send(ctx, payment.AccountID, mail.Letter{
			Subject: "A payment is disputed", Link: wallet,
			Lines: []string{"The bank has taken back the payment of " + payment.Amount.String() + ", and so it was taken from your wallet. It comes back if the bank decides against the dispute."},
		})
	case payment.Kind != store.PaymentAutoReload:
	case change.Action:
		link := wallet
		if payment.ActionURL != "" {
			link = mail.Link{Text: "Confirm the payment", URL: payment.ActionURL}
		}
		p.send(ctx, payment.AccountID, mail.Letter{
			Subject: "Confirm a payment of " + payment.Amount.String(), Link: link,
			Lines: []string{"Your wallet is low and was to refill itself. " + payment.Reason, "The link works for a day. Until then nothing else is taken."},
		})
	case change.Failed:
		p.send(ctx, payment.AccountID, mail.Letter{
			Subject: "Auto-reload failed", Link: wallet,
			Lines: []string{"Your wallet is low, and " + payment.Amount.String() + " could not be taken from " + cardOr(payment.Card) + ".", payment.Reason},
		})
	case change.Credited:
		p.send(ctx, payment.AccountID, mail.Letter{
			Subject: "Your wallet was refilled with " + payment.Amount.String(), Link: wallet,
			Lines: []string{"It was low, so that " + payment.Amount.String() + " was taken from " + cardOr(payment.Card) + ", as you have set."},
		})
	}
}

func cardOr(card string) string {
	if card == "" {
		return "the saved card"
	}
	return card
}

// writeCapped tells that the month's cap is reached.
func (p *Payments) writeCapped(ctx context.Context, accountID string) {
	p.send(ctx, accountID, mail.Letter{
		Subject: "Auto-reload has reached its monthly cap", Link: mail.Link{Text: "Open the wallet", URL: p.cfg.BaseURL + walletPath},
		Lines: []string{"Your wallet is low, and what you allow auto-reload to take in a month does not cover another payment. Top it up, or raise the cap."},
	})
}

// send writes to the owners and the billing members of an account.
func (p *Payments) send(ctx context.Context, accountID string, letter mail.Letter) {
	if p.cfg.Mail == nil {
		return
	}
	members, err := p.store.Members().In(ctx, accountID)
	for _, m := range members {
		if m.Role != store.RoleOwner && m.Role != store.RoleBilling {
			continue
		}
		letter.To = m.Person.Email
		if err = p.cfg.Mail.Enqueue(ctx, letter); err != nil {
			break
		}
	}
	if err != nil {
		p.log.LogAttrs(ctx, slog.LevelError, "letter about a payment not kept", slog.String("account", accountID), slog.Any("error", err))
	}
}
