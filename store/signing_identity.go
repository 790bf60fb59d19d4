package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// MaxSigningIdentities is the maximum number of signing identities of an account.
const MaxSigningIdentities = 20

// SigningIdentity is a private key of a customer with its certificate. The caller encrypts its secret; the store cannot
// read it.
type SigningIdentity struct {
	ID        string // sig_…
	AccountID string
	// Name is unique in the account.
	Name string
	// Certificate is JSON about the certificate of the key.
	Certificate string
	Secret      []byte
	CreatedAt   time.Time
}

type signingIdentityRow struct {
	bun.BaseModel `bun:"table:signing_identities,alias:si"`

	ID          string `bun:",pk"`
	AccountID   string
	Name        string
	Certificate string
	Secret      []byte
	CreatedAt   int64
}

func (r *signingIdentityRow) identity() SigningIdentity {
	return SigningIdentity{
		ID:          r.ID,
		AccountID:   r.AccountID,
		Name:        r.Name,
		Certificate: r.Certificate,
		Secret:      r.Secret,
		CreatedAt:   fromMicros(r.CreatedAt),
	}
}

// CreateSigningIdentity adds an identity, whose ID is made beforehand, because the secret is encrypted for it. It
// returns ErrTooManyIdentities when the account has MaxSigningIdentities already, ErrExists when one of them has the
// name, and ErrNotFound for an unknown account.
func (s *Store) CreateSigningIdentity(ctx context.Context, i SigningIdentity) (SigningIdentity, error) {
	row := signingIdentityRow{
		ID:          i.ID,
		AccountID:   i.AccountID,
		Name:        i.Name,
		Certificate: i.Certificate,
		Secret:      i.Secret,
		CreatedAt:   toMicros(s.now()),
	}

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if err := s.lockAccount(ctx, tx, i.AccountID); err != nil {
			return err
		}

		others, err := otherNames(ctx, tx, (*signingIdentityRow)(nil), i.AccountID, i.ID, i.Name)
		if err != nil {
			return err
		}
		if others >= MaxSigningIdentities {
			return ErrTooManyIdentities
		}

		_, err = tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	if err != nil {
		return SigningIdentity{}, fmt.Errorf("create signing identity: %w", err)
	}

	return row.identity(), nil
}

// SigningIdentities returns the account's signing identities, the oldest first.
func (s *Store) SigningIdentities(ctx context.Context, accountID string) ([]SigningIdentity, error) {
	var rows []signingIdentityRow
	err := s.read.NewSelect().Model(&rows).Where("account_id = ?", accountID).Order("created_at", "id").Scan(ctx)
	return converted(rows, (*signingIdentityRow).identity), wrapped("read signing identities", err)
}

// SigningIdentity returns the account's signing identity with the ID. It returns ErrNotFound for an unknown ID and
// another account's.
func (s *Store) SigningIdentity(ctx context.Context, accountID, id string) (SigningIdentity, error) {
	var row signingIdentityRow
	err := ErrNotFound
	if storable(id) {
		err = notFound(s.read.NewSelect().Model(&row).Where("id = ? AND account_id = ?", id, accountID).Scan(ctx))
	}
	return row.identity(), wrapped("read signing identity", err)
}

// DeleteSigningIdentity deletes a signing identity and its key. It returns ErrNotFound as SigningIdentity does.
func (s *Store) DeleteSigningIdentity(ctx context.Context, accountID, id string) error {
	return s.deleteOwned(ctx, "signing identity", (*signingIdentityRow)(nil), accountID, id)
}
