package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"relaypdf/api/op"
	"relaypdf/store"
)

// fileLifetime is how long a stored result can be downloaded.
const fileLifetime = 24 * time.Hour

// putFile writes an outcome's body to the blobs and returns the row that
// points to it, which the caller stores.
func (a *API) putFile(ctx context.Context, outcome *Outcome) (*store.File, error) {
	key := store.ResultKey(outcome.CallID, outcome.try)
	size, err := a.blobs.Put(ctx, key, outcome.Body.Open())
	if err != nil {
		return nil, &Error{Code: StorageUnavailable, cause: err}
	}
	now := a.now()
	return &store.File{
		ID: outcome.ResultID, CallID: outcome.CallID, Filename: outcome.Filename, ContentType: outcome.ContentType,
		Size: size, BlobKey: key, CreatedAt: now, ExpiresAt: now.Add(fileLifetime),
	}, nil
}

// keep stores the result of a settled call whose client could not be reached:
// it was paid for, and waits a day for its owner.
func (a *API) keep(ctx context.Context, outcome *Outcome) {
	if outcome.File != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	file, err := a.putFile(ctx, outcome)
	if err == nil {
		err = a.store.AddFile(ctx, outcome.CallID, *file)
	}
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelError, "undelivered result not kept", slog.String("call", outcome.CallID), slog.Any("error", err))
	}
}

// dropBlob deletes the blob of a call that failed to settle. When it cannot be
// told whether the settlement was written, the blob stays: a document without
// an owner costs less than an owner without a document.
func (a *API) dropBlob(ctx context.Context, outcome *Outcome) {
	call, err := a.store.Call(ctx, outcome.CallID)
	if err == nil && call.Status == store.CallFailed {
		err = a.blobs.Delete(ctx, outcome.File.BlobKey)
	}
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "blob not deleted", slog.String("call", outcome.CallID), slog.Any("error", err))
	}
}

// replay answers with the stored result of an earlier call.
func (c *paidCall) replay(ctx context.Context, callID string) error {
	call, err := c.store.Call(ctx, callID)
	if err != nil {
		return err
	}
	if call.Mode == op.Async {
		c.outcome = &Outcome{CallID: call.ID, ResultID: call.ResultID, Mode: call.Mode, Replayed: true}
		return errReplayed
	}
	file, err := c.store.PublicFile(ctx, call.ResultID)
	if errors.Is(err, store.ErrNotFound) {
		return invalid("Idempotency-Key", "belongs to a call whose result has been deleted; take a new key")
	}
	if err != nil {
		return err
	}
	c.outcome = &Outcome{
		CallID: call.ID, ResultID: call.ResultID, Mode: call.Mode, Replayed: true,
		Filename: file.Filename, ContentType: file.ContentType, File: &file,
	}
	if call.Mode == op.Binary {
		if c.outcome.Body, err = c.openBlob(ctx, file.BlobKey); err != nil {
			return err
		}
	}
	return errReplayed
}

// textBody is a short result in memory.
type textBody []byte

func (b textBody) Size() int64         { return int64(len(b)) }
func (b textBody) Open() io.ReadSeeker { return bytes.NewReader(b) }
func (b textBody) Close() error        { return nil }

// blobBody is a stored result as a Body.
type blobBody struct {
	content store.BlobContent
	size    int64
}

func (a *API) openBlob(ctx context.Context, key string) (*blobBody, error) {
	content, size, err := a.blobs.Open(ctx, key)
	if errors.Is(err, store.ErrNoBlob) {
		return nil, a.missingBlob(ctx, key, err)
	}
	if err != nil {
		return nil, &Error{Code: StorageUnavailable, cause: err}
	}
	return &blobBody{content, size}, nil
}

// missingBlob tells a blob whose file was deleted just now from one that is lost.
func (a *API) missingBlob(ctx context.Context, key string, cause error) error {
	used, err := a.store.InUse(ctx, key)
	if err == nil && !used {
		return fmt.Errorf("%w: deleted meanwhile", store.ErrNotFound)
	}
	return &Error{Code: StorageUnavailable, cause: errors.Join(cause, err)}
}

func (b *blobBody) Size() int64         { return b.size }
func (b *blobBody) Open() io.ReadSeeker { return io.NewSectionReader(b.content, 0, b.size) }
func (b *blobBody) Close() error        { return b.content.Close() }

// claimPatience is how long a request waits for the one that holds its
// idempotency key: longer than any render may take.
const claimPatience = 70 * time.Second

// claimWait paces the looks at a claim that another request holds.
type claimWait struct {
	deadline time.Time
	pause    time.Duration
}

func newClaimWait() *claimWait {
	return &claimWait{deadline: time.Now().Add(claimPatience), pause: 20 * time.Millisecond}
}

// next waits for the next look. It returns rate_limited when patience ends.
func (w *claimWait) next(ctx context.Context) error {
	if time.Now().After(w.deadline) {
		return &Error{Code: RateLimited, Message: "Another request with this Idempotency-Key is still running.", RetryAfter: 5}
	}
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		w.pause = min(2*w.pause, 500*time.Millisecond)
		return nil
	}
}
