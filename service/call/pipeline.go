package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"runtime/debug"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Request is one request for an operation, as an API passes it to the pipeline.
type Request struct {
	Operation *schema.Operation[*operation.Deps]
	// Caller is the authenticated caller.
	Caller Caller
	// Body is the input, one JSON object; or a form, whose boundary is in Form.
	Body io.Reader
	Form string
	// IdempotencyKey is empty when the client sent none.
	IdempotencyKey string
	// MaxCharge is the maximum that the client agreed to pay, or nil.
	MaxCharge *credit.Amount
	RequestID string
	// Faults are the validation errors of the request outside its body. They are reported together with those of the
	// body, to a caller who has shown a key.
	Faults schema.FieldErrors
}

var idempotencyKey = regexp.MustCompile(`^[\x20-\x7e]{1,255}$`)

// SetIdempotencyKey sets the client's idempotency key, or records why it is invalid.
func (r *Request) SetIdempotencyKey(key string) {
	r.IdempotencyKey = key
	if !idempotencyKey.MatchString(key) {
		r.Faults.Add("Idempotency-Key", "must be 1 to 255 printable ASCII characters")
	}
}

// Outcome is the result of a successful call. Its content is in Body, or in the stored File, or in both.
type Outcome struct {
	CallID   string
	ResultID string
	Mode     string
	Charged  credit.Amount
	// Replayed marks the response of an earlier call with the same Idempotency-Key.
	Replayed    bool
	Filename    string
	ContentType string
	Body        schema.Body
	File        *store.File
	// Warnings are the warnings about the source of the result.
	Warnings []wire.Warning
	// Delivered is the delivery to the destination that the call named; nil if it named none.
	Delivered *wire.Delivered
	// Unstored means that the call asked for no copy of its result.
	Unstored bool

	try int // which attempt of a job made it
}

// step is one stage of a paid call.
type step struct {
	name string
	do   func(*paidCall, context.Context) error
}

// steps is the order of a paid call's steps. A failure of any of them ends the call; after hold, it also releases
// the held amount. The request of a job ends after hold, and a worker continues with jobSteps.
var (
	steps    = slices.Concat(requestSteps, runSteps)
	jobSteps = slices.Concat([]step{{"standing", (*paidCall).checkActive}, {"load", (*paidCall).load}}, runSteps)
)

var requestSteps = []step{
	{"limit", (*paidCall).limit},
	{"decode", (*paidCall).decode},
	{"authorize", (*paidCall).authorize},
	{"quote", (*paidCall).quoteCall},
	{"pin", (*paidCall).pin},
	{"admit", (*paidCall).admit},
	{"hold", (*paidCall).hold},
}

var runSteps = []step{
	{"run", (*paidCall).run},
	{"settle", (*paidCall).settle},
}

// errReplayed and errEnqueued end the steps early with success: the outcome is that of an earlier call, or a worker
// runs the remaining steps.
var (
	errReplayed = errors.New("replayed")
	errEnqueued = errors.New("enqueued")
)

// inputBudget bounds the memory that the inputs of all calls under way take
// together, in bytes. Their files are on disk.
const inputBudget = 192 << 20

// Settlement must be attempted although the client has gone, but not for ever.
const afterwardsTimeout = 20 * time.Second

// paidCall is one request on its way through the steps. Each step sets the fields that the next ones need.
type paidCall struct {
	*Runner
	Request
	// job is set in a worker, which continues a call that was held before.
	job *store.Job

	verdict ratelimit.Verdict
	call    *schema.Call[*operation.Deps]
	digest  []byte // of the request, if it has an idempotency key
	id      string
	result  string // the result's id
	// unstored means that no copy of the input and of the result is to be kept. It is set even if the input has errors.
	unstored bool
	// unread means that the input was not read to its end, so it is unknown whether a copy is wanted.
	unread      bool
	quote       credit.Amount
	quoteID     string // of the promised price, if there is one
	records     int    // of a bulk call
	bulk        *bulk  // a bulk job that runs
	held        bool
	holdWritten bool // its hold was written, or a job's
	started     time.Time
	outcome     *Outcome
	times       times
	// templates are the account's, once the call asks for them.
	templates *storedTemplates
	trace     string // the trace that workers and deliveries of the call continue
}

// Do carries a request out. The caller closes the outcome's Body. With an error, the outcome has only the ID of the
// call, or is nil if none was begun. The decision of the rate limits is returned in any case.
func (r *Runner) Do(ctx context.Context, request Request) (*Outcome, ratelimit.Verdict, error) {
	r.running.Add(1)
	defer r.running.Done()

	c := &paidCall{Runner: r, Request: request, trace: r.tracer.Parent(ctx)}
	err := c.execute(ctx, steps)

	var failed *Outcome
	if c.holdWritten {
		failed = &Outcome{CallID: c.id}
	}
	if err != nil && c.unstored {
		err = &unstoredError{err}
	}
	if err != nil && c.unread {
		err = &unreadError{err}
	}

	switch {
	case errors.Is(err, errReplayed):
		r.metrics.call(request.Operation.Name, "replayed", 0)
	case errors.Is(err, errEnqueued):
		r.metrics.call(request.Operation.Name, "enqueued", 0)
	case err != nil && r.left(ctx):
		r.metrics.call(request.Operation.Name, string(wire.Canceled), 0)
		return failed, c.verdict, leftBy(err)
	case err != nil:
		r.metrics.call(request.Operation.Name, string(APIError(err).Code), 0)
		return failed, c.verdict, err
	default:
		r.metrics.call(request.Operation.Name, "ok", c.outcome.Charged)
	}

	return c.outcome, c.verdict, nil
}

func (c *paidCall) execute(ctx context.Context, steps []step) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v\n%s", operationName(c), p, debug.Stack())
		}
		if err != nil && c.held {
			c.abort(ctx, err)
		}

		// A worker may have taken the call on already: as the job of this request, or as a job that was given up.
		c.underWay.CompareAndDelete(c.id, c)
		if c.call != nil {
			keepInput(ctx, c)
			c.Free(ctx, c.call)
		}
	}()

	for _, step := range steps {
		begin := time.Now()
		ctx, span := c.tracer.Begin(ctx, step.name)
		err := step.do(c, ctx)
		if c.job != nil && notStored(err) {
			err = doWhenStored(ctx, c, step)
		}

		took := time.Since(begin)
		endSpan(span, err)
		c.metrics.step(operationName(c), step.name, took)
		switch step.name {
		case "run", "settle": // The run reports its own parts, and settling ends the count.
		case "load":
			c.times.add("decode", took)
		default:
			c.times.add(step.name, took)
		}

		if err != nil {
			return err
		}
		c.reached(step.name)
	}

	return nil
}

// operationName names the operation, which a job knows before it is loaded.
func operationName(c *paidCall) string {
	if c.job != nil {
		return c.job.Call.Operation
	}
	return c.Operation.Name
}

func (c *paidCall) limit(ctx context.Context) (err error) {
	c.verdict, err = c.Limit(ctx, c.Caller)
	return err
}

func (c *paidCall) decode(ctx context.Context) (err error) {
	files := c.files
	files.Share = c.inputs.Share(c.Caller.Account.ID)

	var refused schema.FieldErrors
	c.unread = true
	files.Check = func(place string, input any) schema.FieldErrors {
		c.noteUnstored(input)
		c.unread = c.unread && place != ""
		own := c.refusedAddresses(input)
		var faults schema.FieldErrors
		if errors.As(schema.At(place, own.OrNil()), &faults) {
			refused.AddAll(faults...)
		}

		if place != "" {
			return own
		}
		return refused
	}

	if c.Form != "" {
		c.call, err = c.Operation.BindForm(ctx, c.Body, c.Form, files)
	} else {
		c.call, err = c.Operation.Bind(ctx, c.Body, files)
	}

	var faults schema.FieldErrors
	switch {
	case len(c.Faults) > 0 && err == nil:
		return slices.Concat(c.Faults, refused)
	case len(c.Faults) > 0 && errors.As(err, &faults):
		return slices.Concat(c.Faults, faults)
	case err != nil:
		return err
	case len(refused) > 0:
		return notAllowed(refused)
	}

	if c.call.Response == "" {
		c.call.Response = schema.Binary
	}
	if c.IdempotencyKey != "" {
		if c.digest, err = c.call.Digest(); err != nil {
			return err
		}
		if c.test() {
			c.digest = append([]byte("test "), c.digest...) // A live key's result is not a test key's.
		}
	}

	return nil
}

// refusedAddresses lists the addresses of an input that could not be sent to or loaded as a page. The addresses
// behind their names are checked on connection.
func (r *Runner) refusedAddresses(input any) (refused schema.FieldErrors) {
	check := func(by Callbacks, field, address string, use operation.URLUse) {
		if address != "" && by.CheckURL(address) != nil {
			refused.Add(field, "%s", operation.RefusedText(address, use))
		}
	}

	if page, ok := input.(interface{ PageURL() string }); ok && r.render != nil {
		check(r.render, "url", page.PageURL(), operation.PageURL)
	}
	if calling, ok := input.(interface{ Callback() string }); ok {
		check(r.callbacks, "callbackUrl", calling.Callback(), operation.CallbackURL)
	}
	if delivering, ok := input.(interface{ DestinationURL() string }); ok {
		check(r.callbacks, destinationField, delivering.DestinationURL(), operation.DestinationURL)
	}

	return refused
}

// notAllowed refuses URLs if the input has no other error.
func notAllowed(refused schema.FieldErrors) error {
	return &operation.URLError{Refused: refused, Cause: errors.New("refused before the call")}
}

// parts are the call itself and its steps.
func (c *paidCall) parts() []operation.Step {
	return append([]operation.Step{{Operation: c.Operation, Call: c.call}}, c.call.Steps...)
}

// authorize checks the permissions that the account's owner gave to the caller.
func (c *paidCall) authorize(ctx context.Context) error {
	for _, part := range c.parts() {
		if name := part.Operation.Name; !c.Caller.May(name) {
			return operation.StepFailure(part, &wire.Error{
				Code: wire.Unauthorized,
				Message: "This " + string(c.Caller.Kind) + " is not allowed to use " + name +
					". Use one that includes this operation.",
			})
		}
	}
	return c.replayOr(ctx, c.checkNames(ctx))
}

// checkNames checks that the account may use what the call names, and the limits of tests.
func (c *paidCall) checkNames(ctx context.Context) error {
	for _, check := range []func(context.Context) error{c.checkLink, c.checkDestination, c.checkIdentities} {
		if err := check(ctx); err != nil {
			return err
		}
	}

	if !c.test() {
		return nil
	}
	for _, part := range c.parts() {
		if err := operation.CheckTest(part.Call); err != nil {
			return operation.StepFailure(part, err)
		}
	}

	if c.Operation.Bulk { // It is limited with its records.
		return nil
	}
	return c.limitTests(ctx, 1)
}

// quoteCall prices the call, and refuses it when the client's cap is lower.
func (c *paidCall) quoteCall(ctx context.Context) error {
	return c.replayOr(ctx, c.checkPrice(ctx))
}

// checkPrice sets the price of the call. A test is free.
func (c *paidCall) checkPrice(ctx context.Context) error {
	if c.test() && !c.Operation.Bulk {
		return nil
	}

	price, err := operation.PriceOf(ctx, c.env(), c.Operation.Name, c.call)
	if err != nil {
		return err
	}

	if c.records = price.Records; c.test() {
		return c.limitTestRecords(ctx)
	}
	if err := c.limitFree(ctx); err != nil {
		return err
	}

	c.quote = price.Amount
	c.quoteID = price.QuoteID
	if c.MaxCharge != nil && c.quote > *c.MaxCharge {
		return overCap(wire.MaxChargeHeader, c.quote, *c.MaxCharge)
	}
	if c.Caller.Cap != nil && c.quote > *c.Caller.Cap {
		return overCap(string(c.Caller.Kind)+"'s cap", c.quote, *c.Caller.Cap)
	}
	return nil
}

// pin fixes the version of a template, so that a job does not use a version that was published after it was
// accepted.
func (c *paidCall) pin(ctx context.Context) error {
	return c.replayOr(ctx, c.call.Pin(ctx, c.env()))
}

// admit refuses a call that the run would refuse at once, before the call costs a hold and its release.
func (c *paidCall) admit(ctx context.Context) error {
	return c.replayOr(ctx, c.checkEngines())
}

// checkEngines checks that the call's engines are there. A call that may be a repeat needs no place in their queues.
func (c *paidCall) checkEngines() error {
	for _, part := range c.parts() {
		if why := part.Operation.WhyOff(); why != "" {
			return operation.StepFailure(part, &wire.Error{Code: wire.ConvertUnavailable, Message: why})
		}
	}

	if c.IdempotencyKey != "" || c.call.Response == schema.Async {
		return nil
	}
	return c.call.Admit(c.env())
}

// env returns the environment of the run.
func (c *paidCall) env() *operation.Deps {
	account := c.Caller.Account.ID
	if c.templates == nil {
		c.templates = &storedTemplates{store: c.store, account: account}
	}

	ocr := c.table.Lookup("pdf.ocr")
	return &operation.Deps{
		NoOCR:  ocr != nil && ocr.Off,
		Render: c.renderer(), MaxFile: c.files.Limit, Stored: c.stored, Templates: c.templates,
		SigningKey: func(ctx context.Context, id string) (operation.StoredKey, error) {
			return c.signing.open(ctx, account, id)
		},
		AI: c.ai, Prices: c.prices, Held: c.quote, Quotes: storedQuotes{c.store, account, c.now}, Test: c.test(),
	}
}

// renderer is the renderer as the call's account uses it.
func (c *paidCall) renderer() *render.Account {
	if c.billing && c.Caller.Account.RateTier() != "paid" {
		return c.render.ForTrial(c.Caller.Account.ID)
	}
	return c.render.For(c.Caller.Account.ID)
}

// hold reserves the quote, in one transaction with the limits, the claim of
// the idempotency key, the call's row and, for a job, its place in the queue.
func (c *paidCall) hold(ctx context.Context) (err error) {
	c.result = c.store.NewID("file")
	c.id = store.CallID(c.result)
	c.started = time.Now()
	call := store.NewCall{
		ID: c.id, ResultID: c.result, AccountID: c.Caller.Account.ID, KeyID: c.Caller.keyID(),
		Operation: c.Operation.Name, Mode: c.call.Response, RequestID: c.RequestID,
		Quote: c.quote, QuoteID: c.quoteID, Lease: c.lease, Metered: !c.billing, CallbackURL: c.call.CallbackURL,
		IdempotencyKey: c.IdempotencyKey, BodyHash: c.digest, Trace: c.trace,
	}

	// A client that leaves must not make it unknown whether the hold was written.
	certain := context.WithoutCancel(ctx)
	if c.call.Response != schema.Async {
		c.underWay.Store(c.id, c)
		c.held, err = c.begin(ctx, call)
		return err
	}

	// The client would never learn the ID of a job that it has not waited for.
	if err := ctx.Err(); err != nil {
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
	c.held = false
	c.outcome = &Outcome{CallID: c.id, ResultID: c.result, Mode: schema.Async}
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
		var limit *store.LimitError
		var unknown *store.UnknownError

		switch {
		case err == nil:
			c.wallets.startReload(ctx, c.Caller.Account)
			c.holdWritten = true
			return true, nil
		case errors.As(err, &missing):
			return false, c.unpinned(missing)
		case errors.Is(err, store.ErrQuoteUsed):
			return false, operation.QuoteRefused(err)
		case errors.Is(err, store.ErrNotFound):
			return false, &wire.Error{
				Code:    wire.Unauthorized,
				Message: "This " + string(c.Caller.Kind) + " was revoked. Use another API key.",
			}
		case c.Caller.Kind == ByGrant && errors.As(err, &limit) && limit.Limit == store.LimitKeySpend:
			return false, overLimit(limit, "grantSpendLimit", "grant")
		case errors.As(err, &unknown):
			// The hold may have been written, and is released: the call is not charged in any case.
			return true, databaseAway(err)
		case !errors.As(err, &claimed):
			c.refusedFunds(ctx, err)
			// The database failed, and may have written the hold all the same.
			return moneyError(err) == nil && !store.Unavailable(err), err
		}

		if err := c.replayClaim(ctx, claimed.Claim); err != nil {
			return false, err
		}
		if err := wait.next(ctx); err != nil {
			return false, err
		}
	}
}

// refusedFunds notifies the account's endpoints of an empty wallet.
func (c *paidCall) refusedFunds(ctx context.Context, err error) {
	var funds *store.FundsError
	if !errors.As(err, &funds) {
		return
	}
	c.wallets.startReload(ctx, c.Caller.Account)
	if err := c.store.AlertEmptyWallet(context.WithoutCancel(ctx), c.Caller.Account.ID, funds.Quote); err != nil {
		c.log.LogAttrs(ctx, slog.LevelError, "tell of empty wallet failed", slog.Any("error", err))
	}
}

// run makes the result, and delivers it where the call asks for this.
func (c *paidCall) run(ctx context.Context) error {
	work := c.runOnce
	if c.job != nil && c.Operation.Bulk {
		work = c.runBulk
	}
	if err := work(ctx); err != nil {
		return err
	}
	return c.deliver(ctx)
}

// runOnce makes the result of a call that is not a bulk job.
func (c *paidCall) runOnce(ctx context.Context) error {
	result, err := runTimed(ctx, c)
	if err == nil {
		err = setJSONBody(&result)
	}
	if err != nil {
		return err
	}

	if c.test() {
		result.Charge = nil
	}
	charge, err := chargeFor(operationName(c), c.quote, result)
	if err != nil {
		return errors.Join(err, result.Body.Close())
	}

	c.outcome = &Outcome{
		CallID: c.id, ResultID: c.result, Mode: c.call.Response, Charged: charge,
		Filename:    operation.Filename(c.call.Filename, result.Stem, result.Extension),
		ContentType: result.ContentType, Body: result.Body, Warnings: result.Warnings, Unstored: c.unstored,
		try: c.try(),
	}
	return nil
}

// setJSONBody makes the body of a result that is JSON.
func setJSONBody(result *schema.Result) error {
	if result.Body != nil {
		return nil
	}
	text, err := json.Marshal(result.JSON)
	result.Body = textBody(text)
	result.ContentType = "application/json"
	result.Extension = ".json"
	return err
}

// chargeFor returns the charge for a result: the quote, or the charge that the run asks for instead. The caller has
// agreed to the quote as the maximum.
func chargeFor(operation string, quote credit.Amount, result schema.Result) (credit.Amount, error) {
	if result.Charge == nil {
		return quote, nil
	}
	if *result.Charge < 0 || *result.Charge > quote {
		return 0, fmt.Errorf("%s asks for %v, and was quoted at %v", operation, *result.Charge, quote)
	}
	return *result.Charge, nil
}

// settle charges the call in one transaction with its file, the result of its idempotency key and the notifications
// of its end. A result that outlives the response is stored on disk first.
func (c *paidCall) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()

	end := store.Settlement{CallID: c.id, Charge: c.outcome.Charged, Duration: time.Since(c.started)}
	begin := time.Now()
	if !c.unstored && (c.outcome.Mode != schema.Binary || c.IdempotencyKey != "" || c.call.CallbackURL != "") {
		file, err := c.Files.put(ctx, c.outcome)
		if err != nil {
			return err
		}
		if err := c.link(ctx, file); err != nil {
			return err
		}
		end.File = file
		c.outcome.File = file
		c.part(ctx, "settle", "store", time.Since(begin))
		c.reached("stored")
	}

	if err := c.keepDelivered(ctx); err != nil {
		return err
	}

	if c.announced() {
		status := c.Links.Completed(c.row(), end.File)
		if err := c.AddProgress(ctx, c.store, c.row(), &status); err != nil {
			return err
		}
		status.Delivered = c.outcome.Delivered
		end.Outbox = outbox(c.row(), status)
	}
	if c.bulk != nil {
		end.Files = c.bulk.files
	}
	end.Job = c.job
	end.Steps = c.times.text()

	err := c.store.Settle(ctx, end)
	var unknown *store.UnknownError
	if errors.As(err, &unknown) {
		return &wire.Error{Code: wire.InternalError, Message: uncertain, Cause: err}
	}

	if err == nil {
		c.countUsage(false)
		if !c.unstored {
			c.store.LogTitle(c.title())
		}
		if c.bulk != nil {
			c.bulk.dropSpentChunks(ctx)
		}
	}

	return err
}

// title returns the title of the call in lists. A template's name says more than a file name that nobody chose.
func (c *paidCall) title() store.Title {
	t := store.Title{CallID: c.id, AccountID: c.Caller.Account.ID, Filename: c.outcome.Filename}
	if c.templates != nil && c.call.Filename == "" {
		t.TemplateID = c.templates.used
	}
	return t
}

// uncertain is the message for a charge that was retried for as long as a client waits while the database did not
// confirm it.
const uncertain = "The charge could not be confirmed: the database timed out. Retry with the same Idempotency-Key " +
	"(never charged twice), or check your usage in a minute."

// announced reports whether the call's end is announced to anyone but the caller.
func (c *paidCall) announced() bool {
	return c.job != nil || c.call != nil && c.call.CallbackURL != ""
}

// row returns the call's row as far as the pipeline knows it.
func (c *paidCall) row() store.Call {
	if c.job != nil {
		return c.job.Call
	}
	return store.Call{ID: c.id, ResultID: c.result, AccountID: c.Caller.Account.ID, Mode: c.call.Response}
}

// countUsage adds the call, which has ended and was not cancelled, to the counts of its operation, key and template.
func (c *paidCall) countUsage(failed bool) {
	ended := store.EndedCall{
		AccountID: c.Caller.Account.ID, KeyID: c.Caller.keyID(), Operation: operationName(c), Failed: failed,
	}
	if c.job != nil {
		of := c.job.Call
		ended = store.EndedCall{
			AccountID: of.AccountID, KeyID: of.KeyID, Operation: of.Operation, Failed: failed, At: of.CreatedAt,
		}
	}

	if c.templates != nil {
		ended.TemplateID = c.templates.used
	}
	if c.outcome != nil && !failed {
		ended.Charge = c.outcome.Charged
	}
	c.store.CountUsage(ended)
}

// try counts how often the call was begun before this time.
func (c *paidCall) try() int {
	if c.job != nil {
		return c.job.Tries
	}
	return 0
}

// The failures of a call whose server stopped, and of one whose client left, whatever the run made of that.
var (
	cutOff = &wire.Error{
		Code:    wire.InternalError,
		Message: "The server stopped before the call finished. The call was not charged. Send it again.",
	}
	clientLeft = &wire.Error{
		Code:    wire.Canceled,
		Message: "The client closed the connection before the call finished. The call was not charged.",
	}
)

// Stop notes that the process stops, so that it, and not their clients, ends the calls that it cuts off.
func (r *Runner) Stop() { r.stopping.Store(true) }

// left reports whether the client of a request has left.
func (r *Runner) left(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.Canceled) && !r.stopping.Load()
}

// leftBy returns the error of a call whose client has left. An error of its request remains: a client that has only
// closed its sending side may still read it.
func leftBy(err error) error {
	if APIError(err).Code == wire.InvalidRequest {
		return err
	}
	left := *clientLeft
	left.Cause = err
	return &left
}

// abort ends a held call that failed. A job goes back into the queue if it was interrupted because its process
// stops, and for another try if that may help.
func (c *paidCall) abort(ctx context.Context, cause error) {
	stopped := ctx.Err() != nil
	left := c.left(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()

	switch {
	case stopped && c.job != nil:
		c.requeue(ctx, c.store.ReturnJob)
	case c.retries(cause):
		c.requeue(ctx, c.store.RetryJob)
	case errors.Is(cause, errTurn):
		c.requeue(ctx, c.store.PostponeJob)
	case !stopped:
		c.release(ctx, APIError(cause))
	case left:
		c.release(ctx, clientLeft)
	default:
		c.release(ctx, cutOff)
	}

	if c.outcome == nil {
		return
	}
	if c.job == nil {
		c.Free(ctx, c.outcome.Body)
	}
	if c.outcome.File != nil {
		c.Files.drop(ctx, c.outcome)
	}
}

// retries reports whether a job that failed is tried again: the service may be the cause, and not the document.
func (c *paidCall) retries(cause error) bool {
	if c.job == nil {
		return false
	}

	tries := c.job.Tries
	if c.bulk != nil {
		tries -= c.bulk.chunkTries
	}
	return tries < store.MaxTries && (operation.Passing(cause) || notStored(cause))
}

// requeue puts the job back into the queue.
func (c *paidCall) requeue(ctx context.Context, put func(context.Context, store.Job) error) {
	if err := put(ctx, *c.job); err != nil {
		// The lease's reaper queues it again when this process is gone.
		c.log.LogAttrs(ctx, slog.LevelError, "return job failed", slog.String("call", c.id), slog.Any("error", err))
	}
}

// release releases the hold and sends the notifications of the failure.
func (c *paidCall) release(ctx context.Context, failure *wire.Error) {
	if c.unstored {
		failure = withoutInput(failure)
	}

	why := store.Failure{Code: string(failure.Code), Message: failure.Error(), Steps: c.times.text()}
	var told *store.Outbox
	if c.announced() {
		told = outbox(c.row(), c.Links.Failed(c.row(), why))
	}

	var err error
	if c.job != nil {
		err = c.store.ReleaseJob(ctx, *c.job, why, told)
	} else {
		err = c.store.Release(ctx, c.id, why, told)
	}
	if err == nil && failure.Code != wire.Canceled {
		c.countUsage(true)
	}

	if err != nil && !errors.Is(err, store.ErrNotFound) {
		// The lease's reaper returns the hold when this process is gone.
		c.log.LogAttrs(ctx, slog.LevelError, "release call failed", slog.String("call", c.id), slog.Any("error", err))
	}
}
