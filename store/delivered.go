package store

import (
	"context"
	"fmt"
	"time"
)

// Delivered is the delivery of a result to the destination that its call named.
type Delivered struct {
	FileID, AccountID    string
	Host                 string
	StatusCode, Attempts int
	At                   time.Time
}

// deliveredInsert writes a delivery, or that of another try of the same job.
const deliveredInsert = `INSERT INTO delivered (file_id, account_id, host, status_code, attempts, delivered_at) VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (file_id) DO UPDATE SET status_code = excluded.status_code, attempts = excluded.attempts, delivered_at = excluded.delivered_at`

// AddDelivered stores the delivery of a result, before its call ends.
func (s *Store) AddDelivered(ctx context.Context, d Delivered) error {
	return wrapped("add delivered", s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(deliveredInsert, d.FileID, d.AccountID, d.Host, d.StatusCode, d.Attempts, toMicros(d.At)).Exec(ctx)
		return err
	}))
}

// Delivered returns the delivery of a result, or ErrNotFound if its call named no destination. It is stored for
// JobRetention.
func (s *Store) Delivered(ctx context.Context, fileID string) (Delivered, error) {
	d := Delivered{FileID: fileID}
	var at int64
	err := s.read.NewRaw("SELECT account_id, host, status_code, attempts, delivered_at FROM delivered WHERE file_id = ?", fileID).
		Scan(ctx, &d.AccountID, &d.Host, &d.StatusCode, &d.Attempts, &at)
	if err != nil {
		return Delivered{}, fmt.Errorf("read delivered: %w", notFound(err))
	}
	d.At = fromMicros(at)
	return d, nil
}
