package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

const (
	// CodeLife is the time that a client has to exchange its code for tokens.
	CodeLife = time.Minute
	// AccessLife is the lifetime of an access token.
	AccessLife = time.Hour
	// RefreshLife is the maximum age of an unused refresh token. No token outlives its grant.
	RefreshLife = 30 * 24 * time.Hour
	// GrantLimit is the default spending limit of an application.
	GrantLimit = 5 * credit.Dollar
	// GrantDays is the default duration of a grant in days.
	GrantDays = 90
)

// Tokens and codes begin with these.
const (
	AccessPrefix  = "pdf_oat_"
	refreshPrefix = "pdf_ort_"
	codePrefix    = "pdf_oac_"
)

// grantMark is the value in a grant's row of keys where other keys have the beginning of their secret.
const grantMark = "grant"

// Grant is the permission that a user has given an application.
type Grant struct {
	ID                  string
	AccountID, PersonID string
	Email               string // of the user; empty for one who is gone
	ClientID, Name      string // of the client
	Home                string // where users were sent back to
	Scopes              []string
	CreatedAt           time.Time
	ExpiresAt           time.Time
	Limit, Spent        credit.Amount // over the grant's whole life; holds included
	RevokedAt           *time.Time
	LastUsedAt          *time.Time // to the minute
	// Orphaned marks a grant whose user may not make keys any more: it gives no access.
	Orphaned bool
}

// Live reports whether the grant is usable at a time.
func (g Grant) Live(now time.Time) bool {
	return g.RevokedAt == nil && !g.Orphaned && g.ExpiresAt.After(now)
}

// Consent is a user's decision to let a client in.
type Consent struct {
	Client              OAuthClient
	Redirect            string // the redirect URI of the code
	Challenge           string // of PKCE with S256
	Resource            string // the audience of the tokens
	Scopes              []string
	AccountID, PersonID string
	Limit               credit.Amount
	ExpiresAt           time.Time
}

// Redemption is an application's request to exchange its code.
type Redemption struct {
	Code, ClientID, Redirect string
	// Challenge is the PKCE challenge, computed from the verifier.
	Challenge string
	// Resource is empty, or the requested audience of the tokens.
	Resource string
}

// GrantTokens are the tokens of an application, with their scopes.
type GrantTokens struct {
	Access, Refresh string
	AccessEnds      time.Time
	Scopes          []string
}

// GrantAccess is the access that a token gives.
type GrantAccess struct {
	Grant   Key // the grant's row, with its cap and its spending
	Account Account
	Scopes  []string
}

// GrantMailBuilder writes the sealed emails that notify the users with these addresses of a new application. It is
// called within the grant's transaction, which may run again.
type GrantMailBuilder func(grant Grant, to []string) ([]QueuedEmail, error)

type grantRow struct {
	bun.BaseModel `bun:"table:oauth_grants,alias:g"`

	KeyID     string `bun:",pk"`
	AccountID string
	PersonID  string
	ClientID  string
	Home      string
	Resource  string
	Scopes    string
	CreatedAt int64
}

type codeRow struct {
	bun.BaseModel `bun:"table:oauth_codes,alias:o"`

	Hash       []byte `bun:",pk"`
	ClientID   string
	ClientName string
	Redirect   string
	Challenge  string
	Resource   string
	Scopes     string
	AccountID  string
	PersonID   string
	SpendLimit credit.Amount
	EndsAt     int64
	Used       bool
	KeyID      *string
	CreatedAt  int64
	ExpiresAt  int64
}

type grantTokenRow struct {
	bun.BaseModel `bun:"table:oauth_tokens,alias:t"`

	Hash      []byte `bun:",pk"`
	KeyID     string
	Refresh   bool
	Scopes    string
	Used      bool
	CreatedAt int64
	ExpiresAt int64
}

// AuthorizeClient stores a user's consent and returns the code that the client changes for tokens. The grant is made
// then.
func (s *Store) AuthorizeClient(ctx context.Context, c Consent) (code string, err error) {
	switch {
	case c.Limit < 0 || c.Limit > maxAmount:
		return "", fmt.Errorf("allow program: the spending limit must be between 0 and %s; got %s", maxAmount, c.Limit)
	case len(c.Scopes) == 0, c.Challenge == "", c.Redirect == "", c.Resource == "":
		return "", errors.New("allow program: there must be scopes, a challenge, a resource, and an address to go back to")
	}

	now := s.now()
	code = newSecret(codePrefix)
	row := codeRow{
		Hash:       hashSecret(code),
		ClientID:   c.Client.ID,
		ClientName: clean(c.Client.Name, 100),
		Redirect:   c.Redirect,
		Challenge:  c.Challenge,
		Resource:   c.Resource,
		Scopes:     strings.Join(c.Scopes, " "),
		AccountID:  c.AccountID,
		PersonID:   c.PersonID,
		SpendLimit: c.Limit,
		EndsAt:     toMicros(c.ExpiresAt),
		CreatedAt:  toMicros(now),
		ExpiresAt:  toMicros(now.Add(CodeLife)),
	}

	return code, s.update(ctx, "allow program", func(ctx context.Context, tx txn) error {
		_, err := tx.NewUpdate().Model((*clientRow)(nil)).Set("used_at = ?", toMicros(now)).
			Where("id = ?", c.Client.ID).Exec(ctx)
		if err != nil {
			return err
		}

		_, err = tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
}

// RedeemGrantCode exchanges a code for tokens, once, and creates the grant. It returns ErrNotFound, ErrExpired, or
// ErrDenied if the request does not match the code or the user may not allow it any more. It returns ErrUsed for a code
// that was used before: the code has two owners, so its grant is revoked. A code that was presented with any error is
// no longer valid.
func (s *Store) RedeemGrantCode(ctx context.Context, r Redemption, buildMail GrantMailBuilder) (GrantTokens, error) {
	var got GrantTokens
	var denial error
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		got = GrantTokens{}
		denial = nil

		var row codeRow
		// The empty update locks the row: no one else can use the code before the end.
		err := notFound(tx.NewUpdate().Model(&row).Set("used = used").Where("hash = ?", hashSecret(r.Code)).
			Returning("*").Scan(ctx))
		if err != nil {
			return err
		}

		if row.Used {
			denial = ErrUsed
			if row.KeyID == nil {
				return nil
			}
			return s.endGrant(ctx, tx, *row.KeyID)
		}

		_, err = tx.NewUpdate().Model((*codeRow)(nil)).Set("used = TRUE").Where("hash = ?", row.Hash).Exec(ctx)
		if err != nil {
			return err
		}

		if denial = row.denial(r, s.now()); denial == nil {
			denial, err = refusal(ctx, tx, row.AccountID, row.PersonID)
		}
		if err != nil || denial != nil {
			return err
		}

		got, err = s.createGrant(ctx, tx, &row, buildMail)
		return err
	})
	if err == nil {
		err = denial
	}
	return got, wrapped("redeem code", err)
}

// denial returns the reason why a code gives no tokens, or nil.
func (r *codeRow) denial(request Redemption, now time.Time) error {
	switch {
	case r.ExpiresAt <= toMicros(now), r.EndsAt <= toMicros(now):
		return ErrExpired
	case r.ClientID != request.ClientID, r.Redirect != request.Redirect,
		!sameText(r.Challenge, request.Challenge), request.Resource != "" && request.Resource != r.Resource:
		return ErrDenied
	}
	return nil
}

// refusal is ErrDenied if a user may not let clients act for an account: the user may have left it, it may be
// closing, or the operator has suspended it.
func refusal(ctx context.Context, tx txn, accountID, personID string) (denial, err error) {
	allowed, err := tx.NewSelect().TableExpr("members AS m").Join("JOIN accounts AS a ON a.id = m.account_id").
		ColumnExpr("1").
		Where("m.account_id = ? AND m.person_id = ? AND m.role IN (?, ?) AND a.closes_at IS NULL AND NOT a.suspended",
			accountID, personID, RoleOwner, RoleDeveloper).Exists(ctx)
	if err == nil && !allowed {
		denial = ErrDenied
	}
	return denial, err
}

// createGrant writes the grant of a code, and tokens for it.
func (s *Store) createGrant(
	ctx context.Context, tx txn, code *codeRow, buildMail GrantMailBuilder,
) (GrantTokens, error) {
	key, err := s.insertGrant(ctx, tx, code, buildMail)
	if err != nil {
		return GrantTokens{}, err
	}
	_, err = tx.NewUpdate().Model((*codeRow)(nil)).Set("key_id = ?", key.ID).Where("hash = ?", code.Hash).Exec(ctx)
	if err != nil {
		return GrantTokens{}, err
	}
	return s.issueGrantTokens(ctx, tx, key, code.Scopes, code.Scopes)
}

// insertGrant writes a grant, with its entry in the audit log and the emails of buildMail.
func (s *Store) insertGrant(ctx context.Context, tx txn, code *codeRow, buildMail GrantMailBuilder) (*keyRow, error) {
	now := toMicros(s.now())
	key := keyRow{
		ID:         s.NewID("grant"),
		AccountID:  code.AccountID,
		Name:       code.ClientName,
		Prefix:     grantMark,
		Hash:       hashSecret(newSecret("")), // a secret that is never returned
		ExpiresAt:  &code.EndsAt,
		SpendLimit: &code.SpendLimit,
		CreatedAt:  now,
	}
	row := grantRow{
		KeyID:     key.ID,
		AccountID: code.AccountID,
		PersonID:  code.PersonID,
		ClientID:  code.ClientID,
		Home:      code.Redirect,
		Resource:  code.Resource,
		Scopes:    code.Scopes,
		CreatedAt: now,
	}

	if _, err := tx.NewInsert().Model(&key).Exec(ctx); err != nil {
		return nil, err
	}
	if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return nil, err
	}

	return &key, s.reportGrant(ctx, tx, &key, &row, buildMail)
}

// reportGrant writes a new grant to the audit log and emails the account's owners and the user who has allowed it.
func (s *Store) reportGrant(ctx context.Context, tx txn, key *keyRow, row *grantRow, buildMail GrantMailBuilder) error {
	var who string
	if err := tx.NewSelect().Table("people").Column("email").Where("id = ?", row.PersonID).Scan(ctx, &who); err != nil {
		return err
	}

	entry := s.newAuditRow(AuditEntry{
		AccountID: row.AccountID,
		PersonID:  row.PersonID,
		Who:       who,
		Action:    "grant.made",
		Object:    key.Name,
		Note:      row.Scopes,
	})
	if _, err := tx.NewInsert().Model(&entry).Exec(ctx); err != nil || buildMail == nil {
		return err
	}

	to, err := ownersAnd(ctx, tx, row.AccountID, row.PersonID)
	if err != nil {
		return err
	}

	grant := grantOf(key, row)
	grant.Email = who
	emails, err := buildMail(grant, to)
	if err != nil || len(emails) == 0 {
		return err
	}

	return enqueueEmails(ctx, tx, emails, s.now())
}

// issueGrantTokens makes tokens of a grant: one that opens for some of its scopes, and one that is changed for the
// next, for all that the client was given.
func (s *Store) issueGrantTokens(
	ctx context.Context, tx txn, key *keyRow, accessScopes, scopes string,
) (GrantTokens, error) {
	now := s.now()
	access := toMicros(now.Add(AccessLife))
	refresh := toMicros(now.Add(RefreshLife))
	if key.ExpiresAt != nil {
		access = min(access, *key.ExpiresAt)
		refresh = min(refresh, *key.ExpiresAt)
	}

	got := GrantTokens{
		Access:     newSecret(AccessPrefix),
		Refresh:    newSecret(refreshPrefix),
		AccessEnds: fromMicros(access),
		Scopes:     strings.Fields(accessScopes),
	}
	rows := []grantTokenRow{
		{
			Hash:      hashSecret(got.Access),
			KeyID:     key.ID,
			Scopes:    accessScopes,
			CreatedAt: toMicros(now),
			ExpiresAt: access,
		},
		{
			Hash:      hashSecret(got.Refresh),
			KeyID:     key.ID,
			Refresh:   true,
			Scopes:    scopes,
			CreatedAt: toMicros(now),
			ExpiresAt: refresh,
		},
	}

	_, err := tx.NewInsert().Model(&rows).Exec(ctx)
	return got, err
}

// endGrant revokes a grant and all its tokens.
func (s *Store) endGrant(ctx context.Context, tx txn, id string) error {
	_, err := tx.NewUpdate().Model((*keyRow)(nil)).Set("revoked_at = COALESCE(revoked_at, ?)", toMicros(s.now())).
		Where("id = ?", id).Exec(ctx)
	if err != nil {
		return err
	}
	_, err = tx.NewDelete().Model((*grantTokenRow)(nil)).Where("key_id = ?", id).Exec(ctx)
	return err
}
