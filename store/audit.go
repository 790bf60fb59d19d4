package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// SignedIn is the Action of a login, whose Note is the device.
const SignedIn = "session.begun"

// AuditEntry records one change and its author.
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

// Audit is the log of changes of keys, money, members, webhooks, limits and
// logins.
type Audit struct{ store *Store }

// Audit returns the audit log of the store.
func (s *Store) Audit() *Audit { return &Audit{s} }

// Add writes an entry, also when the client has left after the change.
func (a *Audit) Add(ctx context.Context, e AuditEntry) error {
	row := a.row(e)
	err := a.store.inTx(context.WithoutCancel(ctx), func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	return wrapped("write audit entry", err)
}

// onceSpan is the span in which AddOnce writes the same entry once.
const onceSpan = time.Hour

// AddOnce writes an entry, unless the log has the same one of the last hour. It is for changes that clients repeat.
func (a *Audit) AddOnce(ctx context.Context, e AuditEntry) error {
	row := a.row(e)
	there, err := a.store.read.NewSelect().Model((*auditRow)(nil)).
		Where("account_id = ? AND id >= ? AND who = ? AND action = ?",
			row.AccountID, "aud_"+idTime(a.store.now().Add(-onceSpan)), row.Who, row.Action).
		Where("object = ? AND note = ? AND address = ?", row.Object, row.Note, row.Address).Exists(ctx)
	if err != nil || there {
		return wrapped("read audit log", err)
	}
	return a.Add(ctx, e)
}

// row is an entry that is not stored yet.
func (a *Audit) row(e AuditEntry) auditRow {
	return auditRow{
		ID:        a.store.NewID("aud"),
		AccountID: orNull(e.AccountID),
		PersonID:  orNull(e.PersonID),
		Who:       clean(e.Who, 300),
		Action:    e.Action,
		Object:    clean(e.Object, 300),
		Note:      clean(e.Note, 1000),
		Address:   clean(e.Address, 64),
		Operator:  e.Operator,
		CreatedAt: toMicros(a.store.now()),
	}
}

// Of returns entries of an account before the ID before, the latest first. Empty means from the latest on.
func (a *Audit) Of(ctx context.Context, accountID, before string, limit int) ([]AuditEntry, error) {
	return a.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("account_id = ?", accountID)
	}, before, limit)
}

// SignIns returns with which devices a user has logged in to an account since then: the notes of those entries,
// each once.
func (a *Audit) SignIns(ctx context.Context, accountID, personID string, since time.Time) ([]string, error) {
	var devices []string
	err := a.store.read.NewSelect().Table("audit").ColumnExpr("DISTINCT note").
		Where("account_id = ? AND id >= ? AND person_id = ? AND action = ?",
			accountID, "aud_"+idTime(since), personID, SignedIn).Scan(ctx, &devices)
	return devices, wrapped("read logins", err)
}

// ByOperators returns the actions of operators, the latest first.
func (a *Audit) ByOperators(ctx context.Context, before string, limit int) ([]AuditEntry, error) {
	return a.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("operator") }, before, limit)
}

func (a *Audit) list(
	ctx context.Context, which func(*bun.SelectQuery) *bun.SelectQuery, before string, limit int,
) ([]AuditEntry, error) {
	var rows []auditRow
	query := which(a.store.read.NewSelect().Model(&rows)).Order("id DESC").Limit(int64(limit))
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
