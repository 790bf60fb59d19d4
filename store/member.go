package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// Roles of a user in an account.
const (
	RoleOwner     = "owner"     // everything
	RoleDeveloper = "developer" // keys, webhooks, templates, documents
	RoleBilling   = "billing"   // the wallet
	RoleViewer    = "viewer"    // looks only
)

// Roles lists the roles, the most powerful first.
func Roles() []string { return []string{RoleOwner, RoleDeveloper, RoleBilling, RoleViewer} }

// ErrLastOwner means that an account would be left without an owner.
var ErrLastOwner = errors.New("an account needs at least one owner")

// Membership is a user's role in an account.
type Membership struct {
	AccountID, AccountName string
	Person                 User
	Role                   string
	JoinedAt               time.Time
}

// Invite invites a user to join an account.
type Invite struct {
	ID, AccountID, AccountName, Email, Role, InviterID string
	CreatedAt, ExpiresAt                               time.Time
}

type memberRow struct {
	bun.BaseModel `bun:"table:members,alias:m"`

	AccountID string `bun:",pk"`
	PersonID  string `bun:",pk"`
	Role      string
	CreatedAt int64
}

type inviteRow struct {
	bun.BaseModel `bun:"table:invites,alias:i"`

	ID          string `bun:",pk"`
	AccountID   string
	Email       string
	Role        string
	InviterID   string
	TokenHash   []byte
	CreatedAt   int64
	ExpiresAt   int64
	AccountName string `bun:",scanonly"`
}

func (r *inviteRow) invite() Invite {
	return Invite{
		r.ID, r.AccountID, r.AccountName, r.Email, r.Role, r.InviterID,
		fromMicros(r.CreatedAt), fromMicros(r.ExpiresAt),
	}
}

// Memberships returns the accounts that a user is a member of, the oldest membership first.
func (s *Store) Memberships(ctx context.Context, personID string) ([]Membership, error) {
	return s.listMembers(ctx, "m.person_id = ?", personID)
}

// AccountMembers returns the members of an account, the oldest first.
func (s *Store) AccountMembers(ctx context.Context, accountID string) ([]Membership, error) {
	return s.listMembers(ctx, "m.account_id = ?", accountID)
}

func (s *Store) listMembers(ctx context.Context, where, id string) ([]Membership, error) {
	var rows []struct {
		AccountID, AccountName, Role string
		JoinedAt                     int64
		Person                       personRow `bun:"embed:p_"`
	}

	err := s.read.NewSelect().TableExpr("members AS m").
		Join("JOIN people AS p ON p.id = m.person_id").Join("JOIN accounts AS a ON a.id = m.account_id").
		ColumnExpr(`m.account_id, m.role, m.created_at AS joined_at,
			COALESCE(NULLIF(a.name, ''), a.email) AS account_name`).
		ColumnExpr("p.id AS p_id, p.email AS p_email, p.name AS p_name, p.verified_at AS p_verified_at, p.created_at AS p_created_at").
		Where(where, id).OrderExpr("m.created_at, m.account_id, m.person_id").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read members: %w", err)
	}

	list := make([]Membership, len(rows))
	for i := range rows {
		r := &rows[i]
		list[i] = Membership{r.AccountID, r.AccountName, r.Person.person(), r.Role, fromMicros(r.JoinedAt)}
	}

	return list, nil
}

// AddMember makes a user a member. It returns ErrExists when they are one already.
func (s *Store) AddMember(ctx context.Context, accountID, personID, role string) error {
	return s.update(ctx, "add member", func(ctx context.Context, tx txn) error {
		return s.addMember(ctx, tx, accountID, personID, role)
	})
}

func (s *Store) addMember(ctx context.Context, tx txn, accountID, personID, role string) error {
	if !slices.Contains(Roles(), role) {
		return fmt.Errorf("the role must be one of %v; got %q", Roles(), role)
	}
	row := memberRow{AccountID: accountID, PersonID: personID, Role: role, CreatedAt: toMicros(s.now())}
	added, err := changed(tx.NewInsert().Model(&row).On("CONFLICT DO NOTHING").Exec(ctx))
	if err == nil && !added {
		err = ErrExists
	}
	return err
}

// SetMemberRole changes a member's role, and ends the member's sessions. It returns ErrLastOwner if the account would
// have no owner.
func (s *Store) SetMemberRole(ctx context.Context, accountID, personID, role string) error {
	return s.update(ctx, "set role", func(ctx context.Context, tx txn) error {
		if !slices.Contains(Roles(), role) {
			return fmt.Errorf("the role must be one of %v; got %q", Roles(), role)
		}
		ok, err := changed(tx.NewUpdate().Model((*memberRow)(nil)).Set("role = ?", role).
			Where("account_id = ? AND person_id = ?", accountID, personID).Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return s.ownedMember(ctx, tx, accountID, personID, err)
	})
}

// RemoveMember ends a membership and the member's sessions. It returns ErrLastOwner if the account would have no
// owner.
func (s *Store) RemoveMember(ctx context.Context, accountID, personID string) error {
	return s.update(ctx, "remove member", func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewDelete().Model((*memberRow)(nil)).
			Where("account_id = ? AND person_id = ?", accountID, personID).Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return s.ownedMember(ctx, tx, accountID, personID, err)
	})
}

// ownedMember ends a change of a member: the account must have an owner, and the
// member logs in again.
func (s *Store) ownedMember(ctx context.Context, tx txn, accountID, personID string, err error) error {
	if err != nil {
		return err
	}

	// The account's row is taken first, so that two owners cannot remove each
	// other at the same time.
	_, err = tx.NewUpdate().Table("accounts").Set("suspended = suspended").Where("id = ?", accountID).Exec(ctx)
	if err != nil {
		return err
	}

	owners, err := tx.NewSelect().Model((*memberRow)(nil)).Where("account_id = ? AND role = ?", accountID, RoleOwner).
		Count(ctx)
	switch {
	case err != nil:
		return err
	case owners == 0:
		return ErrLastOwner
	}

	_, err = endSessions(tx, s.now()).Where("person_id = ?", personID).Exec(ctx)
	return err
}

// NewInvite invites an email address to an account and returns the secret of the link. An earlier invitation of the
// same address ends.
func (s *Store) NewInvite(ctx context.Context, i Invite) (secret string, err error) {
	if i.Email, err = MailAddress(i.Email); err != nil {
		return "", err
	}

	secret = rand.Text()
	row := inviteRow{
		ID: s.NewID("inv"), AccountID: i.AccountID, Email: i.Email, Role: i.Role, InviterID: i.InviterID,
		TokenHash: tokenHash(secret), CreatedAt: toMicros(s.now()), ExpiresAt: toMicros(i.ExpiresAt),
	}

	return secret, s.update(ctx, "invite", func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&row).On("CONFLICT (account_id, email) DO UPDATE").
			Set(`id = EXCLUDED.id, role = EXCLUDED.role, inviter_id = EXCLUDED.inviter_id,
				token_hash = EXCLUDED.token_hash, created_at = EXCLUDED.created_at,
				expires_at = EXCLUDED.expires_at`).Exec(ctx)
		return err
	})
}

// Invites returns the open invitations of an account.
func (s *Store) Invites(ctx context.Context, accountID string) ([]Invite, error) {
	var rows []inviteRow
	err := s.read.NewSelect().Model(&rows).Where("account_id = ? AND expires_at > ?", accountID, toMicros(s.now())).
		Order("created_at", "id").Scan(ctx)
	return converted(rows, (*inviteRow).invite), wrapped("read invitations", err)
}

// Invite returns the invitation of a link, or ErrUsed.
func (s *Store) Invite(ctx context.Context, secret string) (Invite, error) {
	var row inviteRow
	err := s.read.NewSelect().Model(&row).ColumnExpr("i.*, COALESCE(NULLIF(a.name, ''), a.email) AS account_name").
		Join("JOIN accounts AS a ON a.id = i.account_id").
		Where("i.token_hash = ? AND i.expires_at > ?", tokenHash(secret), toMicros(s.now())).Scan(ctx)
	if errors.Is(notFound(err), ErrNotFound) {
		err = ErrUsed
	}
	return row.invite(), wrapped("read invitation", err)
}

// AcceptInvite makes a user a member by the invitation of a link, which ends the link. It returns ErrUsed for a link
// that is not valid.
func (s *Store) AcceptInvite(ctx context.Context, secret, personID string) (Invite, error) {
	i, err := s.Invite(ctx, secret)
	if err != nil {
		return Invite{}, err
	}

	return i, s.update(ctx, "accept invitation", func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewDelete().Model((*inviteRow)(nil)).Where("token_hash = ?", tokenHash(secret)).Exec(ctx))
		switch {
		case err != nil:
			return err
		case !ok:
			return ErrUsed
		}

		if err := s.addMember(ctx, tx, i.AccountID, personID, i.Role); err != nil && !errors.Is(err, ErrExists) {
			return err
		}
		return nil
	})
}

// CancelInvite ends an invitation of an account, or returns ErrNotFound.
func (s *Store) CancelInvite(ctx context.Context, accountID, id string) error {
	return s.update(ctx, "cancel invitation", func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewDelete().Model((*inviteRow)(nil)).Where("account_id = ? AND id = ?", accountID, id).
			Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
}
