package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"relaypdf/api/op"
	"relaypdf/store"
	"relaypdf/store/credit"
)

// Request is what a door hands to the pipeline: one request for an operation.
type Request struct {
	Operation *op.Operation[*Env]
	// Secret is the API key as the client sent it, ClientIP where it came from.
	Secret, ClientIP string
	// Body is the input, one JSON object.
	Body io.Reader
	// IdempotencyKey is empty when the client sent none.
	IdempotencyKey string
	// MaxCharge is the most that the client agreed to pay, or nil.
	MaxCharge *credit.Amount
	RequestID string
	// Faults are what is wrong with the request beside its body. They are told
	// together with the body's, to a caller who has shown a key.
	Faults op.Faults
}

// Outcome is what a successful call came to. Its content is in Body, or in the
// stored File, or in both.
type Outcome struct {
	CallID   string
	ResultID string
	Mode     string
	Charged  credit.Amount
	// Replayed marks the answer of an earlier call with the same Idempotency-Key.
	Replayed    bool
	Filename    string
	ContentType string
	Body        op.Body
	File        *store.File
}

// steps is the order in which every paid call is carried out. A failure in any
// of them ends the call; one after hold also releases what was held.
var steps = []struct {
	name string
	do   func(*paidCall, context.Context) error
}{
	{"authenticate", (*paidCall).authenticate},
	{"limit", (*paidCall).limit},
	{"decode", (*paidCall).decode},
	{"authorize", (*paidCall).authorize},
	{"quote", (*paidCall).quoteCall},
	{"admit", (*paidCall).admit},
	{"hold", (*paidCall).hold},
	{"run", (*paidCall).run},
	{"settle", (*paidCall).settle},
}

// errReplayed leaves the steps early: the outcome is an earlier call's.
var errReplayed = errors.New("replayed")

// Settlement must be attempted although the client has gone, but not for ever.
const afterwardsTimeout = 20 * time.Second

// paidCall is one request on its way through the steps, each of which fills in
// what the next ones need.
type paidCall struct {
	*API
	Request

	verdict Verdict
	caller  Caller
	call    *op.Call[*Env]
	id      string
	result  string // the result's id
	quote   credit.Amount
	held    bool
	started time.Time
	outcome *Outcome
}

// Do carries a request out. The caller closes the outcome's Body. The verdict
// of the rate limits comes back in any case.
func (a *API) Do(ctx context.Context, request Request) (*Outcome, Verdict, error) {
	a.running.Add(1)
	defer a.running.Done()
	c := &paidCall{API: a, Request: request}
	err := c.carryOut(ctx)
	switch {
	case errors.Is(err, errReplayed):
		a.metrics.call(request.Operation.Name, "replayed", 0)
	case err != nil:
		a.metrics.call(request.Operation.Name, string(asError(err).Code), 0)
		return nil, c.verdict, err
	default:
		a.metrics.call(request.Operation.Name, "ok", c.outcome.Charged)
	}
	return c.outcome, c.verdict, nil
}

func (c *paidCall) carryOut(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v\n%s", c.Operation.Name, p, debug.Stack())
		}
		if err != nil && c.held {
			c.release(ctx, err)
		}
		if c.call != nil {
			c.free(ctx, c.call)
		}
	}()
	for _, step := range steps {
		begin := time.Now()
		err := step.do(c, ctx)
		c.metrics.step(c.Operation.Name, step.name, time.Since(begin))
		if err != nil {
			return err
		}
		c.reached(step.name)
	}
	return nil
}

func (c *paidCall) authenticate(ctx context.Context) (err error) {
	c.caller, err = c.API.authenticate(ctx, c.Secret, c.ClientIP)
	return err
}

func (c *paidCall) limit(ctx context.Context) (err error) {
	c.verdict, err = c.limitCaller(ctx, c.caller)
	return err
}

func (c *paidCall) decode(context.Context) (err error) {
	c.call, err = c.Operation.Bind(c.Body, c.files)
	var faults op.Faults
	if len(c.Faults) > 0 && (err == nil || errors.As(err, &faults)) {
		return slices.Concat(c.Faults, faults)
	}
	if err == nil && c.call.Response == "" {
		c.call.Response = op.Binary
	}
	return err
}

// authorize holds the key to what its owner allowed it.
func (c *paidCall) authorize(context.Context) error {
	allowed := c.caller.Key.Operations
	if len(allowed) > 0 && !slices.Contains(allowed, c.Operation.Name) {
		return &Error{Code: Unauthorized, Message: "This key is not allowed to use " + c.Operation.Name + "."}
	}
	return nil
}

// quoteCall prices the call, and refuses it when the client's cap is lower.
func (c *paidCall) quoteCall(context.Context) error {
	c.quote = c.prices[c.Operation.Name]
	if c.MaxCharge != nil && c.quote > *c.MaxCharge {
		return overLimit(maxChargeHeader, c.quote, *c.MaxCharge)
	}
	return nil
}

// admit refuses what the run would refuse at once, before it costs a hold and
// its release. An earlier call's answer needs no run, so a call that may be a
// repeat goes on.
func (c *paidCall) admit(context.Context) error {
	if c.IdempotencyKey != "" {
		return nil
	}
	return c.call.Admit(c.env())
}

// env is what the run may use.
func (c *paidCall) env() *Env {
	account := c.caller.Account.ID
	return &Env{Render: c.render, Tenant: account, MaxFile: c.files.Limit, Stored: c.stored(account)}
}

// admit returns the error with which the browser would turn the tenant away now.
func (e *Env) admit() error {
	if e.Render == nil {
		return nil
	}
	return e.Render.Admit(e.Tenant)
}

// hold reserves the quote, in one transaction with the limits, the claim of
// the idempotency key and the call's row.
func (c *paidCall) hold(ctx context.Context) error {
	c.id, c.result = store.NewID("call"), store.NewID("file")
	c.started = time.Now()
	call := store.NewCall{
		ID: c.id, ResultID: c.result, AccountID: c.caller.Account.ID, KeyID: c.caller.Key.ID,
		Operation: c.Operation.Name, Mode: c.call.Response, RequestID: c.RequestID,
		Quote: c.quote, Lease: c.lease, Metered: !c.billing,
		IdempotencyKey: c.IdempotencyKey, BodyHash: c.call.Digest[:],
	}
	// A client that leaves must not make it unknown whether the hold was written.
	err := c.store.Begin(context.WithoutCancel(ctx), call)
	for wait := newClaimWait(); err != nil; {
		var claimed *store.ClaimedError
		if errors.Is(err, store.ErrNotFound) {
			return &Error{Code: Unauthorized, Message: "This API key was revoked."}
		}
		if !errors.As(err, &claimed) {
			// The database failed, and may have written the hold all the same.
			c.held = moneyError(err) == nil
			return err
		}
		if !bytes.Equal(claimed.Claim.BodyHash, c.call.Digest[:]) {
			return invalid("Idempotency-Key", "was used for another request in the last 24 hours; take a new key")
		}
		if claimed.Claim.State == store.ClaimDone {
			return c.replay(ctx, claimed.Claim.CallID)
		}
		if err := wait.next(ctx); err != nil {
			return err
		}
		err = c.store.Begin(context.WithoutCancel(ctx), call)
	}
	c.held = true
	return nil
}

func (c *paidCall) run(ctx context.Context) error {
	result, err := c.call.Run(ctx, c.env())
	if err != nil {
		return err
	}
	body := result.Body
	if body == nil {
		text, err := json.Marshal(result.JSON)
		if err != nil {
			return err
		}
		body, result.ContentType, result.Extension = textBody(text), "application/json", ".json"
	}
	c.outcome = &Outcome{
		CallID: c.id, ResultID: c.result, Mode: c.call.Response, Charged: c.quote,
		Filename:    filename(c.call.Filename, result.Stem, result.Extension),
		ContentType: result.ContentType, Body: body,
	}
	return nil
}

// settle charges the call, in one transaction with its file and the result of
// its idempotency key. A result that outlives the answer is on disk before.
func (c *paidCall) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	if c.outcome.Mode == op.URL || c.IdempotencyKey != "" {
		file, err := c.putFile(ctx, c.outcome)
		if err != nil {
			return err
		}
		c.outcome.File = file
		c.reached("stored")
	}
	return c.store.Settle(ctx, store.Settlement{
		CallID: c.id, Charge: c.quote, File: c.outcome.File, Duration: time.Since(c.started),
	})
}

// free closes what a call no longer needs. A failure costs disk space, not the call.
func (a *API) free(ctx context.Context, c io.Closer) {
	if err := c.Close(); err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "file of a call not freed", slog.Any("error", err))
	}
}

// release gives back what was held and drops what was made.
func (c *paidCall) release(ctx context.Context, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	failure := asError(cause)
	err := c.store.Release(ctx, c.id, store.Failure{Code: string(failure.Code), Message: failure.Error()})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		// The lease's reaper returns the hold when this process is gone.
		c.log.LogAttrs(ctx, slog.LevelError, "release failed", slog.String("call", c.id), slog.Any("error", err))
	}
	if c.outcome == nil {
		return
	}
	c.free(ctx, c.outcome.Body)
	if c.outcome.File != nil {
		c.dropBlob(ctx, c.outcome)
	}
}
