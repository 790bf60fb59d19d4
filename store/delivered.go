package store

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Delivered is the delivery of a result to the destination that its call named.
type Delivered struct {
	FileID, AccountID string
	// Kind is that of the destination, and Host its server.
	Kind, Host string
	// ConnectionID and Key are the connection, and the object or file in it; empty if there is none.
	ConnectionID, Key string
	StatusCode        int // 0 without one
	Attempts          int
	At                time.Time
}

// These write a delivery, or that of another try of the same job.
const (
	deliveredInsert = `INSERT INTO delivered (file_id, account_id, host, status_code, attempts, delivered_at)
	VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (file_id) DO UPDATE SET status_code = excluded.status_code, attempts = excluded.attempts,
	delivered_at = excluded.delivered_at`
	deliveredObjectInsert = `INSERT INTO delivered_objects (file_id, account_id, kind, connection_id, object_key, delivered_at)
	VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (file_id) DO UPDATE SET object_key = excluded.object_key, delivered_at = excluded.delivered_at`
)

// AddDelivered stores the delivery of a result, before its call ends.
func (s *Store) AddDelivered(ctx context.Context, d Delivered) error {
	return s.update(ctx, "add delivered", func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(deliveredInsert, d.FileID, d.AccountID, d.Host, d.StatusCode, d.Attempts, toMicros(d.At)).
			Exec(ctx)
		if err == nil && d.ConnectionID != "" {
			_, err = tx.NewRaw(deliveredObjectInsert, d.FileID, d.AccountID, d.Kind, d.ConnectionID, d.Key,
				toMicros(d.At)).Exec(ctx)
		}
		return err
	})
}

// Delivered returns the delivery of a result, or ErrNotFound if its call named no destination. It is stored for
// JobRetention.
func (s *Store) Delivered(ctx context.Context, fileID string) (Delivered, error) {
	d := Delivered{FileID: fileID}
	var at int64
	err := s.read.NewRaw(`SELECT d.account_id, d.host, d.status_code, d.attempts, d.delivered_at,
		COALESCE(o.kind, ''), COALESCE(o.connection_id, ''), COALESCE(o.object_key, '')
		FROM delivered d LEFT JOIN delivered_objects o ON o.file_id = d.file_id WHERE d.file_id = ?`, fileID).
		Scan(ctx, &d.AccountID, &d.Host, &d.StatusCode, &d.Attempts, &at, &d.Kind, &d.ConnectionID, &d.Key)
	if err != nil {
		return Delivered{}, fmt.Errorf("read delivered: %w", notFound(err))
	}

	d.Kind = cmp.Or(d.Kind, "url")
	d.At = fromMicros(at)
	return d, nil
}
