package payments

import (
	"relaypdf/store"
	"relaypdf/web/mail"
)

// telling notifies the users who pay for an account about the outcome of an auto-reload, or of a dispute. It is nil
// without email.
func (p *Payments) telling() store.MailBuilder {
	if p.cfg.Mail == nil {
		return nil
	}
	return func(change store.PaymentChange, to []string) (sealed []store.Letter, err error) {
		letter, ok := p.letter(change)
		if !ok {
			return nil, nil
		}
		for _, letter.To = range to {
			kept, err := p.cfg.Mail.Seal(letter)
			if err != nil {
				return nil, err
			}
			sealed = append(sealed, kept)
		}
		return sealed, nil
	}
}

// wake triggers the sending of new emails.
func (p *Payments) wake() {
	if p.cfg.Mail != nil {
		p.cfg.Mail.Wake()
	}
}

// letter returns the email about a change, if there is one.
func (p *Payments) letter(change store.PaymentChange) (mail.Message, bool) {
	payment := change.Payment
	wallet := mail.Link{Text: "Open the wallet", URL: p.cfg.BaseURL + walletPath}
	switch {
	case change.Capped:
		return mail.Message{
			Subject: "Auto-reload has reached its monthly cap", Link: wallet,
			Lines: []string{"Your wallet is low, and what you allow auto-reload to take in a month does not cover another payment. Top it up, or raise the cap."},
		}, true
	case change.SwitchOff != "":
		return mail.Message{
			Subject: "Auto-reload is off", Link: wallet,
			Lines: []string{change.SwitchOff, "Your wallet does not refill itself any more. Top it up, or look at the card and switch auto-reload on again."},
		}, true
	case change.Disputed:
		return mail.Message{
			Subject: "A payment is disputed", Link: wallet,
			Lines: []string{"The bank has taken back the payment of " + payment.Amount.String() + ", and so it was taken from your wallet. It comes back if the bank decides against the dispute."},
		}, true
	case payment.Kind != store.PaymentAutoReload:
	case change.Action:
		link := wallet
		if payment.ActionURL != "" {
			link = mail.Link{Text: "Confirm the payment", URL: payment.ActionURL}
		}
		return mail.Message{
			Subject: "Confirm a payment of " + payment.Amount.String(), Link: link,
			Lines: []string{"Your wallet is low and was to refill itself. " + payment.Reason, "The link works for a day. Until then nothing else is taken."},
		}, true
	case change.Failed:
		return mail.Message{
			Subject: "Auto-reload failed", Link: wallet,
			Lines: []string{"Your wallet is low, and " + payment.Amount.String() + " could not be taken from " + cardOr(payment.Card) + ".", payment.Reason},
		}, true
	case change.Credited:
		return mail.Message{
			Subject: "Your wallet was refilled with " + payment.Amount.String(), Link: wallet,
			Lines: []string{"It was low, so that " + payment.Amount.String() + " was taken from " + cardOr(payment.Card) + ", as you have set."},
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
