package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Plans of an Account.
const (
	PlanFree = "free"
	PlanPaid = "paid"
)

// maxAmount is the maximum of a single posting and of a balance, far below the overflow of a sum: one billion
// dollars.
const maxAmount = 1_000_000_000 * credit.Dollar

// Account is a customer and the wallet that pays for the calls.
type Account struct {
	ID            string
	Email         string // unique, lower-case
	Name          string // as its members see it; the email address if it has no name
	Region        string // the region in which it was created, its home
	Plan          string // PlanFree, or PlanPaid from the first payment on
	Suspended     bool
	SuspendReason string
	Funded        bool // a payment was credited at least once
	AutoReload    bool
	Balance       credit.Amount  // the spendable amount, without holds
	Held          credit.Amount  // set aside for calls that are running
	Owed          credit.Amount  // lacked for a refund or chargeback; nothing is spent until it is repaid
	MaxJob        *credit.Amount // limit of one call; nil is none
	MaxDay        *credit.Amount // limit of a UTC day, holds included; nil is none
	SpentToday    credit.Amount  // counts towards MaxDay
	CreatedAt     time.Time
	KeepInputs    bool       // of calls, for StoredInputLife
	ClosesAt      *time.Time // time at which it is closed permanently; nil unless its owner asked for that
}

// RateTier returns "paid" once the account was funded or has auto-reload on,
// else "free".
func (a Account) RateTier() string {
	if a.Funded || a.AutoReload {
		return "paid"
	}
	return "free"
}

// Limits are the spending limits of an account's owner; nil means no limit.
type Limits struct {
	MaxJob, MaxDay *credit.Amount
}

type accountRow struct {
	bun.BaseModel `bun:"table:accounts,alias:a"`

	ID            string `bun:",pk"`
	Email         string
	Name          string
	Region        string
	Plan          string
	Suspended     bool
	SuspendReason string
	Funded        bool
	AutoReload    bool
	Balance       credit.Amount
	Held          credit.Amount
	Owed          credit.Amount
	MaxJob        *credit.Amount
	MaxDay        *credit.Amount
	Day           int64
	DaySpent      credit.Amount
	CreatedAt     int64
	KeepInputs    bool
	ClosesAt      *int64
}

func (r *accountRow) account(now time.Time) Account {
	return Account{
		ID:            r.ID,
		Email:         r.Email,
		Name:          cmp.Or(r.Name, r.Email),
		Region:        r.Region,
		Plan:          r.Plan,
		Suspended:     r.Suspended,
		SuspendReason: r.SuspendReason,
		Funded:        r.Funded,
		AutoReload:    r.AutoReload,
		Balance:       r.Balance,
		Held:          r.Held,
		Owed:          r.Owed,
		MaxJob:        r.MaxJob,
		MaxDay:        r.MaxDay,
		SpentToday:    r.spentOn(dayOf(now)),
		CreatedAt:     fromMicros(r.CreatedAt),
		KeepInputs:    r.KeepInputs,
		ClosesAt:      fromMicrosPtr(r.ClosesAt),
	}
}

// spentOn returns the amount that counts towards the limit of the day. A clock that is behind another machine's
// must not reset the counter, hence the comparison.
func (r *accountRow) spentOn(day int64) credit.Amount {
	if r.Day < day {
		return 0
	}
	return r.DaySpent
}

// CreateAccount adds an account with a trial balance, in microdollars, which
// may be zero. It returns ErrExists when the email address has an account.
func (s *Store) CreateAccount(ctx context.Context, email string, trial credit.Amount) (Account, error) {
	valid := storable(email)
	email = strings.ToLower(strings.TrimSpace(email))
	if !valid || email == "" || len(email) > 254 {
		return Account{}, errors.New("create account: the email address must have 1 to 254 bytes of valid UTF-8")
	}
	if trial < 0 || trial > maxAmount {
		return Account{}, fmt.Errorf("create account: the trial balance must be between 0 and %s; got %s",
			maxAmount, trial)
	}

	now := s.now()
	row := accountRow{
		ID:        s.NewID("acc"),
		Email:     email,
		Region:    s.region,
		Plan:      PlanFree,
		Balance:   trial,
		CreatedAt: toMicros(now),
	}

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		added, err := changed(tx.NewInsert().Model(&row).On("CONFLICT (email) DO NOTHING").Exec(ctx))
		if err != nil {
			return err
		}
		if !added {
			return ErrExists
		}

		if trial == 0 {
			return nil
		}
		return s.post(ctx, tx, &journalPosting{
			accountID: row.ID,
			kind:      KindTrial,
			reference: "signup",
			reason:    "trial credit",
			at:        now,
			books:     books{promotion: -trial, wallet: trial},
			balance:   trial,
		})
	})
	if err != nil {
		return Account{}, fmt.Errorf("create account: %w", err)
	}

	return row.account(now), nil
}

// Account returns the account with the id, or ErrNotFound.
func (s *Store) Account(ctx context.Context, id string) (Account, error) {
	return s.accountWhere(ctx, "id = ?", id)
}

// AccountByEmail returns the account with the address in any case, or ErrNotFound.
func (s *Store) AccountByEmail(ctx context.Context, email string) (Account, error) {
	return s.accountWhere(ctx, "email = ?", strings.ToLower(strings.TrimSpace(email)))
}

func (s *Store) accountWhere(ctx context.Context, where string, arg string) (Account, error) {
	var row accountRow
	if !storable(arg) {
		return Account{}, fmt.Errorf("read account: %w", ErrNotFound)
	}
	if err := s.read.NewSelect().Model(&row).Where(where, arg).Scan(ctx); err != nil {
		return Account{}, fmt.Errorf("read account: %w", notFound(err))
	}
	return row.account(s.now()), nil
}

// Suspend prevents the account from making calls and hides its files. It returns ErrNotFound for an unknown
// account.
func (s *Store) Suspend(ctx context.Context, id, reason string) error {
	return s.updateAccount(ctx, "suspend account", id, "suspended = TRUE, suspend_reason = ?", clean(reason, 500))
}

// Resume ends a suspension. It returns ErrNotFound for an unknown account.
func (s *Store) Resume(ctx context.Context, id string) error {
	return s.updateAccount(ctx, "resume account", id, "suspended = FALSE, suspend_reason = ''")
}

// LimitsChange changes the limits of an account that are not nil; a pointer to nil removes the limit.
type LimitsChange struct {
	MaxJob, MaxDay **credit.Amount
}

// SetLimits replaces the limits of the author's account, as ChangeLimits does.
func (s *Store) SetLimits(ctx context.Context, by Author, l Limits) error {
	_, err := s.ChangeLimits(ctx, by, LimitsChange{&l.MaxJob, &l.MaxDay})
	return err
}

// ChangeLimits changes some of the limits of the author's account, with an entry in the audit log, and returns all of
// them. Changes of different limits at once do not undo each other. It returns ErrNotFound for an unknown account.
func (s *Store) ChangeLimits(ctx context.Context, by Author, c LimitsChange) (Limits, error) {
	for _, limit := range []**credit.Amount{c.MaxJob, c.MaxDay} {
		if limit != nil && *limit != nil && (**limit < 0 || **limit > maxAmount) {
			return Limits{}, fmt.Errorf("set limits: a limit must be between 0 and %s; got %s", maxAmount, **limit)
		}
	}

	var row accountRow
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		row = accountRow{}
		// The first assignment changes nothing: an update needs one.
		query := tx.NewUpdate().Model(&row).Set("suspended = suspended").Where("id = ?", by.AccountID).
			Returning("max_job, max_day")

		if c.MaxJob != nil {
			query.Set("max_job = ?", *c.MaxJob)
		}
		if c.MaxDay != nil {
			query.Set("max_day = ?", *c.MaxDay)
		}

		if err := query.Scan(ctx); err != nil {
			return notFound(err)
		}

		entry := s.newAuditRow(by.Entry("limits.changed", "",
			"one call: "+limitText(row.MaxJob)+", one day: "+limitText(row.MaxDay)))
		_, err := tx.NewInsert().Model(&entry).Exec(ctx)
		return err
	})
	if err != nil {
		return Limits{}, fmt.Errorf("set limits: %w", err)
	}
	return Limits{MaxJob: row.MaxJob, MaxDay: row.MaxDay}, nil
}

func limitText(limit *credit.Amount) string {
	if limit == nil {
		return "none"
	}
	return limit.String()
}

// SetAccountName changes the name that an account's members see; empty means the email address. It returns
// ErrNotFound for an unknown account.
func (s *Store) SetAccountName(ctx context.Context, id, name string) error {
	return s.updateAccount(ctx, "name account", id, "name = ?", clean(name, 100))
}

func (s *Store) updateAccount(ctx context.Context, doing, id, set string, args ...any) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewUpdate().Model((*accountRow)(nil)).Set(set, args...).Where("id = ?", id).Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}

	return nil
}
