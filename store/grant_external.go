package store

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// ExternalClient is a client that an external token issuer has authorized for a user. It has a grant like locally
// authorized clients, so that its cap, the list of connected apps and their revocation are the same.
type ExternalClient struct {
	Email    string // of the user, as the issuer has confirmed it
	ClientID string // of the client at the issuer, with the issuer before it
	Name     string // of the client, as users see it
	Home     string // the issuer
	Resource string
	Scopes   []string
}

// externalQuery finds the latest grant of a user for an application. $1 email address, $2 application, $3 resource, $4
// and $5 the roles.
var externalQuery = "SELECT g.scopes, " + keysTable.columns("k") + ", " + accountsTable.columns("a") +
	` FROM people AS p JOIN members AS m ON m.person_id = p.id
		JOIN oauth_grants AS g ON g.account_id = m.account_id AND g.person_id = p.id` +
	" JOIN keys AS k ON k.id = g.key_id JOIN accounts AS a ON a.id = k.account_id" +
	` WHERE p.email = $1 AND p.verified_at IS NOT NULL AND g.client_id = $2 AND g.resource = $3 AND m.role IN ($4, $5)
		ORDER BY g.created_at DESC, g.key_id DESC LIMIT 1`

// ExternalGrantAccess returns the permissions of an application that an external issuer has authorised. It makes the
// grant when the application first connects, or after the grant before has expired; the new grant inherits the cap of
// the old one, which users may have changed. It returns ErrNotFound if no user with the email address may authorise
// applications, and ErrDenied if users have revoked the application's grant: further tokens from the issuer do not undo
// that.
func (s *Store) ExternalGrantAccess(
	ctx context.Context, o ExternalClient, buildMail GrantMailBuilder,
) (GrantAccess, error) {
	var err error
	if o.Email, err = MailAddress(o.Email); err != nil {
		return GrantAccess{}, ErrNotFound
	}

	now := toMicros(s.now())
	args := []any{o.Email, o.ClientID, o.Resource, RoleOwner, RoleDeveloper}
	found, err := scanExternal(func(places ...any) error {
		return s.readRow(ctx, places, externalQuery, args...)
	})
	if errors.Is(err, ErrNotFound) || err == nil && found.key.over(now) {
		err = s.inTx(ctx, func(ctx context.Context, tx txn) (err error) {
			found, err = s.createExternalGrant(ctx, tx, o, args, buildMail)
			return err
		})
	}

	if err == nil && found.key.RevokedAt != nil {
		return GrantAccess{}, ErrDenied
	}
	if err == nil {
		err = s.addGrantScopes(ctx, found, o.Scopes)
	}
	if err != nil {
		return GrantAccess{}, wrapped("read grant of an external issuer", err)
	}

	noteUse(s.keyUses, found.key.key(), s.now())
	return GrantAccess{found.key.key(), found.account.account(s.now()), o.Scopes}, nil
}

// addGrantScopes records additional scopes that the issuer has granted, for users to see.
func (s *Store) addGrantScopes(ctx context.Context, found externalRow, scopes []string) error {
	all := strings.Fields(found.scopes)
	for _, scope := range scopes {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}

	if len(all) == len(strings.Fields(found.scopes)) {
		return nil
	}

	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewUpdate().Model((*grantRow)(nil)).Set("scopes = ?", strings.Join(all, " ")).
			Where("key_id = ?", found.key.ID).Exec(ctx)
		return err
	})
}

// over reports whether a grant has expired without being revoked.
func (r *keyRow) over(now int64) bool {
	return r.RevokedAt == nil && r.ExpiresAt != nil && *r.ExpiresAt <= now
}

// externalRow is the row found for an application.
type externalRow struct {
	scopes  string
	key     keyRow
	account accountRow
}

func scanExternal(scan func(places ...any) error) (found externalRow, err error) {
	places := append(append([]any{&found.scopes}, keysTable.pointers(&found.key)...),
		accountsTable.pointers(&found.account)...)
	return found, notFound(scan(places...))
}

// createExternalGrant makes the grant of an application, unless another request has made it.
func (s *Store) createExternalGrant(
	ctx context.Context, tx txn, o ExternalClient, args []any, buildMail GrantMailBuilder,
) (externalRow, error) {
	var person personRow
	// The empty update locks the row: no one else can make the same grant before the end.
	err := notFound(tx.NewUpdate().Model(&person).Set("email = email").
		Where("email = ? AND verified_at IS NOT NULL", o.Email).Returning("*").Scan(ctx))
	if err != nil {
		return externalRow{}, err
	}

	now := toMicros(s.now())
	ends := toMicros(s.now().AddDate(0, 0, GrantDays))
	limit := GrantLimit

	found, err := scanExternal(s.queryRow(ctx, tx, externalQuery, args...).Scan)
	switch {
	case err == nil && !found.key.over(now):
		return found, nil
	case err == nil && found.key.SpendLimit != nil:
		limit = *found.key.SpendLimit
	case err != nil && !errors.Is(err, ErrNotFound):
		return externalRow{}, err
	}

	// A member of several accounts works for the first of them.
	var accountID string
	err = notFound(tx.NewSelect().TableExpr("members AS m").Join("JOIN accounts AS a ON a.id = m.account_id").
		ColumnExpr("m.account_id").
		Where("m.person_id = ? AND m.role IN (?, ?) AND a.closes_at IS NULL", person.ID, RoleOwner, RoleDeveloper).
		OrderExpr("m.created_at, m.account_id").Limit(1).Scan(ctx, &accountID))
	if err != nil {
		return externalRow{}, err
	}

	_, err = s.insertGrant(ctx, tx, &codeRow{
		ClientID:   o.ClientID,
		ClientName: clean(o.Name, 100),
		Redirect:   o.Home,
		Resource:   o.Resource,
		Scopes:     strings.Join(o.Scopes, " "),
		AccountID:  accountID,
		PersonID:   person.ID,
		SpendLimit: limit,
		EndsAt:     ends,
	}, buildMail)
	if err != nil {
		return externalRow{}, err
	}

	return scanExternal(s.queryRow(ctx, tx, externalQuery, args...).Scan)
}
