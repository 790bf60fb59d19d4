package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// Purposes of a link.
const (
	TokenVerify = "verify"  // shows that an address is a user's
	TokenReset  = "reset"   // sets a new password
	TokenEmail  = "email"   // changes a user's address to the one in its data
	TokenSignIn = "sign-in" // logs in, and verifies the address
	TokenUndo   = "undo"    // undoes a change of credentials, which its data holds
)

// Token is a link that works once.
type Token struct {
	Purpose, PersonID, Data string
	ExpiresAt               time.Time
}

type tokenRow struct {
	bun.BaseModel `bun:"table:tokens,alias:t"`

	Hash      []byte `bun:",pk"`
	Purpose   string
	PersonID  string
	Data      string
	CreatedAt int64
	ExpiresAt int64
}

func tokenHash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// NewToken creates a link for a user and returns its secret. Earlier links with the same purpose end.
func (s *Store) NewToken(ctx context.Context, t Token) (secret string, err error) {
	secret = rand.Text()
	row := tokenRow{
		Hash: tokenHash(secret), Purpose: t.Purpose, PersonID: t.PersonID, Data: t.Data,
		CreatedAt: toMicros(s.now()), ExpiresAt: toMicros(t.ExpiresAt),
	}

	err = s.update(ctx, "make link", func(ctx context.Context, tx txn) error {
		_, err := tx.NewDelete().Model((*tokenRow)(nil)).Where("person_id = ? AND purpose = ?", t.PersonID, t.Purpose).
			Exec(ctx)
		if err != nil {
			return err
		}

		_, err = tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	return secret, err
}

// RequestReset makes a link of TokenReset for the user with an email address, if there is one, and stores the email
// that tell makes of the link. For an unknown address it does the same work, so its duration does not reveal whether
// the address is known: tell gets no address then, and its email goes nowhere. Earlier links still work, so requests
// of others do not end a user's link.
func (s *Store) RequestReset(
	ctx context.Context, email string, until time.Time, buildMail func(to, secret string) ([]QueuedEmail, error),
) error {
	return s.update(ctx, "make link", func(ctx context.Context, tx txn) error {
		secret := rand.Text()
		now := s.now()
		known, err := changed(tx.NewRaw(`INSERT INTO tokens (hash, purpose, person_id, data, created_at, expires_at)
			SELECT ?, ?, id, '', ?, ? FROM people WHERE email = ?`,
			tokenHash(secret), TokenReset, toMicros(now), toMicros(until), NormalAddress(email)).Exec(ctx))
		if err != nil {
			return err
		}

		to := ""
		if known {
			to = NormalAddress(email)
		}

		emails, err := buildMail(to, secret)
		if err != nil || len(emails) == 0 {
			return err
		}
		return enqueueEmails(ctx, tx, emails, now)
	})
}

// Token returns a link that still works, without using it, or ErrUsed.
func (s *Store) Token(ctx context.Context, purpose, secret string) (Token, error) {
	var row tokenRow
	err := s.read.NewSelect().Model(&row).
		Where("hash = ? AND purpose = ? AND expires_at > ?", tokenHash(secret), purpose, toMicros(s.now())).Scan(ctx)
	if err = notFound(err); errors.Is(err, ErrNotFound) {
		err = ErrUsed
	}
	if err != nil {
		return Token{}, fmt.Errorf("read link: %w", err)
	}

	return Token{row.Purpose, row.PersonID, row.Data, fromMicros(row.ExpiresAt)}, nil
}

// UseToken uses up a link, or returns ErrUsed.
func (s *Store) UseToken(ctx context.Context, purpose, secret string) (Token, error) {
	t, err := s.Token(ctx, purpose, secret)
	if err != nil {
		return Token{}, err
	}

	err = s.update(ctx, "use link", func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewDelete().Model((*tokenRow)(nil)).Where("hash = ?", tokenHash(secret)).Exec(ctx))
		if err == nil && !ok {
			err = ErrUsed
		}
		return err
	})
	return t, err
}
