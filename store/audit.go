package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// SignedIn is the Action of a login, whose Note is the device.
const SignedIn = "session.begun"

// AuditEntry records one change and its author. The audit log has the changes of keys, money, members, webhooks and
// limits, and logins.
type AuditEntry struct {
	ID        string
	AccountID string // empty for entries about the installation
	PersonID  string // empty for the command line and the service itself
	Who       string // as shown: an address, "command line"
	Action    string // "key.made", "member.removed"
	Object    string // the changed object, as shown
	Note      string
	Address   string // the client's
	Operator  bool   // done by an operator as such
	At        time.Time
}

// Author is who acts on an account.
type Author struct {
	AccountID string
	PersonID  string // empty for keys and the service itself
	Who       string // as shown: an email address, "key key_…"
	Address   string // the client's IP address
}

// Entry is the entry about an action of the author.
func (by Author) Entry(action, object, note string) AuditEntry {
	return AuditEntry{
		AccountID: by.AccountID,
		PersonID:  by.PersonID,
		Who:       by.Who,
		Action:    action,
		Object:    object,
		Note:      note,
		Address:   by.Address,
	}
}

type auditRow struct {
	bun.BaseModel `bun:"table:audit,alias:u"`

	ID        string `bun:",pk"`
	AccountID *string
	PersonID  *string
	Who       string
	Action    string
	Object    string
	Note      string
	Address   string
	Operator  bool
	CreatedAt int64
}

func (r *auditRow) entry() AuditEntry {
	e := AuditEntry{
		ID:       r.ID,
		Who:      r.Who,
		Action:   r.Action,
		Object:   r.Object,
		Note:     r.Note,
		Address:  r.Address,
		Operator: r.Operator,
		At:       fromMicros(r.CreatedAt),
	}

	if r.AccountID != nil {
		e.AccountID = *r.AccountID
	}
	if r.PersonID != nil {
		e.PersonID = *r.PersonID
	}
	return e
}

// AddAuditEntry writes an entry to the audit log, also when the client has left after the change.
func (s *Store) AddAuditEntry(ctx context.Context, e AuditEntry) error {
	row := s.newAuditRow(e)
	err := s.inTx(context.WithoutCancel(ctx), func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	return wrapped("write audit entry", err)
}

// onceSpan is the span in which AddAuditEntryOnce writes the same entry once.
const onceSpan = time.Hour

// AddAuditEntryOnce writes an entry, unless the log has the same one of the last hour. It is for changes that clients
// repeat.
func (s *Store) AddAuditEntryOnce(ctx context.Context, e AuditEntry) error {
	row := s.newAuditRow(e)
	there, err := s.read.NewSelect().Model((*auditRow)(nil)).
		Where("account_id = ? AND id >= ? AND who = ? AND action = ?",
			row.AccountID, "aud_"+idTime(s.now().Add(-onceSpan)), row.Who, row.Action).
		Where("object = ? AND note = ? AND address = ?", row.Object, row.Note, row.Address).Exists(ctx)
	if err != nil || there {
		return wrapped("read audit log", err)
	}
	return s.AddAuditEntry(ctx, e)
}

// newAuditRow is an entry that is not stored yet.
func (s *Store) newAuditRow(e AuditEntry) auditRow {
	return auditRow{
		ID:        s.NewID("aud"),
		AccountID: orNull(e.AccountID),
		PersonID:  orNull(e.PersonID),
		Who:       clean(e.Who, 300),
		Action:    e.Action,
		Object:    clean(e.Object, 300),
		Note:      clean(e.Note, 1000),
		Address:   clean(e.Address, 64),
		Operator:  e.Operator,
		CreatedAt: toMicros(s.now()),
	}
}

// AuditEntries returns entries of an account before the ID before, the latest first. Empty means from the latest on.
func (s *Store) AuditEntries(ctx context.Context, accountID, before string, limit int) ([]AuditEntry, error) {
	return s.listAuditEntries(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("account_id = ?", accountID)
	}, before, limit)
}

// SignInDevices returns the devices with which a user has logged in to an account since a time, each once.
func (s *Store) SignInDevices(ctx context.Context, accountID, personID string, since time.Time) ([]string, error) {
	var devices []string
	err := s.read.NewSelect().Table("audit").ColumnExpr("DISTINCT note").
		Where("account_id = ? AND id >= ? AND person_id = ? AND action = ?",
			accountID, "aud_"+idTime(since), personID, SignedIn).Scan(ctx, &devices)
	return devices, wrapped("read logins", err)
}

// OperatorAuditEntries returns the entries about actions of operators, the latest first.
func (s *Store) OperatorAuditEntries(ctx context.Context, before string, limit int) ([]AuditEntry, error) {
	return s.listAuditEntries(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("operator")
	}, before, limit)
}

func (s *Store) listAuditEntries(
	ctx context.Context, which func(*bun.SelectQuery) *bun.SelectQuery, before string, limit int,
) ([]AuditEntry, error) {
	var rows []auditRow
	query := which(s.read.NewSelect().Model(&rows)).Order("id DESC").Limit(int64(limit))
	if before != "" {
		query.Where("id < ?", before)
	}
	err := query.Scan(ctx)
	return converted(rows, (*auditRow).entry), wrapped("read audit log", err)
}

// orNull returns nil for an empty text.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
