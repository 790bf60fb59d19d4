package payments

import (
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/web/mail"
)

// buildEmails notifies the users who pay for an account about the outcome of an auto-reload, or of a dispute. It is nil
// without email.
func (p *Payments) buildEmails() store.MailBuilder {
	if p.cfg.Mail == nil {
		return nil
	}

	return func(change store.PaymentChange, to []string) ([]store.QueuedEmail, error) {
		email, ok := p.email(change)
		if !ok {
			return nil, nil
		}
		return mail.SealAll(p.cfg.Mail, to, email)
	}
}

// wake triggers the sending of new emails.
func (p *Payments) wake() {
	if p.cfg.Mail != nil {
		p.cfg.Mail.Wake()
	}
}

// email returns the email about a change, if there is one.
func (p *Payments) email(change store.PaymentChange) (mail.Message, bool) {
	payment := change.Payment
	wallet := mail.Link{Text: "Open wallet", URL: p.cfg.BaseURL + walletPath}
	switch {
	case change.Capped:
		return mail.Message{
			Subject: "Auto-reload reached its monthly maximum", Link: wallet,
			Lines: []string{
				"Your wallet balance is low, and another auto-reload payment would exceed your monthly maximum. " +
					"Top up the wallet, or raise the maximum.",
			},
		}, true

	case change.OffReason != "":
		return mail.Message{
			Subject: "Auto-reload was turned off", Link: wallet,
			Lines: []string{
				change.OffReason,
				"The wallet is no longer topped up automatically. " +
					"Top it up, or check the saved card and turn auto-reload on again.",
			},
		}, true

	case change.Disputed:
		return mail.Message{
			Subject: "A payment is disputed", Link: wallet,
			Lines: []string{
				"The bank reversed the payment of " + payment.Amount.String() + ", so this amount was deducted " +
					"from your wallet. It is credited again if the bank rejects the dispute.",
			},
		}, true

	case payment.Kind != store.PaymentAutoReload:
	case change.Action:
		link := wallet
		if payment.ActionURL != "" {
			link = mail.Link{Text: "Confirm the payment", URL: payment.ActionURL}
		}
		return mail.Message{
			Subject: "Confirm a payment of " + payment.Amount.String(), Link: link,
			Lines: []string{
				"Your wallet balance is low, so auto-reload started this payment. " + payment.Reason,
				"The link works for 24 hours. No other payment is made until then.",
			},
		}, true

	case change.Failed:
		return mail.Message{
			Subject: "Auto-reload failed", Link: wallet,
			Lines: []string{
				"Your wallet balance is low, and auto-reload could not charge " +
					payment.Amount.String() + " to " + cardOr(payment.Card) + ".",
				payment.Reason,
			},
		}, true

	case change.Credited:
		return mail.Message{
			Subject: "Your wallet was topped up with " + payment.Amount.String(), Link: wallet,
			Lines: []string{
				"The balance was low, so auto-reload charged " +
					payment.Amount.String() + " to " + cardOr(payment.Card) + ".",
			},
		}, true
	}
	return mail.Message{}, false
}

func cardOr(card string) string {
	if card == "" {
		return "the saved card"
	}
	return card
}
