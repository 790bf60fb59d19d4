package api

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// postOperation is the HTTP handler of one operation, for callers with a key.
func (a *API) postOperation(
	operation *schema.Operation[*operation.Deps],
) func(http.ResponseWriter, *http.Request) error {
	return runOperation(a, operation, func(r *http.Request) (call.Caller, error) {
		return a.authenticate(r.Context(), bearer(r.Header), middleware.ClientIP(r.Context()), a.callerOf)
	})
}

// runOperation handles the requests of one operation. who finds the caller.
func runOperation(
	a *API, operation *schema.Operation[*operation.Deps], who func(*http.Request) (call.Caller, error),
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		caller, err := who(r)
		if err != nil {
			return err
		}
		a.AfterStep("authenticate")

		request := call.Request{Operation: operation, Caller: caller, RequestID: middleware.RequestID(r.Context())}
		readCallHeaders(r.Header, &request)
		refuseQuery(r.URL.Query(), &request)
		request.Form = formBoundary(r.Header)
		request.Body = &httpBody{r: r, limit: newBody(w, r, a.options.MaxBody)}

		outcome, verdict, err := a.Calls.Do(r.Context(), request)
		setRateHeaders(w.Header(), verdict)
		if outcome != nil {
			middleware.Describe(r.Context(), func(logged *store.Request) {
				logged.CallID = outcome.CallID
				logged.Price = charged(outcome)
			})
		}
		if err != nil {
			return err
		}

		middleware.Note(w, slog.String("call", outcome.CallID))
		return a.deliver(r.Context(), w, outcome)
	}
}

// charged returns the price of a call that its request has charged. A repeated response is not charged again.
func charged(outcome *call.Outcome) credit.Amount {
	if outcome.Replayed {
		return 0
	}
	return outcome.Charged
}

// maxQueryName bounds the name of a parameter in a fault.
const maxQueryName = 64

// refuseQuery faults parameters in the address of an operation, which has none: its
// fields would be left out in silence.
func refuseQuery(query url.Values, request *call.Request) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		field := strings.ToValidUTF8(name[:min(len(name), maxQueryName)], "\uFFFD")
		request.Faults.Add(field, "is not a query parameter. Send it in the request body%s",
			schema.Near(request.Operation.Schema, name))
	}
}

// deliver responds with an outcome and frees it.
func (a *API) deliver(ctx context.Context, w http.ResponseWriter, outcome *call.Outcome) error {
	err := a.Calls.Deliver(ctx, outcome, func(outcome *call.Outcome) error { return a.reply(w, outcome) })
	a.AfterStep("answered")
	return err
}

// httpBody passes the body of a request to the pipeline at the step that reads it, and checks the content type there:
// a wrong one is an input error. Only a caller who has shown a key sees this error, and never without a body.
type httpBody struct {
	r     *http.Request
	limit io.Reader
	err   error
	begun bool
}

func (b *httpBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}

	n, err := b.limit.Read(p)
	if n > 0 && !b.begun {
		b.begun = true
		if declared := b.r.Header; formBoundary(declared) == "" && !isJSON(declared.Get("Content-Type")) {
			b.err = wire.Invalid("Content-Type",
				"must be application/json in UTF-8, or multipart/form-data with a boundary")
			return 0, b.err
		}
	}
	return n, err
}

// formBoundary returns the boundary between the parts of a form; empty for any other body.
func formBoundary(h http.Header) string {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		return ""
	}
	return params["boundary"]
}

// readCallHeaders sets the fields of a call that come from the request's headers, and adds their errors.
func readCallHeaders(h http.Header, request *call.Request) {
	faults := &request.Faults
	if keys := h.Values("Idempotency-Key"); len(keys) > 1 {
		faults.Add("Idempotency-Key", "is given more than once")
	} else if len(keys) == 1 {
		request.SetIdempotencyKey(keys[0])
	}

	for _, name := range slices.Sorted(maps.Keys(h)) {
		if !strings.HasPrefix(name, "X-") || !strings.HasSuffix(name, "-Max-Charge-Microdollars") {
			continue
		}

		for _, value := range h[name] {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 62)
			amount := credit.Amount(n)
			switch {
			case err != nil:
				faults.Add(name, "must be a whole number of microdollars, 0 or more")
			case request.MaxCharge != nil && *request.MaxCharge != amount:
				faults.Add(name, "is given with two different values")
			default:
				request.MaxCharge = &amount
			}
		}
	}
}
