package store

import (
	"context"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// alertPause is the minimum time between two notifications of an account about its empty wallet.
const alertPause = time.Hour

// WalletEvent is the data of a wallet event.
type WalletEvent struct {
	AmountMicrodollars  credit.Amount `json:"amountMicrodollars" jsonschema:"required" jsonschema_description:"Amount of the payment or of the refused call, in microdollars (1 USD = 1,000,000)."`
	BalanceMicrodollars credit.Amount `json:"balanceMicrodollars" jsonschema:"required" jsonschema_description:"Balance of the wallet after the event, in microdollars."`
	Reason              string        `json:"reason,omitempty" jsonschema_description:"Reason why a reload failed or a call was refused."`
}

// AlertEmptyWallet notifies the account's endpoints that a call of the quote was refused for an empty balance: the
// first time, and then at most hourly.
func (s *Store) AlertEmptyWallet(ctx context.Context, accountID string, quote credit.Amount) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		now := s.now()
		due, err := changed(tx.NewRaw(`INSERT INTO wallet_alerts (account_id, refused_at) VALUES (?0, ?1)
			ON CONFLICT (account_id) DO UPDATE SET refused_at = EXCLUDED.refused_at
			WHERE wallet_alerts.refused_at <= ?2`,
			accountID, toMicros(now), toMicros(now.Add(-alertPause))).Exec(ctx))
		if err != nil || !due {
			return err
		}

		var balance credit.Amount
		err = tx.NewSelect().Model((*accountRow)(nil)).Column("balance").Where("id = ?", accountID).Scan(ctx, &balance)
		if err != nil {
			return notFound(err)
		}

		return s.writeEvent(ctx, tx, newEvent{
			accountID: accountID, kind: EventPaymentRequired, at: now,
			data: WalletEvent{
				AmountMicrodollars:  quote,
				BalanceMicrodollars: balance,
				Reason:              "the wallet does not cover a call",
			},
		})
	})
	return wrapped("tell of an empty wallet", err)
}
