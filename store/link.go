package store

import (
	"context"
	"fmt"
	"time"
)

// ResultLife is the time for which a result is stored by default. Results that are stored longer count towards the
// quota of their account.
const ResultLife = 24 * time.Hour

// Link holds the settings of a result's URL: its expiry and its maximum number of downloads.
type Link struct {
	FileID, AccountID    string
	MaxDownloads         int64 // 0 is no maximum
	CreatedAt, ExpiresAt time.Time
}

// linkInsert writes a link, or the times of another try of the same job.
const linkInsert = `INSERT INTO links (file_id, account_id, max_downloads, downloads, created_at, expires_at)
	VALUES (?, ?, ?, 0, ?, ?)
	ON CONFLICT (file_id) DO UPDATE SET created_at = excluded.created_at, expires_at = excluded.expires_at`

// AddLink stores the link of a result. It must be stored before the result, which would be public without it.
func (s *Store) AddLink(ctx context.Context, l Link) error {
	return s.update(ctx, "add link", func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(linkInsert, l.FileID, l.AccountID, l.MaxDownloads, toMicros(l.CreatedAt),
			toMicros(l.ExpiresAt)).Exec(ctx)
		return err
	})
}

// TakeDownload counts a download of a result with a maximum, before the download begins. It returns ErrNotFound if the
// maximum is reached. No two processes take the same download.
func (s *Store) TakeDownload(ctx context.Context, fileID string) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		taken, err := changed(tx.NewRaw(`UPDATE links SET downloads = downloads + 1
			WHERE file_id = ? AND downloads < max_downloads`,
			fileID).Exec(ctx))
		if err == nil && !taken {
			err = ErrNotFound
		}
		return err
	})
	return wrapped("take download", err)
}

// LinkExpiry returns the time until which the result of a call was to be stored, after its file has gone, or
// ErrNotFound if the call asked for none.
func (s *Store) LinkExpiry(ctx context.Context, fileID string) (time.Time, error) {
	var at int64
	err := s.read.NewRaw("SELECT expires_at FROM links WHERE file_id = ?", fileID).Scan(ctx, &at)
	if err != nil {
		return time.Time{}, fmt.Errorf("read link: %w", notFound(err))
	}
	return fromMicros(at), nil
}
