package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/blob"
)

// File is a stored file: the result of a call, whose id opens it without a key,
// or an upload, which only its account can use.
type File struct {
	ID          string // empty in a Settlement means the call's ResultID
	AccountID   string
	CallID      string // empty: an upload
	KeyID       string // the key or grant that sent an upload; empty for results
	Filename    string
	ContentType string
	Size        int64  // bytes
	BlobKey     string // where its bytes are
	Downloads   int64
	CreatedAt   time.Time
	ExpiresAt   time.Time
	// Warnings are the warnings about the source of a result, as a JSON array; empty if there are none.
	Warnings string
	// MaxDownloads is the maximum number of downloads by the public URL of a result; 0 is none. LinkDownloads are those
	// that count towards it.
	MaxDownloads, LinkDownloads int64
}

type fileRow struct {
	bun.BaseModel `bun:"table:files,alias:f"`

	ID          string `bun:",pk"`
	AccountID   string
	CallID      *string
	KeyID       string
	Filename    string
	ContentType string
	Size        int64
	BlobKey     string
	Downloads   int64
	CreatedAt   int64
	ExpiresAt   int64
	DeletedAt   *int64
	Warnings    string
}

func (r *fileRow) file() File {
	f := File{
		ID:          r.ID,
		AccountID:   r.AccountID,
		KeyID:       r.KeyID,
		Filename:    r.Filename,
		ContentType: r.ContentType,
		Size:        r.Size,
		BlobKey:     r.BlobKey,
		Downloads:   r.Downloads,
		CreatedAt:   fromMicros(r.CreatedAt),
		ExpiresAt:   fromMicros(r.ExpiresAt),
		Warnings:    r.Warnings,
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
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		var call callRow
		if err := tx.NewSelect().Model(&call).Where("id = ?", callID).Scan(ctx); err != nil {
			return notFound(err)
		}
		if call.Status != CallDone {
			return ErrCallEnded
		}

		return s.addFile(ctx, tx, &call, f, s.now())
	})
	return wrapped("add file", err)
}

func (f File) check(now time.Time) error {
	if !blob.ValidKey(f.BlobKey) || f.Size < 0 || !f.ExpiresAt.After(now) {
		return errors.New("a file needs a blob key, a size and a time of expiry in the future")
	}
	return nil
}

// fileInsert keeps a file, unless there is one with its id.
var fileInsert = filesTable.insert() + " ON CONFLICT (id) DO NOTHING"

// maxWarnings limits the warnings of a file, in bytes. Callers must stay below it: truncated JSON is invalid.
const maxWarnings = 256 << 10

// newFileRow describes a file that is stored from now on.
func newFileRow(f File, accountID string, callID *string, now time.Time) *fileRow {
	return &fileRow{
		ID:          f.ID,
		AccountID:   accountID,
		CallID:      callID,
		KeyID:       f.KeyID,
		Filename:    clean(f.Filename, 1000),
		ContentType: clean(f.ContentType, 200),
		Size:        f.Size,
		BlobKey:     f.BlobKey,
		CreatedAt:   toMicros(now),
		ExpiresAt:   toMicros(f.ExpiresAt),
		Warnings:    clean(f.Warnings, maxWarnings),
	}
}

// addFile writes the row of a call's result, unless it is there already.
func (s *Store) addFile(ctx context.Context, tx txn, call *callRow, f File, now time.Time) error {
	if err := f.check(now); err != nil {
		return err
	}
	if f.ID == "" {
		f.ID = call.ResultID
	}

	added, err := changed(s.exec(ctx, tx, fileInsert,
		filesTable.values(newFileRow(f, call.AccountID, &call.ID, now))...))
	if err != nil || added {
		return err
	}

	same, err := tx.NewSelect().Model((*fileRow)(nil)).Where("id = ? AND call_id = ?", f.ID, call.ID).Exists(ctx)
	if err == nil && !same {
		err = ErrExists
	}
	return err
}

// publicOnly is the condition of files that any holder of their ID may download.
const publicOnly = `(l.max_downloads IS NULL OR l.max_downloads = 0 OR l.downloads < l.max_downloads)
	AND f.call_id IS NOT NULL AND EXISTS (SELECT 1 FROM accounts
	WHERE accounts.id = f.account_id AND NOT accounts.suspended)`

// PublicFile returns the result with the ID, which any holder of the ID may download. It returns ErrNotFound if the
// file is missing, expired, deleted, an upload or downloaded as often as its call asked for, or if its account is
// suspended.
func (s *Store) PublicFile(ctx context.Context, id string) (File, error) {
	return s.liveFile(ctx, id, publicOnly)
}

// madeBy is the condition of files that a key made: it sent the upload, or its call
// has the result.
const madeBy = "(f.key_id = ? OR EXISTS (SELECT 1 FROM calls WHERE calls.id = f.call_id AND calls.key_id = ?))"

// AccountFile returns a file of the account, an upload or a result. It returns
// ErrNotFound when the account has no such file, or not any more.
func (s *Store) AccountFile(ctx context.Context, accountID, id string) (File, error) {
	return s.liveFile(ctx, id, "f.account_id = ?", accountID)
}

// liveQuery finds a file that has neither expired nor been deleted, with its link. Its parameters are the ID and now.
var liveQuery = "SELECT " + filesTable.columns("f") + `, COALESCE(l.max_downloads, 0), COALESCE(l.downloads, 0)
	FROM files AS f LEFT JOIN links AS l ON l.file_id = f.id
	WHERE f.id = ? AND f.deleted_at IS NULL AND f.expires_at > ? AND `

// liveFile returns a file that has neither expired nor been deleted.
func (s *Store) liveFile(ctx context.Context, id, where string, args ...any) (File, error) {
	if !storable(id) {
		return File{}, fmt.Errorf("read file: %w", ErrNotFound)
	}

	var row fileRow
	var maxDownloads, downloads int64
	err := s.read.NewRaw(liveQuery+where, append([]any{id, toMicros(s.now())}, args...)...).
		Scan(ctx, append(filesTable.pointers(&row), &maxDownloads, &downloads)...)
	if err != nil {
		return File{}, fmt.Errorf("read file: %w", notFound(err))
	}

	file := row.file()
	file.MaxDownloads = maxDownloads
	file.LinkDownloads = downloads
	return file, nil
}
