package store

import (
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
	Size              int64 // in bytes; 0 if the previous release delivered it
	StatusCode        int   // 0 without one
	Attempts          int
	At                time.Time
}

// deliveredInsert writes a delivery, or that of another try of the same job.
const deliveredInsert = `INSERT INTO delivered (file_id, account_id, kind, host, connection_id, object_key, size, status_code, attempts, delivered_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (file_id) DO UPDATE SET status_code = excluded.status_code, size = excluded.size, attempts = excluded.attempts, delivered_at = excluded.delivered_at`

// AddDelivered stores the delivery of a result, before its call ends.
func (s *Store) AddDelivered(ctx context.Context, d Delivered) error {
	return wrapped("add delivered", s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(deliveredInsert, d.FileID, d.AccountID, d.Kind, d.Host, d.ConnectionID, d.Key, d.Size, d.StatusCode, d.Attempts, toMicros(d.At)).Exec(ctx)
		return err
	}))
}

// Delivered returns the delivery of a result, or ErrNotFound if its call named no destination. It is stored for
// JobRetention.
func (s *Store) Delivered(ctx context.Context, fileID string) (Delivered, error) {
	d := Delivered{FileID: fileID}
	var at int64
	err := s.read.NewRaw("SELECT account_id, kind, host, connection_id, object_key, size, status_code, attempts, delivered_at FROM delivered WHERE file_id = ?", fileID).
		Scan(ctx, &d.AccountID, &d.Kind, &d.Host, &d.ConnectionID, &d.Key, &d.Size, &d.StatusCode, &d.Attempts, &at)
	if err != nil {
		return Delivered{}, fmt.Errorf("read delivered: %w", notFound(err))
	}
	d.At = fromMicros(at)
	return d, nil
}
