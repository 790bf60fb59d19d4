package call

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// replayClaim responds with the result of the call that holds the idempotency key. It returns nil while that
// call is running.
func (r *paidCall) replayClaim(ctx context.Context, claim store.Claim) error {
	switch {
	case !bytes.Equal(claim.BodyHash, r.digest):
		return wire.Invalid("Idempotency-Key", "was used for a different request in the last 24 hours. Use a new key")
	case claim.State == store.ClaimDone || r.call.Response == schema.Async:
		// A job's answer is ready as soon as it waits.
		return r.replay(ctx, claim.CallID)
	}
	return nil
}

// replayOr ends a request that would not run now, for example because a resource that it names is gone or its price is
// above a cap. If an earlier call has its idempotency key, the response is that call's; otherwise it is the cause. It
// returns nil if there is no cause.
func (r *paidCall) replayOr(ctx context.Context, cause error) error {
	if r.IdempotencyKey == "" || cause == nil {
		return cause
	}

	for wait := newClaimWait(); ; {
		claim, err := r.store.Claim(ctx, r.Caller.Account.ID, r.IdempotencyKey)
		if errors.Is(err, store.ErrNotFound) {
			return cause
		}
		if err != nil {
			return err
		}

		if err := r.replayClaim(ctx, claim); err != nil {
			return err
		}
		if err := wait.next(ctx); err != nil {
			return err
		}
	}
}

// replay responds with the stored result of an earlier call.
func (r *paidCall) replay(ctx context.Context, callID string) error {
	call, err := r.store.Call(ctx, callID)
	if err != nil {
		return err
	}

	if call.Mode == schema.Async {
		r.outcome = &Outcome{CallID: call.ID, ResultID: call.ResultID, Mode: call.Mode, Replayed: true}
		return errReplayed
	}

	file, err := r.store.PublicFile(ctx, call.ResultID)
	if errors.Is(err, store.ErrNotFound) {
		return wire.Invalid("Idempotency-Key",
			"belongs to a call whose result was deleted, or not stored. Use a new key")
	}
	if err != nil {
		return err
	}

	r.outcome = &Outcome{
		CallID: call.ID, ResultID: call.ResultID, Mode: call.Mode, Replayed: true,
		Filename: file.Filename, ContentType: file.ContentType, File: &file,
		Warnings: warningsOf(&file),
	}
	if r.call.DeliverTo != nil {
		if r.outcome.Delivered, err = r.Delivered(ctx, call.ResultID); err != nil {
			return err
		}
	}
	if call.Mode == schema.Binary {
		if r.outcome.Body, err = r.Files.Open(ctx, file.BlobKey); err != nil {
			return err
		}
	}

	return errReplayed
}

// claimPatience is the maximum time that a request waits for another request with the same idempotency key. It is
// longer than any render takes.
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
		return &wire.Error{
			Code:       wire.RateLimited,
			Message:    "A request with this Idempotency-Key is still running. Retry when it has finished.",
			RetryAfter: 5,
		}
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
