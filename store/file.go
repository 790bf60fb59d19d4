package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// File is a stored result. Its id opens it without a key.
type File struct {
	ID          string // empty in a Settlement means the call's ResultID
	AccountID   string
	CallID      string
	Filename    string
	ContentType string
	Size        int64  // bytes
	BlobKey     string // where its bytes are
	Downloads   int64
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

type fileRow struct {
	bun.BaseModel `bun:"table:files,alias:f"`

	ID          string `bun:",pk"`
	AccountID   string
	CallID      *string
	Filename    string
	ContentType string
	Size        int64
	BlobKey     string
	Downloads   int64
	CreatedAt   int64
	ExpiresAt   int64
	DeletedAt   *int64
}

func (r *fileRow) file() File {
	f := File{
		ID: r.ID, AccountID: r.AccountID, Filename: r.Filename, ContentType: r.ContentType, Size: r.Size,
		BlobKey: r.BlobKey, Downloads: r.Downloads, CreatedAt: fromMicros(r.CreatedAt), ExpiresAt: fromMicros(r.ExpiresAt),
	}
	if r.CallID != nil {
		f.CallID = *r.CallID
	}
	return f
}

// AddFile keeps the result of a call that is settled already, because it did
// not reach its caller. Adding the same file again is harmless. It returns
// ErrNotFound for an unknown call and ErrCallEnded for one that is not done.
func (s *Store) AddFile(ctx context.Context, callID string, f File) error {
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var call callRow
		if err := tx.NewSelect().Model(&call).Where("id = ?", callID).Scan(ctx); err != nil {
			return notFound(err)
		}
		if call.Status != CallDone {
			return ErrCallEnded
		}
		return addFile(ctx, tx, &call, f, s.now())
	})
	if err != nil {
		return fmt.Errorf("add file: %w", err)
	}
	return nil
}

// addFile writes the row of a call's result, unless it is there already.
func addFile(ctx context.Context, tx bun.Tx, call *callRow, f File, now time.Time) error {
	if !validBlobKey(f.BlobKey) || f.Size < 0 || !f.ExpiresAt.After(now) {
		return errors.New("a file needs a blob key, a size and a time of expiry in the future")
	}
	if f.ID == "" {
		f.ID = call.ResultID
	}
	row := fileRow{
		ID: f.ID, AccountID: call.AccountID, CallID: &call.ID, Filename: clean(f.Filename, 1000),
		ContentType: clean(f.ContentType, 200), Size: f.Size, BlobKey: f.BlobKey,
		CreatedAt: toMicros(now), ExpiresAt: toMicros(f.ExpiresAt),
	}
	added, err := changed(tx.NewInsert().Model(&row).On("CONFLICT (id) DO NOTHING").Exec(ctx))
	if err != nil || added {
		return err
	}
	same, err := tx.NewSelect().Model((*fileRow)(nil)).Where("id = ? AND call_id = ?", f.ID, call.ID).Exists(ctx)
	if err == nil && !same {
		err = ErrExists
	}
	return err
}

// PublicFile returns the file with the id, which whoever knows it may download.
// It returns ErrNotFound when the file is missing, expired or deleted, or its
// account is suspended.
func (s *Store) PublicFile(ctx context.Context, id string) (File, error) {
	var row fileRow
	if !storable(id) {
		return File{}, fmt.Errorf("read file: %w", ErrNotFound)
	}
	err := s.read.NewSelect().Model(&row).Where("f.id = ? AND f.deleted_at IS NULL", id).
		Where("f.expires_at > ?", toMicros(s.now())).
		Where("EXISTS (SELECT 1 FROM accounts WHERE accounts.id = f.account_id AND NOT accounts.suspended)").Scan(ctx)
	if err != nil {
		return File{}, fmt.Errorf("read file: %w", notFound(err))
	}
	return row.file(), nil
}

// Files returns the account's files that have neither expired nor been deleted,
// the newest first, at most limit.
func (s *Store) Files(ctx context.Context, accountID string, limit int) ([]File, error) {
	var rows []fileRow
	err := s.read.NewSelect().Model(&rows).Where("account_id = ? AND deleted_at IS NULL", accountID).
		Where("expires_at > ?", toMicros(s.now())).Order("created_at DESC", "id").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read files: %w", err)
	}
	list := make([]File, len(rows))
	for i := range rows {
		list[i] = rows[i].file()
	}
	return list, nil
}

// CountDownload adds one to the file's downloads.
func (s *Store) CountDownload(ctx context.Context, id string) error {
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("UPDATE files SET downloads = downloads + 1 WHERE id = ?", id).Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("count download: %w", err)
	}
	return nil
}

// DeleteFile deletes a file of the account: from the commit on nobody can open
// it, then its bytes go. It returns ErrNotFound when the account has no such
// file, or not any more.
func (s *Store) DeleteFile(ctx context.Context, accountID, id string) error {
	if !storable(id) {
		return fmt.Errorf("delete file: %w", ErrNotFound)
	}
	now := toMicros(s.now())
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		ok, err := changed(tx.NewRaw(`UPDATE files SET deleted_at = ?0
			WHERE id = ?1 AND account_id = ?2 AND deleted_at IS NULL AND expires_at > ?0`, now, id, accountID).Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete file: %w", err)
	}
	// What fails from here on is done by DeleteExpiredFiles.
	if _, err := s.deleteFiles(ctx, 1, "id = ?", id); err != nil {
		return fmt.Errorf("delete file: %w", err)
	}
	return nil
}

// DeleteExpiredFiles removes the bytes and rows of at most limit files that
// have expired or been deleted, and returns the keys of the blobs it removed.
func (s *Store) DeleteExpiredFiles(ctx context.Context, limit int) ([]string, error) {
	keys, err := s.deleteFiles(ctx, limit, "expires_at <= ? OR deleted_at IS NOT NULL", toMicros(s.now()))
	if err != nil {
		return keys, fmt.Errorf("delete expired files: %w", err)
	}
	return keys, nil
}

// deleteFiles removes blobs first and rows after, so that a crash in between
// leaves a row to repeat with and not a blob that nobody knows of.
func (s *Store) deleteFiles(ctx context.Context, limit int, where string, args ...any) ([]string, error) {
	var rows []fileRow
	if err := s.read.NewSelect().Model(&rows).Where(where, args...).Order("expires_at").Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, err
	}
	var keys []string
	for _, row := range rows {
		if err := s.blobs.Delete(ctx, row.BlobKey); err != nil && !errors.Is(err, ErrNoBlob) {
			return keys, err
		}
		err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.NewDelete().Model((*fileRow)(nil)).Where("id = ?", row.ID).Exec(ctx)
			return err
		})
		if err != nil {
			return keys, err
		}
		keys = append(keys, row.BlobKey)
	}
	return keys, nil
}

// orphanAge is how old a blob without a row must be to be removed: a running
// call writes its blob before its row.
const orphanAge = 24 * time.Hour

// DeleteOrphanBlobs removes blobs older than a day that belong to no file, left
// by a process that died between writing them and settling, and returns how
// many it removed, at most limit.
func (s *Store) DeleteOrphanBlobs(ctx context.Context, limit int) (int, error) {
	removed := 0
	err := s.blobs.List(ctx, func(b Blob) error {
		if removed >= limit || time.Since(b.ModTime) < orphanAge {
			return nil
		}
		known, err := s.read.NewSelect().Model((*fileRow)(nil)).Where("blob_key = ?", b.Key).Exists(ctx)
		if err != nil || known {
			return err
		}
		removed++
		return s.blobs.Delete(ctx, b.Key)
	})
	if err != nil {
		return removed, fmt.Errorf("delete orphan blobs: %w", err)
	}
	return removed, nil
}
