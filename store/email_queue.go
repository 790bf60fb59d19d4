package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// QueuedEmail is an email that waits to be sent. The store cannot read it.
type QueuedEmail struct {
	ID       string
	Sealed   []byte
	Attempts int // this one included
}

type queuedEmailRow struct {
	bun.BaseModel `bun:"table:letters,alias:l"`

	ID        string `bun:",pk"`
	Sealed    []byte
	Attempts  int
	DueAt     int64
	CreatedAt int64
}

// emailLeaseTerm is the time for which one process has the exclusive right to send an email.
const emailLeaseTerm = 2 * time.Minute

// emailRetryPauses are the times between attempts; after the last the email is given up.
var emailRetryPauses = []time.Duration{
	time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour,
}

// AddEmail puts a sealed email into the queue under an ID that NewID made.
func (s *Store) AddEmail(ctx context.Context, id string, sealed []byte) error {
	now := toMicros(s.now())
	row := queuedEmailRow{ID: id, Sealed: sealed, DueAt: now, CreatedAt: now}
	return s.update(ctx, "keep letter", func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
}

// MailBuilder writes the sealed emails that notify the users with these addresses of a change. It is called within the
// change's transaction, which may run again.
type MailBuilder func(change PaymentChange, to []string) ([]QueuedEmail, error)

// notifyPayers queues the emails about a change of an account's payments for the users who pay, in the transaction of
// the change.
func notifyPayers(
	ctx context.Context, tx txn, at time.Time, accountID string, change PaymentChange, buildMail MailBuilder,
) error {
	if buildMail == nil {
		return nil
	}

	to, err := emailsOf(ctx, tx, accountID, RoleOwner, RoleBilling)
	if err != nil || len(to) == 0 {
		return err
	}

	emails, err := buildMail(change, to)
	if err != nil || len(emails) == 0 {
		return err
	}

	return enqueueEmails(ctx, tx, emails, at)
}

// emailsOf returns the addresses of an account's members with one of the roles.
func emailsOf(ctx context.Context, tx txn, accountID string, roles ...string) (to []string, err error) {
	err = tx.NewSelect().TableExpr("members AS m").Join("JOIN people AS p ON p.id = m.person_id").Column("p.email").
		Where("m.account_id = ? AND m.role IN (?)", accountID, bun.List(roles)).Order("p.email").Scan(ctx, &to)
	return to, err
}

// enqueueEmails puts emails into the queue, in the transaction of the change that they report.
func enqueueEmails(ctx context.Context, tx txn, emails []QueuedEmail, at time.Time) error {
	rows := make([]queuedEmailRow, len(emails))
	for i, l := range emails {
		rows[i] = queuedEmailRow{ID: l.ID, Sealed: l.Sealed, DueAt: toMicros(at), CreatedAt: toMicros(at)}
	}
	_, err := tx.NewInsert().Model(&rows).Exec(ctx)
	return err
}

// ClaimEmails claims due emails, at most limit. Each belongs to this process alone for two minutes, and is due again
// after that unless it is removed.
func (s *Store) ClaimEmails(ctx context.Context, limit int) ([]QueuedEmail, error) {
	var rows []queuedEmailRow
	err := s.update(ctx, "claim letters", func(ctx context.Context, tx txn) error {
		rows = nil
		now := s.now()
		due := tx.NewSelect().Model((*queuedEmailRow)(nil)).Column("id").Where("due_at <= ?", toMicros(now)).Order("due_at").
			Limit(int64(limit))
		if s.dialect == Postgres {
			due.For("UPDATE SKIP LOCKED")
		}

		return tx.NewRaw("UPDATE letters SET attempts = attempts + 1, due_at = ? WHERE id IN (?) RETURNING *",
			toMicros(now.Add(emailLeaseTerm)), due).Scan(ctx, &rows)
	})

	return converted(rows, func(r *queuedEmailRow) QueuedEmail { return QueuedEmail{r.ID, r.Sealed, r.Attempts} }), err
}

// RemoveEmail removes a sent email.
func (s *Store) RemoveEmail(ctx context.Context, id string) error {
	return s.update(ctx, "remove letter", func(ctx context.Context, tx txn) error {
		_, err := tx.NewDelete().Model((*queuedEmailRow)(nil)).Where("id = ?", id).Exec(ctx)
		return err
	})
}

// FailEmail postpones an email that could not be sent, or ends it after its last attempt, and reports whether it did
// that.
func (s *Store) FailEmail(ctx context.Context, letter QueuedEmail) (ended bool, err error) {
	if letter.Attempts > len(emailRetryPauses) {
		return true, s.RemoveEmail(ctx, letter.ID)
	}
	due := s.now().Add(emailRetryPauses[letter.Attempts-1])
	return false, s.update(ctx, "put off letter", func(ctx context.Context, tx txn) error {
		_, err := tx.NewUpdate().Model((*queuedEmailRow)(nil)).Set("due_at = ?", toMicros(due)).Where("id = ?", letter.ID).
			Exec(ctx)
		return err
	})
}
