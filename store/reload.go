package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

const (
	// reloadLease is the time for which one process alone works on an attempt. It is longer than a request to a
	// payment provider.
	reloadLease = 2 * time.Minute
	// ReloadActionTime is the time that an owner has to confirm a payment.
	ReloadActionTime = 24 * time.Hour
	// DefaultMonthlyReload is the default maximum of a month's charges.
	DefaultMonthlyReload = 100 * credit.Dollar
)

// reloadPauses are the pauses after each failed attempt in a row. After the last failed attempt, refilling stops.
var reloadPauses = []time.Duration{time.Hour, 24 * time.Hour}

// AutoReload holds the settings of a wallet's automatic top-up.
type AutoReload struct {
	Threshold credit.Amount // a balance below it is refilled
	Amount    credit.Amount // the amount that is charged, at least the threshold
	Monthly   credit.Amount // the maximum in a calendar month (UTC)
	On        bool
	// OffReason is the reason why refilling was switched off automatically.
	OffReason string
	Taken     credit.Amount // this month
}

// Reload is an attempt to refill a wallet, which this process has taken on.
type Reload struct {
	Payment

	// Repeated means that a process has tried before, and the outcome is unknown.
	Repeated bool
}

type reloadRow struct {
	bun.BaseModel `bun:"table:reloads,alias:r"`

	AccountID   string `bun:",pk"`
	Threshold   credit.Amount
	Amount      credit.Amount
	Monthly     credit.Amount
	Attempt     string // the payment under way; empty when the last one has ended
	LeasedUntil int64
	NotBefore   int64
	Failures    int
	OffReason   string
}

// CheckAutoReload returns the error of settings, or nil.
func CheckAutoReload(r AutoReload) error {
	switch {
	case r.Threshold <= 0 || r.Amount < r.Threshold || r.Amount > maxAmount:
		return fmt.Errorf("the amount must be at least the threshold, which is above 0, and at most %s", maxAmount)
	case r.Amount%cent != 0:
		return errors.New("the amount must be whole cents")
	case r.Monthly < r.Amount || r.Monthly > maxAmount:
		return fmt.Errorf("the most of a month must be at least the amount, and at most %s", maxAmount)
	}
	return nil
}

// SetAutoReload changes how an account's wallet refills itself. Failures of
// before are forgotten, and an attempt may be made at once. It returns
// ErrNotFound for an unknown account.
func (s *Store) SetAutoReload(ctx context.Context, accountID string, r AutoReload) error {
	if err := CheckAutoReload(r); err != nil {
		return fmt.Errorf("set auto-reload: %w", err)
	}

	return s.update(ctx, "set auto-reload", func(ctx context.Context, tx txn) error {
		known, err := changed(tx.NewRaw("UPDATE accounts SET auto_reload = ? WHERE id = ?", r.On, accountID).Exec(ctx))
		if err == nil && !known {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}

		row := reloadRow{AccountID: accountID, Threshold: r.Threshold, Amount: r.Amount, Monthly: r.Monthly}
		// A payment under way does not change: its own row has its amount.
		_, err = tx.NewInsert().Model(&row).On("CONFLICT (account_id) DO UPDATE").
			Set(`threshold = EXCLUDED.threshold, amount = EXCLUDED.amount, monthly = EXCLUDED.monthly, failures = 0,
				off_reason = ''`).
			Set("not_before = CASE WHEN r.attempt = '' THEN 0 ELSE r.not_before END").Exec(ctx)
		return err
	})
}

// AutoReload returns the settings for refilling the account's wallet, or ErrNotFound if its owner has never set them.
func (s *Store) AutoReload(ctx context.Context, accountID string) (AutoReload, error) {
	var row struct {
		reloadRow

		AutoReload bool
	}

	err := s.read.NewRaw(`SELECT r.*, a.auto_reload FROM reloads AS r JOIN accounts AS a ON a.id = r.account_id
		WHERE r.account_id = ?`,
		accountID).Scan(ctx, &row)
	if err != nil {
		return AutoReload{}, fmt.Errorf("read auto-reload: %w", notFound(err))
	}

	r := AutoReload{
		Threshold: row.Threshold,
		Amount:    row.Amount,
		Monthly:   row.Monthly,
		On:        row.AutoReload,
		OffReason: row.OffReason,
	}

	r.Taken, err = s.takenSince(ctx, s.read, accountID, monthOf(s.now()).start())
	return r, wrapped("read auto-reload", err)
}

// takenSince returns the amount that auto-reload has charged since a time, or may still charge.
func (s *Store) takenSince(
	ctx context.Context, db bun.IDB, accountID string, since time.Time,
) (taken credit.Amount, err error) {
	err = db.NewRaw(`SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM payments
		WHERE account_id = ? AND kind = ? AND created_at >= ? AND state IN (?, ?, ?)`,
		accountID, PaymentAutoReload, toMicros(since), PaymentOpen, PaymentAction, PaymentPaid).Scan(ctx, &taken)
	return taken, err
}

// reloadFree is the condition of accounts that no process is refilling; its argument is now. reloadNeeded is that of
// accounts to refill: the balance is low and there is a card, or the end of an earlier attempt is unknown.
const (
	reloadFree   = "r.leased_until <= ?0 AND r.not_before <= ?0"
	reloadNeeded = `(r.attempt <> '' OR EXISTS (SELECT 1 FROM accounts AS a
		JOIN stripe_customers AS c ON c.account_id = a.id
		WHERE a.id = r.account_id AND a.auto_reload AND NOT a.suspended AND a.balance < r.threshold
		AND c.method <> ''))`
)

// DueReloads returns the ids of accounts whose wallets are to be refilled, at
// most limit.
func (s *Store) DueReloads(ctx context.Context, limit int) ([]string, error) {
	var ids []string
	err := s.read.NewSelect().Model((*reloadRow)(nil)).Column("account_id").Where(reloadFree, toMicros(s.now())).
		Where(reloadNeeded).
		Order("account_id").Limit(int64(limit)).Scan(ctx, &ids)
	return ids, wrapped("read due reloads", err)
}

// ReloadDue reports whether the account's wallet is to be refilled.
func (s *Store) ReloadDue(ctx context.Context, accountID string) (bool, error) {
	due, err := s.read.NewSelect().Model((*reloadRow)(nil)).Where("account_id = ?", accountID).
		Where(reloadFree, toMicros(s.now())).Where(reloadNeeded).Exists(ctx)
	return due, wrapped("read due reload", err)
}

// ClaimReload claims the refilling of an account's wallet: a new payment, whose row exists from then on, or the one
// of a dead process. It returns ErrNotFound if there is nothing to do, or if another process does it. It returns
// ErrMonthlyCap, once a month, if the owner's cap allows no more: the users who pay are notified.
func (s *Store) ClaimReload(ctx context.Context, accountID string, publishFailure MailBuilder) (Reload, error) {
	var claimed Reload
	capped := false
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		claimed = Reload{}
		capped = false

		var row reloadRow
		now := s.now()
		err := notFound(tx.NewRaw(`UPDATE reloads AS r SET leased_until = ?1 WHERE account_id = ?2 AND `+reloadFree+
			` RETURNING *`,
			toMicros(now), toMicros(now.Add(reloadLease)), accountID).Scan(ctx, &row))
		if err != nil {
			return err
		}

		// The row is locked from here on, so this sees the result of the previous attempt.
		needed, err := tx.NewSelect().Model((*reloadRow)(nil)).Where("account_id = ?", accountID).Where(reloadNeeded).
			Exists(ctx)
		if err == nil && !needed {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}

		if row.Attempt != "" {
			var p paymentRow
			err := tx.NewSelect().Model(&p).Where("id = ?", row.Attempt).Scan(ctx)
			claimed = Reload{Payment: p.payment(), Repeated: true}
			return err
		}

		if capped, err = s.capped(ctx, tx, &row, now); err != nil {
			return err
		}
		if capped {
			return notifyPayers(ctx, tx, now, accountID, PaymentChange{Capped: true}, publishFailure)
		}

		p, err := s.beginReload(ctx, tx, &row, now)
		claimed = Reload{Payment: p}
		return err
	})
	if err == nil && capped {
		err = ErrMonthlyCap
	}
	return claimed, wrapped("claim reload", err)
}

// ErrMonthlyCap means that auto-reload has reached its owner's limit for the month.
var ErrMonthlyCap = errors.New("auto-reload has reached its monthly cap")

// capped notifies the account's endpoints if the month's cap allows no more; the account is not checked again before
// the next month.
func (s *Store) capped(ctx context.Context, tx txn, row *reloadRow, now time.Time) (bool, error) {
	taken, err := s.takenSince(ctx, tx, row.AccountID, monthOf(now).start())
	if err != nil || taken+row.Amount <= row.Monthly {
		return false, err
	}

	next := (monthOf(now) + 1).start()
	_, err = tx.NewRaw("UPDATE reloads SET leased_until = 0, not_before = ? WHERE account_id = ?",
		toMicros(next), row.AccountID).Exec(ctx)
	if err != nil {
		return false, err
	}

	return true, s.publishFailure(ctx, tx, row.AccountID, row.Amount,
		fmt.Sprintf("Auto-reload has taken %s this month, of at most %s.", taken, row.Monthly), now)
}

// beginReload writes down a new attempt.
func (s *Store) beginReload(ctx context.Context, tx txn, row *reloadRow, now time.Time) (Payment, error) {
	var c customerRow
	if err := tx.NewSelect().Model(&c).Where("account_id = ?", row.AccountID).Scan(ctx); err != nil {
		return Payment{}, notFound(err)
	}

	p := paymentRow{
		ID: s.NewID("pay"), AccountID: row.AccountID, Kind: PaymentAutoReload, State: PaymentOpen, Amount: row.Amount,
		Customer: c.Customer, Method: c.Method, Card: c.Card, CreatedAt: toMicros(now),
	}
	if _, err := tx.NewInsert().Model(&p).Exec(ctx); err != nil {
		return Payment{}, err
	}

	_, err := tx.NewRaw("UPDATE reloads SET attempt = ? WHERE account_id = ?", p.ID, row.AccountID).Exec(ctx)
	return p.payment(), err
}

// PutOffReload schedules another check, after a pause, of an attempt whose end is unknown. It has no effect on an
// attempt that has ended.
func (s *Store) PutOffReload(ctx context.Context, r Reload, pause time.Duration) error {
	return s.update(ctx, "put off reload", func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw("UPDATE reloads SET leased_until = 0, not_before = ? WHERE account_id = ? AND attempt = ?",
			toMicros(s.now().Add(pause)), r.AccountID, r.ID).Exec(ctx)
		return err
	})
}

// succeed ends the attempt that was paid.
func (s *Store) succeed(ctx context.Context, tx txn, p *paymentRow) error {
	_, err := tx.NewRaw(`UPDATE reloads SET attempt = '', leased_until = 0, not_before = 0, failures = 0
		WHERE account_id = ? AND attempt = ?`,
		p.AccountID, p.ID).Exec(ctx)
	return err
}

// await gives the owner time to confirm an attempt.
func (s *Store) await(ctx context.Context, tx txn, p *paymentRow, now time.Time) error {
	_, err := tx.NewRaw("UPDATE reloads SET leased_until = 0, not_before = ? WHERE account_id = ? AND attempt = ?",
		toMicros(now.Add(ReloadActionTime)), p.AccountID, p.ID).Exec(ctx)
	if err != nil {
		return err
	}
	return s.publishFailure(ctx, tx, p.AccountID, p.Amount, p.Reason, now)
}

// recordFailure ends a refused attempt and blocks further attempts for a while, or for good after the last one; then it
// returns the reason.
func (s *Store) recordFailure(ctx context.Context, tx txn, p *paymentRow, now time.Time) (off string, err error) {
	var row reloadRow
	err = notFound(tx.NewRaw(`UPDATE reloads SET attempt = '', leased_until = 0, failures = failures + 1
		WHERE account_id = ? AND attempt = ? RETURNING *`,
		p.AccountID, p.ID).Scan(ctx, &row))
	if errors.Is(err, ErrNotFound) {
		return "", nil // It has ended before.
	}
	if err != nil {
		return "", err
	}

	if err := s.publishFailure(ctx, tx, p.AccountID, p.Amount, p.Reason, now); err != nil {
		return "", err
	}

	if row.Failures > len(reloadPauses) {
		return s.switchOff(ctx, tx, p,
			fmt.Sprintf("It failed %d times in a row. The last time: %s", row.Failures, p.Reason), now)
	}

	_, err = tx.NewRaw("UPDATE reloads SET not_before = ? WHERE account_id = ?",
		toMicros(now.Add(reloadPauses[row.Failures-1])), p.AccountID).Exec(ctx)
	return "", err
}

// switchOff ends the account's auto-reload, if it is on, and then returns why.
func (s *Store) switchOff(ctx context.Context, tx txn, p *paymentRow, why string, now time.Time) (string, error) {
	off, err := changed(tx.NewRaw("UPDATE accounts SET auto_reload = FALSE WHERE id = ? AND auto_reload", p.AccountID).
		Exec(ctx))
	if err != nil || !off {
		return "", err
	}

	why = clean(why, 500)
	_, err = tx.NewRaw("UPDATE reloads SET off_reason = ? WHERE account_id = ?", why, p.AccountID).Exec(ctx)
	if err != nil {
		return "", err
	}

	return why, s.publishFailure(ctx, tx, p.AccountID, p.Amount, "Auto-reload is off. "+why, now)
}

// publishFailure notifies the account's endpoints that its wallet was not refilled.
func (s *Store) publishFailure(
	ctx context.Context, tx txn, accountID string, amount credit.Amount, reason string, now time.Time,
) error {
	var balance credit.Amount
	err := tx.NewSelect().Model((*accountRow)(nil)).Column("balance").Where("id = ?", accountID).Scan(ctx, &balance)
	if err != nil {
		return notFound(err)
	}
	return s.writeEvent(ctx, tx, newEvent{
		accountID: accountID, kind: EventAutoReloadFailed, at: now,
		data: WalletEvent{AmountMicrodollars: amount, BalanceMicrodollars: balance, Reason: clean(reason, 500)},
	})
}
