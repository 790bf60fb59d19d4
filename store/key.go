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

// Prefixes of secret keys. The results of test keys are free and have a test mark.
const (
	LivePrefix = "pdf_live_"
	TestPrefix = "pdf_test_"
)

const (
	// shownChars is the number of readable characters of a secret: its kind and three characters, enough for an
	// owner to distinguish keys.
	shownChars = 12
)

const (
	// keyUseEvery is the precision of LastUsedAt.
	keyUseEvery = time.Minute
	// keyUseQueue bounds the uses waiting to be recorded; more are dropped,
	// and the key's next use records itself.
	keyUseQueue = 256
	// keyUseMemory bounds the keys whose last recorded use is remembered.
	keyUseMemory = 10_000
)

// Key is an API key of an account. Its secret is shown once, at creation.
type Key struct {
	ID         string
	AccountID  string
	Name       string
	Prefix     string // the first 12 characters of the secret
	Test       bool
	ExpiresAt  *time.Time     // nil is never
	SpendLimit *credit.Amount // over the key's life; nil is none
	Spent      credit.Amount  // counts towards it, holds included
	Operations []string       // the only operations allowed; empty is all
	Signs      bool           // with the account's signing identities. Only KeySigns and Keys return it
	CreatedAt  time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time // to the minute
	// Grant marks the key of an application that a user has authorised: its secret is never returned, and Grants has
	// the details.
	Grant bool
}

// NewKey describes a key to be made.
type NewKey struct {
	AccountID, Name string
	Test            bool
	ExpiresAt       *time.Time
	SpendLimit      *credit.Amount
	Operations      []string
	Signs           bool // with the account's signing identities
}

type keyRow struct {
	bun.BaseModel `bun:"table:keys,alias:k"`

	ID         string `bun:",pk"`
	AccountID  string
	Name       string
	Prefix     string
	Hash       []byte
	Test       bool
	ExpiresAt  *int64
	SpendLimit *credit.Amount
	Spent      credit.Amount
	Operations string // separated by commas
	CreatedAt  int64
	RevokedAt  *int64
	LastUsedAt *int64
	Signs      bool `bun:",scanonly"`
}

// signingKeyRow marks a key that may use the signing identities of its account.
type signingKeyRow struct {
	bun.BaseModel `bun:"table:signing_keys,alias:sk"`

	KeyID     string `bun:",pk"`
	AccountID string
}

func (r *keyRow) key() Key {
	k := Key{
		ID:         r.ID,
		AccountID:  r.AccountID,
		Name:       r.Name,
		Prefix:     r.Prefix,
		Test:       r.Test,
		ExpiresAt:  fromMicrosPtr(r.ExpiresAt),
		SpendLimit: r.SpendLimit,
		Spent:      r.Spent,
		CreatedAt:  fromMicros(r.CreatedAt),
		RevokedAt:  fromMicrosPtr(r.RevokedAt),
		LastUsedAt: fromMicrosPtr(r.LastUsedAt),
		Grant:      r.Prefix == grantMark,
		Signs:      r.Signs,
	}

	if r.Operations != "" {
		k.Operations = strings.Split(r.Operations, ",")
	}
	return k
}

// CreateKey makes a key and returns it with its secret, "pdf_live_" or
// "pdf_test_" and 40 random characters, which is not stored and cannot be shown
// again. It returns ErrNotFound for an unknown account.
func (s *Store) CreateKey(ctx context.Context, n NewKey) (Key, string, error) {
	if err := n.check(); err != nil {
		return Key{}, "", fmt.Errorf("create key: %w", err)
	}

	row, secret := s.newRow(n)
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		known, err := tx.NewSelect().Model((*accountRow)(nil)).Where("id = ?", n.AccountID).Exists(ctx)
		if err != nil {
			return err
		}
		if !known {
			return ErrNotFound
		}

		if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
			return err
		}
		if n.Signs {
			_, err = tx.NewInsert().Model(&signingKeyRow{KeyID: row.ID, AccountID: row.AccountID}).Exec(ctx)
		}
		return err
	})
	if err != nil {
		return Key{}, "", fmt.Errorf("create key: %w", err)
	}

	return row.key(), secret, nil
}

// newRow is a key that is not stored yet, with its secret.
func (s *Store) newRow(n NewKey) (*keyRow, string) {
	prefix := LivePrefix
	if n.Test {
		prefix = TestPrefix
	}

	secret := newSecret(prefix)
	return &keyRow{
		ID:         s.NewID("key"),
		AccountID:  n.AccountID,
		Name:       clean(n.Name, 200),
		Prefix:     secret[:shownChars],
		Hash:       hashSecret(secret),
		Test:       n.Test,
		ExpiresAt:  toMicrosPtr(n.ExpiresAt),
		SpendLimit: n.SpendLimit,
		Operations: strings.Join(n.Operations, ","),
		Signs:      n.Signs,
		CreatedAt:  toMicros(s.now()),
	}, secret
}

func (n NewKey) check() error {
	if l := n.SpendLimit; l != nil && (*l < 0 || *l > maxAmount) {
		return fmt.Errorf("the spending limit must be between 0 and %s; got %s", maxAmount, *l)
	}
	for _, op := range n.Operations {
		if op == "" || strings.Contains(op, ",") {
			return errors.New("the name of an operation must not be empty or hold a comma")
		}
	}
	return nil
}

// Keys returns the account's keys, the oldest first, including revoked ones and those of grants.
func (s *Store) Keys(ctx context.Context, accountID string) ([]Key, error) {
	var rows []keyRow
	err := s.read.NewSelect().Model(&rows).ColumnExpr("k.*").
		ColumnExpr("EXISTS (SELECT 1 FROM signing_keys WHERE key_id = k.id) AS signs").
		Where("account_id = ?", accountID).Order("created_at", "id").Scan(ctx)
	return converted(rows, (*keyRow).key), wrapped("read keys", err)
}

// KeySigns reports whether a key may use the signing identities of its account.
func (s *Store) KeySigns(ctx context.Context, keyID string) (bool, error) {
	signs, err := s.read.NewSelect().Model((*signingKeyRow)(nil)).Where("key_id = ?", keyID).Exists(ctx)
	return signs, wrapped("read signing key", err)
}

// RevokeKey ends a key permanently. Revoking it again changes nothing. It returns ErrNotFound if the account has no
// such key.
func (s *Store) RevokeKey(ctx context.Context, accountID, keyID string) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewRaw(`UPDATE keys SET revoked_at = COALESCE(revoked_at, ?)
			WHERE id = ? AND account_id = ?`,
			toMicros(s.now()), keyID, accountID).Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
	return wrapped("revoke key", err)
}

// authenticate is the single query of authentication. It looks up the hash, so its timing reveals nothing about the
// secret. keyByID finds a key that was authenticated before.
var (
	authenticate = keysAndAccounts + " WHERE k.hash = $1"
	keyByID      = keysAndAccounts + " WHERE k.id = $1 AND k.account_id = $2 AND k.revoked_at IS NULL"

	keysAndAccounts = "SELECT " + keysTable.columns("k") + ", " + accountsTable.columns("a") +
		" FROM keys AS k JOIN accounts AS a ON a.id = k.account_id"
)

// KeyBySecret returns the key with the secret, and its account, in one query. It returns ErrNotFound for an unknown
// or revoked key; with a revoked key, the key and the account are returned too, for the request log. An expired key
// and a suspended account are returned without an error: the caller reports that to their owner.
func (s *Store) KeyBySecret(ctx context.Context, secret string) (Key, Account, error) {
	key, account, err := s.keyAndAccount(ctx, authenticate, hashSecret(secret))
	if err != nil {
		return Key{}, Account{}, err
	}
	if key.RevokedAt != nil {
		return key, account, fmt.Errorf("read key: %w", ErrNotFound)
	}
	noteUse(s.keyUses, key, s.now())
	return key, account, nil
}

// noteUse has it written down that a key was used.
func noteUse(uses chan<- string, key Key, now time.Time) {
	if key.LastUsedAt == nil || now.Sub(*key.LastUsedAt) >= keyUseEvery {
		select {
		case uses <- key.ID:
		default: // The queue is full; the key's next use comes here again.
		}
	}
}

// KeyByID returns a key of an account, and the account, as KeyBySecret does. It is for data that a key has created,
// and does not count as a use of the key.
func (s *Store) KeyByID(ctx context.Context, accountID, keyID string) (Key, Account, error) {
	return s.keyAndAccount(ctx, keyByID, keyID, accountID)
}

func (s *Store) keyAndAccount(ctx context.Context, query string, args ...any) (Key, Account, error) {
	var row keyRow
	var account accountRow
	found := append(keysTable.pointers(&row), accountsTable.pointers(&account)...)
	if err := s.readRow(ctx, found, query, args...); err != nil {
		return Key{}, Account{}, fmt.Errorf("read key: %w", notFound(err))
	}
	return row.key(), account.account(s.now()), nil
}

// recordKeyUses writes the times of last use behind the requests' backs, at
// most once a minute and key, until ctx ends.
func (s *Store) recordKeyUses(ctx context.Context) {
	recorded := make(map[string]time.Time)

	for {
		select {
		case <-ctx.Done():
			return
		case id := <-s.keyUses:
			now := s.now()
			if now.Sub(recorded[id]) < keyUseEvery {
				continue
			}

			if len(recorded) >= keyUseMemory {
				clear(recorded)
			}
			recorded[id] = now

			if err := s.recordKeyUse(ctx, id, now); err != nil && ctx.Err() == nil {
				s.log.Warn("record key use failed", "key", id, "error", err)
			}
		}
	}
}

func (s *Store) recordKeyUse(ctx context.Context, id string, now time.Time) error {
	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		// Another process may have recorded a later use.
		_, err := tx.NewRaw(`UPDATE keys SET last_used_at = ?0
			WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?0)`,
			toMicros(now), id).Exec(ctx)
		return err
	})
}
