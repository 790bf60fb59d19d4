package call

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
)

// FileLifetime is the period in which an upload, or a result without another lifetime, is stored.
const FileLifetime = store.ResultLife

// Files keeps results.
type Files struct {
	store *store.Store
	blobs blob.Store
	log   *slog.Logger
	now   func() time.Time
}

// put writes an outcome's body to the blobs and returns the row that
// points to it, which the caller stores.
func (f Files) put(ctx context.Context, outcome *Outcome) (*store.File, error) {
	key := store.ResultKey(outcome.CallID, outcome.try)
	size, err := f.blobs.Put(ctx, key, outcome.Body.Open())
	if err != nil {
		return nil, &wire.Error{Code: wire.StorageUnavailable, Cause: err}
	}

	warnings, err := warningsText(outcome.Warnings)
	if err != nil {
		return nil, err
	}

	now := f.now()
	return &store.File{
		ID: outcome.ResultID, CallID: outcome.CallID, Filename: outcome.Filename, ContentType: outcome.ContentType,
		Size: size, BlobKey: key, CreatedAt: now, ExpiresAt: now.Add(FileLifetime), Warnings: warnings,
	}, nil
}

// link stores what the call asks of the URL of its result, before the result is public.
func (c *paidCall) link(ctx context.Context, file *store.File) error {
	if !c.call.LimitsLink() {
		return nil
	}
	file.ExpiresAt = file.CreatedAt.Add(c.lifetime())
	file.MaxDownloads = int64(c.call.MaxDownloads)
	return c.store.AddLink(ctx, store.Link{
		FileID: file.ID, AccountID: c.Caller.Account.ID, MaxDownloads: file.MaxDownloads, CreatedAt: file.CreatedAt,
		ExpiresAt: file.ExpiresAt,
	})
}

// lifetime is the time for which the result is stored.
func (c *paidCall) lifetime() time.Duration {
	return cmp.Or(time.Duration(c.call.ExpiresIn)*time.Second, FileLifetime)
}

// checkLink refuses a long lifetime to accounts that have not paid, and to those that store too much.
func (c *paidCall) checkLink(ctx context.Context) error {
	const field = "expiresIn"
	limit := int64(FileLifetime / time.Second)

	switch {
	case c.lifetime() <= FileLifetime:
		return nil
	case c.test():
		return schema.FieldErrors{{Field: field, Message: fmt.Sprintf("must be at most %d with a test key", limit)}}
	case c.billing && c.Caller.Account.Plan != store.PlanPaid:
		return &wire.Error{
			Code:    wire.PaymentRequired,
			Message: fmt.Sprintf("expiresIn of more than %d seconds requires a wallet with a payment. Add funds, or send at most %d.", limit, limit),
			Details: []wire.Detail{{Field: field, Message: fmt.Sprintf("must be at most %d without a payment", limit)}},
		}
	}

	err := c.store.CheckQuota(ctx, c.Caller.Account.ID)
	if refusal := quotaError(err); refusal != nil {
		refusal.Details[0].Field = field
		refusal.Cause = err
		return refusal
	}
	return err
}

// warningsText returns warnings in the form in which they are stored with a file.
func warningsText(warnings []wire.Warning) (string, error) {
	if len(warnings) == 0 {
		return "", nil
	}
	text, err := json.Marshal(warnings)
	return string(text), err
}

// warningsOf reads the warnings of a stored file.
func warningsOf(file *store.File) (warnings []wire.Warning) {
	if file.Warnings == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(file.Warnings), &warnings); err != nil {
		return nil // never stored
	}
	return warnings
}

// storeUndelivered stores the result of a settled call whose client could not be reached:
// it was paid for, and waits a day for its owner.
func (f Files) storeUndelivered(ctx context.Context, outcome *Outcome) {
	if outcome.File != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()

	file, err := f.put(ctx, outcome)
	if err == nil {
		err = f.store.AddFile(ctx, outcome.CallID, *file)
	}
	if err != nil {
		f.log.LogAttrs(ctx, slog.LevelError, "keep undelivered result failed", slog.String("call", outcome.CallID),
			slog.Any("error", err))
	}
}

// drop deletes the blob of a call that failed to settle. If it is unknown whether the settlement was written, the
// blob stays: a document without an owner costs less than an owner without a document.
func (f Files) drop(ctx context.Context, outcome *Outcome) {
	call, err := f.store.Call(ctx, outcome.CallID)
	if err == nil && call.Status == store.CallFailed {
		err = f.blobs.Delete(ctx, outcome.File.BlobKey)
	}
	if err != nil {
		f.log.LogAttrs(ctx, slog.LevelWarn, "delete blob failed", slog.String("call", outcome.CallID),
			slog.Any("error", err))
	}
}

// stored opens a file of the call's account. A job gets the file that it pinned, even if the file has expired or
// been deleted since.
func (c *paidCall) stored(ctx context.Context, id string) (schema.Body, error) {
	var file store.File
	var err error
	if c.job != nil {
		file, err = c.store.PinnedFile(ctx, c.id, id)
	} else {
		file, err = c.store.AccountFile(ctx, c.Caller.Account.ID, id)
	}

	if err != nil {
		return nil, err
	}
	return c.Files.Open(ctx, file.BlobKey)
}

// unpinned names the fields of a job's request whose files cannot be read.
func (c *paidCall) unpinned(missing *store.PinError) error {
	var faults schema.FieldErrors
	for _, file := range c.call.StoredFiles() {
		if slices.Contains(missing.FileIDs, file.ID) {
			faults.Add(file.Field, operation.Unreadable)
		}
	}
	return faults
}

// textBody is a short result in memory.
type textBody []byte

func (b textBody) Size() int64         { return int64(len(b)) }
func (b textBody) Open() io.ReadSeeker { return bytes.NewReader(b) }
func (b textBody) Close() error        { return nil }

// Blob is a stored result as a Body.
type Blob struct {
	Content blob.Content
	size    int64
}

// Open opens a stored result. The caller closes it.
func (f Files) Open(ctx context.Context, key string) (*Blob, error) {
	content, size, err := f.blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrMissing) {
		return nil, f.missing(ctx, key, err)
	}
	if err != nil {
		return nil, &wire.Error{Code: wire.StorageUnavailable, Cause: err}
	}
	return &Blob{content, size}, nil
}

// missing distinguishes a blob whose file was deleted just now from a lost blob.
func (f Files) missing(ctx context.Context, key string, cause error) error {
	used, err := f.store.InUse(ctx, []string{key})
	if err == nil && !used[key] {
		return fmt.Errorf("%w: deleted meanwhile", store.ErrNotFound)
	}
	return &wire.Error{Code: wire.StorageUnavailable, Cause: errors.Join(cause, err)}
}

// Verify checks the size of a stored result and reads its beginning, which the store compares with its checksums: all
// of a small result, before the first byte is sent. The error is storage_unavailable.
func (b *Blob) Verify(size int64) error {
	if b.size != size {
		err := fmt.Errorf("%w: it has %d bytes instead of %d", blob.ErrDamaged, b.size, size)
		return &wire.Error{Code: wire.StorageUnavailable, Cause: err}
	}

	if size == 0 {
		return nil
	}
	if _, err := b.Content.ReadAt(make([]byte, 1), 0); err != nil {
		return &wire.Error{Code: wire.StorageUnavailable, Cause: err}
	}

	return nil
}

// Size is the number of its bytes.
func (b *Blob) Size() int64 { return b.size }

// Open reads it from the start.
func (b *Blob) Open() io.ReadSeeker { return io.NewSectionReader(b.Content, 0, b.size) }

// Close releases the resources of reading; the stored bytes stay.
func (b *Blob) Close() error { return b.Content.Close() }
