package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"relaypdf/store/credit"
)

const (
	// reloadLease is how long one process alone works on an attempt. It is
	// longer than a provider of payments may take.
	reloadLease = 2 * time.Minute
	// reloadPause is how long no money is asked for after a failed attempt.
	reloadPause = time.Hour
)

// AutoReload is how a wallet refills itself.
type AutoReload struct {
	Threshold credit.Amount // a balance below it is refilled
	Amount    credit.Amount // what is taken, at least the threshold
	Method    string        // what the provider of payments calls the saved method
}

// Reload is an attempt to refill a wallet, which this process has taken on.
type Reload struct {
	ID        string // for the provider, which charges once for each
	AccountID string
	Amount    credit.Amount
	Method    string
}

type reloadRow struct {
	bun.BaseModel `bun:"table:reloads,alias:r"`

	AccountID     string `bun:",pk"`
	Threshold     credit.Amount
	Amount        credit.Amount
	Method        string
	Attempt       string // empty when the last one has ended
	AttemptAmount credit.Amount
	AttemptMethod string
	LeasedUntil   int64
	NotBefore     int64
}

// SetAutoReload turns an account's auto-reload on, or off where r is nil. An
// attempt may be made at once, although one has just failed. It returns
// ErrNotFound for an unknown account.
func (s PaymentStore) SetAutoReload(ctx context.Context, accountID string, r *AutoReload) error {
	if r != nil && (r.Threshold <= 0 || r.Amount < r.Threshold || r.Amount > maxAmount || r.Method == "" || !storable(r.Method)) {
		return fmt.Errorf("set auto-reload: it needs a method and an amount between the threshold and %s", maxAmount)
	}
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		known, err := changed(tx.NewRaw("UPDATE accounts SET auto_reload = ? WHERE id = ?", r != nil, accountID).Exec(ctx))
		if err == nil && !known {
			err = ErrNotFound
		}
		if err != nil || r == nil {
			return err
		}
		row := reloadRow{AccountID: accountID, Threshold: r.Threshold, Amount: r.Amount, Method: r.Method}
		_, err = tx.NewInsert().Model(&row).On("CONFLICT (account_id) DO UPDATE").
			Set("threshold = EXCLUDED.threshold, amount = EXCLUDED.amount, method = EXCLUDED.method, not_before = 0").Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("set auto-reload: %w", err)
	}
	return nil
}

// AutoReload returns the account's settings, or ErrNotFound where it has none
// or has turned them off.
func (s PaymentStore) AutoReload(ctx context.Context, accountID string) (AutoReload, error) {
	var row reloadRow
	err := s.read.NewSelect().Model(&row).Where("account_id = ?", accountID).
		Where("EXISTS (SELECT 1 FROM accounts AS a WHERE a.id = r.account_id AND a.auto_reload)").Scan(ctx)
	if err != nil {
		return AutoReload{}, fmt.Errorf("read auto-reload: %w", notFound(err))
	}
	return AutoReload{Threshold: row.Threshold, Amount: row.Amount, Method: row.Method}, nil
}

// reloadFree is the condition of accounts on whose refilling nobody works; its
// argument is now. reloadNeeded is that of those to be refilled: the balance is
// low, or an attempt has begun and nobody knows how it ended.
const (
	reloadFree   = "r.leased_until <= ?0 AND r.not_before <= ?0"
	reloadNeeded = `EXISTS (SELECT 1 FROM accounts AS a WHERE a.id = r.account_id AND a.auto_reload AND NOT a.suspended
		AND (a.balance < r.threshold OR r.attempt <> ''))`
)

// DueReloads returns the ids of accounts whose wallets are to be refilled, at
// most limit.
func (s PaymentStore) DueReloads(ctx context.Context, limit int) ([]string, error) {
	var ids []string
	err := s.read.NewSelect().Model((*reloadRow)(nil)).Column("account_id").Where(reloadFree, toMicros(s.now())).Where(reloadNeeded).
		Order("account_id").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("read due reloads: %w", err)
	}
	return ids, nil
}

// ReloadDue reports whether the account's wallet is to be refilled.
func (s PaymentStore) ReloadDue(ctx context.Context, accountID string) (bool, error) {
	due, err := s.read.NewSelect().Model((*reloadRow)(nil)).Where("account_id = ?", accountID).
		Where(reloadFree, toMicros(s.now())).Where(reloadNeeded).Exists(ctx)
	if err != nil {
		return false, fmt.Errorf("read due reload: %w", err)
	}
	return due, nil
}

// ClaimReload takes on the refilling of an account's wallet: a new attempt, or
// the one that a process died with. It returns ErrNotFound when there is nothing
// to do, or another process does it.
func (s PaymentStore) ClaimReload(ctx context.Context, accountID string) (Reload, error) {
	var row reloadRow
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		row = reloadRow{}
		now := s.now()
		err := notFound(tx.NewRaw(`UPDATE reloads AS r SET leased_until = ?1 WHERE account_id = ?2 AND `+reloadFree+` RETURNING *`,
			toMicros(now), toMicros(now.Add(reloadLease)), accountID).Scan(ctx, &row))
		if err != nil {
			return err
		}
		// The row is ours from here on, so this sees what came of the attempt before.
		needed, err := tx.NewSelect().Model((*reloadRow)(nil)).Where("account_id = ?", accountID).Where(reloadNeeded).Exists(ctx)
		if err == nil && !needed {
			err = ErrNotFound
		}
		if err != nil || row.Attempt != "" {
			return err
		}
		row.Attempt, row.AttemptAmount, row.AttemptMethod = s.NewID("reload"), row.Amount, row.Method
		_, err = tx.NewUpdate().Model(&row).Column("attempt", "attempt_amount", "attempt_method").WherePK().Exec(ctx)
		return err
	})
	if err != nil {
		return Reload{}, fmt.Errorf("claim reload: %w", err)
	}
	return Reload{ID: row.Attempt, AccountID: accountID, Amount: row.AttemptAmount, Method: row.AttemptMethod}, nil
}

// FinishReload credits what an attempt brought, as TopUp does, and ends it. It
// reports whether it credited anything: not if the provider's own notice of the
// payment was first.
func (s PaymentStore) FinishReload(ctx context.Context, r Reload, provider, reference string) (credited bool, err error) {
	p := Payment{AccountID: r.AccountID, Provider: provider, Reference: reference, Kind: PaymentAutoReload, Amount: r.Amount}
	if err := p.check(); err != nil {
		return false, fmt.Errorf("finish reload: %w", err)
	}
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		if credited, err = s.topUp(ctx, tx, p); err != nil {
			return err
		}
		_, err = tx.NewRaw("UPDATE reloads SET attempt = '', leased_until = 0, not_before = 0 WHERE account_id = ? AND attempt = ?",
			r.AccountID, r.ID).Exec(ctx)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("finish reload: %w", err)
	}
	return credited, nil
}

// ReloadFailure is why an attempt brought nothing.
type ReloadFailure struct {
	Reason string // for the account's owner
	// Final means that the provider will never charge for this attempt. One of
	// which that is not known is repeated under its own id.
	Final bool
}

// FailReload ends an attempt that failed, lets nobody try again for an hour and
// tells the account's endpoints. It has no effect on an attempt that has ended.
func (s PaymentStore) FailReload(ctx context.Context, r Reload, f ReloadFailure) error {
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		now := s.now()
		update := tx.NewUpdate().Model((*reloadRow)(nil)).Set("leased_until = 0, not_before = ?", toMicros(now.Add(reloadPause))).
			Where("account_id = ? AND attempt = ?", r.AccountID, r.ID)
		if f.Final {
			update.Set("attempt = ''")
		}
		if ended, err := changed(update.Exec(ctx)); err != nil || !ended {
			return err
		}
		var balance credit.Amount
		if err := tx.NewSelect().Model((*accountRow)(nil)).Column("balance").Where("id = ?", r.AccountID).Scan(ctx, &balance); err != nil {
			return notFound(err)
		}
		return s.events.publish(ctx, tx, news{
			accountID: r.AccountID, kind: EventAutoReloadFailed, at: now,
			data: WalletNews{AmountMicrodollars: r.Amount, BalanceMicrodollars: balance, Reason: clean(f.Reason, 500)},
		})
	})
	if err != nil {
		return fmt.Errorf("fail reload: %w", err)
	}
	return nil
}
