package store

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Renewal is an application's request for new tokens.
type Renewal struct {
	Token, ClientID string
	// Scopes are the requested scopes; none means all granted scopes.
	Scopes []string
	// Resource is empty, or the requested audience of the tokens.
	Resource string
}

// ErrScope means that a client asks for more than it was given.
var ErrScope = errors.New("more scopes than were allowed")

// RenewGrantTokens exchanges a refresh token for new tokens, once. It returns ErrNotFound for an unknown token or a
// revoked grant; ErrExpired; ErrDenied for another client or another resource, or if the user may not allow it any
// more; and ErrScope. It returns ErrUsed for a token that was used before: the token has two owners, so the whole grant
// is revoked.
func (s *Store) RenewGrantTokens(ctx context.Context, r Renewal) (GrantTokens, error) {
	var got GrantTokens
	var denial error
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		got = GrantTokens{}
		denial = nil

		var token grantTokenRow
		// The empty update locks the row: no one else can use the token before the end.
		err := notFound(tx.NewUpdate().Model(&token).Set("used = used").
			Where("hash = ? AND refresh", hashSecret(r.Token)).Returning("*").Scan(ctx))
		if err != nil {
			return err
		}

		var key keyRow
		var grant grantRow
		if err := tx.NewSelect().Model(&key).Where("id = ?", token.KeyID).Scan(ctx); err != nil {
			return err
		}
		if err := tx.NewSelect().Model(&grant).Where("key_id = ?", token.KeyID).Scan(ctx); err != nil {
			return err
		}

		denial = token.denial(r, &key, &grant, s.now())
		switch {
		case errors.Is(denial, ErrUsed):
			return s.endGrant(ctx, tx, key.ID)
		case denial == nil:
			denial, err = refusal(ctx, tx, grant.AccountID, grant.PersonID)
		}
		if err != nil || denial != nil {
			return err
		}

		_, err = tx.NewUpdate().Model((*grantTokenRow)(nil)).Set("used = TRUE").Where("hash = ?", token.Hash).Exec(ctx)
		if err != nil {
			return err
		}

		accessScopes := token.Scopes
		if len(r.Scopes) > 0 {
			accessScopes = strings.Join(r.Scopes, " ")
		}
		got, err = s.issueGrantTokens(ctx, tx, &key, accessScopes, token.Scopes)
		return err
	})
	if err == nil {
		err = denial
	}
	return got, wrapped("renew tokens", err)
}

// denial returns the reason why a refresh token gives no tokens, or nil.
func (t *grantTokenRow) denial(r Renewal, key *keyRow, grant *grantRow, now time.Time) error {
	given := strings.Fields(t.Scopes)

	switch {
	case grant.ClientID != r.ClientID, r.Resource != "" && r.Resource != grant.Resource:
		return ErrDenied
	case t.Used:
		return ErrUsed
	case key.RevokedAt != nil:
		return ErrNotFound
	case t.ExpiresAt <= toMicros(now):
		return ErrExpired
	case slices.ContainsFunc(r.Scopes, func(scope string) bool { return !slices.Contains(given, scope) }):
		return ErrScope
	}

	return nil
}

// RevokeGrantToken ends a token of a client (RFC 7009): an access token alone, a refresh token with its whole grant.
// It returns ErrNotFound for one that the client does not have.
func (s *Store) RevokeGrantToken(ctx context.Context, secret, clientID string) error {
	return s.update(ctx, "drop token", func(ctx context.Context, tx txn) error {
		var token grantTokenRow
		err := notFound(tx.NewSelect().Model(&token).Join("JOIN oauth_grants AS g ON g.key_id = t.key_id").
			Where("t.hash = ? AND g.client_id = ?", hashSecret(secret), clientID).Scan(ctx))
		if err != nil {
			return err
		}

		if token.Refresh {
			return s.endGrant(ctx, tx, token.KeyID)
		}
		_, err = tx.NewDelete().Model((*grantTokenRow)(nil)).Where("hash = ?", token.Hash).Exec(ctx)
		return err
	})
}

// accessQuery finds the access of an access token, while the user who granted it may grant it. $1 hash, $2
// resource, $3 now, $4 and $5 the roles.
var accessQuery = "SELECT t.scopes, " + keysTable.columns("k") + ", " + accountsTable.columns("a") +
	` FROM oauth_tokens AS t JOIN oauth_grants AS g ON g.key_id = t.key_id JOIN keys AS k ON k.id = t.key_id
		JOIN accounts AS a ON a.id = k.account_id` +
	" JOIN members AS m ON m.account_id = g.account_id AND m.person_id = g.person_id" +
	` WHERE t.hash = $1 AND NOT t.refresh AND g.resource = $2 AND t.expires_at > $3 AND k.revoked_at IS NULL
		AND k.expires_at > $3 AND m.role IN ($4, $5)`

// GrantAccess returns the access of a token at a resource, in one query, or ErrNotFound. A suspended account is
// returned: the caller reports that to its owner.
func (s *Store) GrantAccess(ctx context.Context, secret, resource string) (GrantAccess, error) {
	var key keyRow
	var account accountRow
	var scopes string

	now := s.now()
	found := append(append([]any{&scopes}, keysTable.pointers(&key)...), accountsTable.pointers(&account)...)
	err := s.readRow(ctx, found, accessQuery, hashSecret(secret), resource, toMicros(now), RoleOwner,
		RoleDeveloper)
	if err != nil {
		return GrantAccess{}, wrapped("read token", notFound(err))
	}

	noteUse(s.keyUses, key.key(), now)
	return GrantAccess{key.key(), account.account(now), strings.Fields(scopes)}, nil
}

func grantOf(key *keyRow, row *grantRow) Grant {
	grant := Grant{
		ID:         key.ID,
		AccountID:  row.AccountID,
		PersonID:   row.PersonID,
		ClientID:   row.ClientID,
		Name:       key.Name,
		Home:       row.Home,
		Scopes:     strings.Fields(row.Scopes),
		CreatedAt:  fromMicros(row.CreatedAt),
		Spent:      key.Spent,
		RevokedAt:  fromMicrosPtr(key.RevokedAt),
		LastUsedAt: fromMicrosPtr(key.LastUsedAt),
	}

	if key.ExpiresAt != nil {
		grant.ExpiresAt = fromMicros(*key.ExpiresAt)
	}
	if key.SpendLimit != nil {
		grant.Limit = *key.SpendLimit
	}

	return grant
}

// Grants returns an account's grants, the latest first.
func (s *Store) Grants(ctx context.Context, accountID string) ([]Grant, error) {
	grants, err := s.readGrants(ctx, "g.account_id = ?", accountID)
	return grants, wrapped("read grants", err)
}

// Grant returns a grant of an account, or ErrNotFound.
func (s *Store) Grant(ctx context.Context, accountID, id string) (Grant, error) {
	grants, err := s.readGrants(ctx, "g.account_id = ? AND g.key_id = ?", accountID, id)
	if err == nil && len(grants) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Grant{}, wrapped("read grant", err)
	}
	return grants[0], nil
}

func (s *Store) readGrants(ctx context.Context, which string, args ...any) ([]Grant, error) {
	var rows []struct {
		KeyID, AccountID, PersonID, ClientID string
		Home, Scopes                         string
		CreatedAt                            int64
		Name                                 string
		ExpiresAt, RevokedAt, LastUsedAt     *int64
		SpendLimit                           *credit.Amount
		Spent                                credit.Amount
		Email, Role                          string
	}

	err := s.read.NewSelect().TableExpr("oauth_grants AS g").Join("JOIN keys AS k ON k.id = g.key_id").
		Join("LEFT JOIN people AS p ON p.id = g.person_id").
		Join("LEFT JOIN members AS m ON m.account_id = g.account_id AND m.person_id = g.person_id").
		ColumnExpr(`g.key_id, g.account_id, g.person_id, g.client_id, g.home, g.scopes, g.created_at, k.name,
			k.expires_at, k.revoked_at, k.last_used_at, k.spend_limit, k.spent, COALESCE(p.email, '') AS email,
			COALESCE(m.role, '') AS role`).
		Where(which, args...).OrderExpr("g.created_at DESC, g.key_id DESC").Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}

	list := make([]Grant, len(rows))
	for i := range rows {
		r := &rows[i]
		list[i] = grantOf(
			&keyRow{
				ID:         r.KeyID,
				Name:       r.Name,
				ExpiresAt:  r.ExpiresAt,
				RevokedAt:  r.RevokedAt,
				LastUsedAt: r.LastUsedAt,
				SpendLimit: r.SpendLimit,
				Spent:      r.Spent,
			},
			&grantRow{
				AccountID: r.AccountID,
				PersonID:  r.PersonID,
				ClientID:  r.ClientID,
				Home:      r.Home,
				Scopes:    r.Scopes,
				CreatedAt: r.CreatedAt,
			},
		)
		list[i].Email = r.Email
		list[i].Orphaned = r.Role != RoleOwner && r.Role != RoleDeveloper
	}

	return list, nil
}

// SetGrantLimit changes the maximum spending of a grant over its whole life. It returns ErrNotFound for a grant that
// has ended or that the account does not have.
func (s *Store) SetGrantLimit(ctx context.Context, accountID, id string, limit credit.Amount) error {
	if limit < 0 || limit > maxAmount {
		return errors.New("set limit of grant: the amount is out of bounds")
	}

	return s.update(ctx, "set limit of grant", func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewUpdate().Model((*keyRow)(nil)).Set("spend_limit = ?", limit).
			Where("id = ? AND account_id = ? AND prefix = ? AND revoked_at IS NULL AND expires_at > ?",
				id, accountID, grantMark, toMicros(s.now())).Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
}

// RevokeGrant ends a grant permanently. Revoking it again changes nothing. It returns ErrNotFound for a grant that the
// account does not have.
func (s *Store) RevokeGrant(ctx context.Context, accountID, id string) error {
	return s.update(ctx, "revoke grant", func(ctx context.Context, tx txn) error {
		known, err := tx.NewSelect().Model((*grantRow)(nil)).Where("key_id = ? AND account_id = ?", id, accountID).
			Exists(ctx)
		if err == nil && !known {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.endGrant(ctx, tx, id)
	})
}

// sameText compares a secret from a request with the stored one in constant time.
func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
