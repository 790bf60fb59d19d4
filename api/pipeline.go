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

	try int // which attempt of a job made it
}

// step is one stage of a paid call.
type step struct {
	name string
	do   func(*paidCall, context.Context) error
}

// steps is the order in which every paid call is carried out. A failure in any
// of them ends the call; one after hold also releases what was held. A job's
// request leaves off after hold, and a worker goes on from there with jobSteps.
var (
	steps    = slices.Concat(requestSteps, runSteps)
	jobSteps = slices.Concat([]step{{"load", (*paidCall).load}}, runSteps)
)

var requestSteps = []step{
	{"authenticate", (*paidCall).authenticate},
	{"limit", (*paidCall).limit},
	{"decode", (*paidCall).decode},
	{"authorize", (*paidCall).authorize},
	{"quote", (*paidCall).quoteCall},
	{"admit", (*paidCall).admit},
	{"hold", (*paidCall).hold},
}

var runSteps = []step{
	{"run", (*paidCall).run},
	{"settle", (*paidCall).settle},
}

// What leaves the steps early with success: the outcome is an earlier call's,
// or the rest is a worker's.
var (
	errReplayed = errors.New("replayed")
	errEnqueued = errors.New("enqueued")
)

// Settlement must be attempted although the client has gone, but not for ever.
const afterwardsTimeout = 20 * time.Second

// paidCall is one request on its way through the steps, each of which fills in
// what the next ones need.
type paidCall struct {
	*API
	Request
	// job is set in a worker, which goes on with a call that was held before.
	job *store.Job

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
	err := c.carryOut(ctx, steps)
	switch {
	case errors.Is(err, errReplayed):
		a.metrics.call(request.Operation.Name, "replayed", 0)
	case errors.Is(err, errEnqueued):
		a.metrics.call(request.Operation.Name, "enqueued", 0)
	case err != nil && ctx.Err() != nil:
		a.metrics.call(request.Operation.Name, "canceled", 0)
		return nil, c.verdict, err
	case err != nil:
		a.metrics.call(request.Operation.Name, string(asError(err).Code), 0)
		return nil, c.verdict, err
	default:
		a.metrics.call(request.Operation.Name, "ok", c.outcome.Charged)
	}
	return c.outcome, c.verdict, nil
}

func (c *paidCall) carryOut(ctx context.Context, steps []step) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v\n%s", c.operationName(), p, debug.Stack())
		}
		if err != nil && c.held {
			c.giveUp(ctx, err)
		}
		c.underWay.Delete(c.id)
		if c.call != nil {
			c.free(ctx, c.call)
		}
	}()
	for _, step := range steps {
		begin := time.Now()
		err := step.do(c, ctx)
		c.metrics.step(c.operationName(), step.name, time.Since(begin))
		if err != nil {
			return err
		}
		c.reached(step.name)
	}
	return nil
}

// operationName names the operation, which a job knows before it is loaded.
func (c *paidCall) operationName() string {
	if c.job != nil {
		return c.job.Call.Operation
	}
	return c.Operation.Name
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
	if err != nil {
		return err
	}
	if c.call.Response == "" {
		c.call.Response = op.Binary
	}
	return c.checkCallback(c.call.CallbackURL)
}

// checkCallback refuses a callback that could not be sent to. What its name
// resolves to is looked at when it is dialled.
func (c *paidCall) checkCallback(address string) error {
	if address == "" {
		return nil
	}
	if err := c.outbound.CheckURL(address); err != nil {
		return &URLError{Field: "callbackUrl", Cause: err}
	}
	return nil
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
	if c.IdempotencyKey != "" || c.call.Response == op.Async {
		return nil
	}
	return c.call.Admit(c.env())
}

// env is what the run may use.
func (c *paidCall) env() *Env {
	return &Env{Render: c.render, Tenant: c.caller.Account.ID, MaxFile: c.files.Limit, Stored: c.stored}
}

// admit returns the error with which the browser would turn the tenant away now.
func (e *Env) admit() error {
	if e.Render == nil {
		return nil
	}
	return e.Render.Admit(e.Tenant)
}

// hold reserves the quote, in one transaction with the limits, the claim of
// the idempotency key, the call's row and, for a job, its place in the queue.
func (c *paidCall) hold(ctx context.Context) (err error) {
	c.id, c.result = store.NewID("call"), store.NewID("file")
	c.started = time.Now()
	call := store.NewCall{
		ID: c.id, ResultID: c.result, AccountID: c.caller.Account.ID, KeyID: c.caller.Key.ID,
		Operation: c.Operation.Name, Mode: c.call.Response, RequestID: c.RequestID,
		Quote: c.quote, Lease: c.lease, Metered: !c.billing, CallbackURL: c.call.CallbackURL,
		IdempotencyKey: c.IdempotencyKey, BodyHash: c.call.Digest[:],
	}
	// A client that leaves must not make it unknown whether the hold was written.
	certain := context.WithoutCancel(ctx)
	if c.call.Response != op.Async {
		c.underWay.Store(c.id, nil)
		c.held, err = c.begin(ctx, call)
		return err
	}
	call.Lease = ""
	if call.Job, err = c.newJob(certain); err != nil {
		return err
	}
	if c.held, err = c.begin(ctx, call); err != nil {
		if !c.held {
			c.dropInput(certain, call.Job)
		}
		return err
	}
	// From here on the hold is the job's.
	c.held, c.outcome = false, &Outcome{CallID: c.id, ResultID: c.result, Mode: op.Async}
	c.reached("hold")
	return errEnqueued
}

// begin writes a hold, and reports whether it may have been written. The loser
// of an idempotency key waits, and gets the winner's answer.
func (c *paidCall) begin(ctx context.Context, call store.NewCall) (held bool, err error) {
	for wait := newClaimWait(); ; {
		err := c.store.Begin(context.WithoutCancel(ctx), call)
		var claimed *store.ClaimedError
		var missing *store.PinError
		switch {
		case err == nil:
			c.reloadSoon(ctx)
			return true, nil
		case errors.As(err, &missing):
			return false, c.unpinned(missing)
		case errors.Is(err, store.ErrNotFound):
			return false, &Error{Code: Unauthorized, Message: "This API key was revoked."}
		case !errors.As(err, &claimed):
			c.refusedFunds(ctx, err)
			// The database failed, and may have written the hold all the same.
			return moneyError(err) == nil, err
		case !bytes.Equal(claimed.Claim.BodyHash, c.call.Digest[:]):
			return false, invalid("Idempotency-Key", "was used for another request in the last 24 hours; take a new key")
		case claimed.Claim.State == store.ClaimDone || call.Job != nil:
			// A job's answer is ready as soon as it waits.
			return false, c.replay(ctx, claimed.Claim.CallID)
		}
		if err := wait.next(ctx); err != nil {
			return false, err
		}
	}
}

// refusedFunds tells the account's endpoints of an empty wallet.
func (c *paidCall) refusedFunds(ctx context.Context, err error) {
	var funds *store.FundsError
	if !errors.As(err, &funds) {
		return
	}
	c.reloadSoon(ctx)
	if err := c.store.AlertEmptyWallet(context.WithoutCancel(ctx), c.caller.Account.ID, funds.Quote); err != nil {
		c.log.LogAttrs(ctx, slog.LevelError, "empty wallet not told of", slog.Any("error", err))
	}
}

func (c *paidCall) run(ctx context.Context) error {
	result, err := c.runPatiently(ctx)
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
		ContentType: result.ContentType, Body: body, try: c.try(),
	}
	return nil
}

// settle charges the call, in one transaction with its file, the result of its
// idempotency key and the news of its end. A result that outlives the answer is
// on disk before.
func (c *paidCall) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	end := store.Settlement{CallID: c.id, Charge: c.quote, Duration: time.Since(c.started)}
	if c.outcome.Mode != op.Binary || c.IdempotencyKey != "" || c.call.CallbackURL != "" {
		file, err := c.putFile(ctx, c.outcome)
		if err != nil {
			return err
		}
		end.File, c.outcome.File = file, file
		c.reached("stored")
	}
	if c.announced() {
		end.Notice = notice(c.row(), c.completed(c.row(), end.File))
	}
	return c.store.Settle(ctx, end)
}

// announced tells whether anybody but the caller hears of the call's end.
func (c *paidCall) announced() bool {
	return c.job != nil || c.call != nil && c.call.CallbackURL != ""
}

// row is what the pipeline knows of the call's row.
func (c *paidCall) row() store.Call {
	if c.job != nil {
		return c.job.Call
	}
	return store.Call{ID: c.id, ResultID: c.result, AccountID: c.caller.Account.ID, Mode: c.call.Response}
}

// try counts how often the call was begun before this time.
func (c *paidCall) try() int {
	if c.job != nil {
		return c.job.Tries
	}
	return 0
}

// free closes what a call no longer needs. A failure costs disk space, not the call.
func (a *API) free(ctx context.Context, c io.Closer) {
	if err := c.Close(); err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "file of a call not freed", slog.Any("error", err))
	}
}

// cutOff is the failure of a call whose client left, or whose server stopped,
// whatever the run made of that.
var cutOff = &Error{Code: InternalError, Message: "The call was cut off before it was done, because its connection was closed. Nothing was charged."}

// giveUp ends a held call that failed. A job that was cut off because its
// process stops goes back into the queue.
func (c *paidCall) giveUp(ctx context.Context, cause error) {
	stopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	switch {
	case !stopped:
		c.release(ctx, asError(cause))
	case c.job == nil:
		c.release(ctx, cutOff)
	default:
		if err := c.store.ReturnJob(ctx, *c.job); err != nil {
			// The lease's reaper queues it again when this process is gone.
			c.log.LogAttrs(ctx, slog.LevelError, "job not returned", slog.String("call", c.id), slog.Any("error", err))
		}
	}
	if c.outcome == nil {
		return
	}
	if c.job == nil {
		c.free(ctx, c.outcome.Body)
	}
	if c.outcome.File != nil {
		c.dropBlob(ctx, c.outcome)
	}
}

// release gives back what was held, and tells of it.
func (c *paidCall) release(ctx context.Context, failure *Error) {
	why := store.Failure{Code: string(failure.Code), Message: failure.Error()}
	var news *store.Notice
	if c.announced() {
		news = notice(c.row(), c.failed(c.row(), why))
	}
	if err := c.store.Release(ctx, c.id, why, news); err != nil && !errors.Is(err, store.ErrNotFound) {
		// The lease's reaper returns the hold when this process is gone.
		c.log.LogAttrs(ctx, slog.LevelError, "release failed", slog.String("call", c.id), slog.Any("error", err))
	}
}
