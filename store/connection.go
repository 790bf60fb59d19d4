package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// MaxConnections is the maximum number of connections of an account.
const MaxConnections = 20

// Connection is a bucket or a file server of a customer, to which results are sent. The caller seals its secret; the
// store cannot read it.
type Connection struct {
	ID        string // conn_…
	AccountID string
	// Name is unique in the account.
	Name string
	Kind string
	// Settings is JSON without secrets, whose shape depends on the kind.
	Settings string
	Secret   []byte
	// HostKey is the fingerprint of the server's key; empty if it is not known yet, or the kind has none.
	HostKey   string
	CreatedAt time.Time
}

type connectionRow struct {
	bun.BaseModel `bun:"table:connections,alias:cn"`

	ID        string `bun:",pk"`
	AccountID string
	Name      string
	Kind      string
	Settings  string
	Secret    []byte
	HostKey   string
	CreatedAt int64
}

func (r *connectionRow) connection() Connection {
	return Connection{
		ID:        r.ID,
		AccountID: r.AccountID,
		Name:      r.Name,
		Kind:      r.Kind,
		Settings:  r.Settings,
		Secret:    r.Secret,
		HostKey:   r.HostKey,
		CreatedAt: fromMicros(r.CreatedAt),
	}
}

// CreateConnection adds a connection, whose ID is made beforehand, because the secret is encrypted for it. It returns
// ErrTooManyConnections when the account has MaxConnections already, ErrExists when one of them has the name, and
// ErrNotFound for an unknown account.
func (s *Store) CreateConnection(ctx context.Context, c Connection) (Connection, error) {
	row := connectionRow{
		ID:        c.ID,
		AccountID: c.AccountID,
		Name:      c.Name,
		Kind:      c.Kind,
		Settings:  c.Settings,
		Secret:    c.Secret,
		HostKey:   c.HostKey,
		CreatedAt: toMicros(s.now()),
	}

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if err := s.lockAccount(ctx, tx, c.AccountID); err != nil {
			return err
		}

		others, err := otherNames(ctx, tx, (*connectionRow)(nil), c.AccountID, c.ID, c.Name)
		if err != nil {
			return err
		}
		if others >= MaxConnections {
			return ErrTooManyConnections
		}

		_, err = tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	if err != nil {
		return Connection{}, fmt.Errorf("create connection: %w", err)
	}

	return row.connection(), nil
}

// UpdateConnection stores the name, the settings, the secret and the host key of an account's connection, which were
// read before. It returns ErrExists when another one has the name, and ErrNotFound if the connection was changed or
// deleted meanwhile.
func (s *Store) UpdateConnection(ctx context.Context, before, c Connection) error {
	return s.update(ctx, "update connection", func(ctx context.Context, tx txn) error {
		if err := s.lockAccount(ctx, tx, c.AccountID); err != nil {
			return err
		}
		if _, err := otherNames(ctx, tx, (*connectionRow)(nil), c.AccountID, c.ID, c.Name); err != nil {
			return err
		}

		known, err := changed(tx.NewUpdate().Model((*connectionRow)(nil)).Set("name = ?", c.Name).
			Set("settings = ?", c.Settings).Set("secret = ?", c.Secret).Set("host_key = ?", c.HostKey).
			Where("id = ? AND account_id = ?", c.ID, c.AccountID).
			Where("name = ? AND settings = ? AND secret = ? AND host_key = ?",
				before.Name, before.Settings, before.Secret, before.HostKey).Exec(ctx))
		if err == nil && !known {
			err = ErrNotFound
		}
		return err
	})
}

// Connections returns the account's connections, the oldest first.
func (s *Store) Connections(ctx context.Context, accountID string) ([]Connection, error) {
	var rows []connectionRow
	err := s.read.NewSelect().Model(&rows).Where("account_id = ?", accountID).Order("created_at", "id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read connections: %w", err)
	}

	list := make([]Connection, len(rows))
	for i := range rows {
		list[i] = rows[i].connection()
	}
	return list, nil
}

// Connection returns the account's connection with the ID. It returns ErrNotFound for an unknown ID and another
// account's.
func (s *Store) Connection(ctx context.Context, accountID, id string) (Connection, error) {
	var row connectionRow
	if !storable(id) {
		return Connection{}, fmt.Errorf("read connection: %w", ErrNotFound)
	}
	err := s.read.NewSelect().Model(&row).Where("id = ? AND account_id = ?", id, accountID).Scan(ctx)
	if err != nil {
		return Connection{}, fmt.Errorf("read connection: %w", notFound(err))
	}
	return row.connection(), nil
}

// LearnHostKey stores the key of the server of a connection, unless it has one already, or another server.
func (s *Store) LearnHostKey(ctx context.Context, c Connection, hostKey string) error {
	return s.update(ctx, "learn host key", func(ctx context.Context, tx txn) error {
		_, err := tx.NewUpdate().Model((*connectionRow)(nil)).Set("host_key = ?", hostKey).
			Where("id = ? AND account_id = ? AND host_key = '' AND settings = ?", c.ID, c.AccountID, c.Settings).
			Exec(ctx)
		return err
	})
}

// DeleteConnection deletes a connection and its secret. It returns ErrNotFound as Connection does.
func (s *Store) DeleteConnection(ctx context.Context, accountID, id string) error {
	return s.deleteOwned(ctx, "connection", (*connectionRow)(nil), accountID, id)
}
