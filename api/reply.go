package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/schema"
)

// setService sets a header of the service and its branded copy.
func (a *API) setService(h http.Header, name, value string) {
	h.Set(name, value)
	if a.Brand != "" {
		h.Set("x-"+strings.ToLower(a.Brand)+strings.TrimPrefix(name, "x-service"), value)
	}
}

// writeJSON responds with a JSON object.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return sendJSON(w, status, body)
}

// sendJSON responds with a JSON text.
func sendJSON(w http.ResponseWriter, status int, body []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, err := w.Write(append(body, '\n'))
	return undelivered(err)
}

// errUndelivered wraps the errors of writing to a client that has gone.
type errUndelivered struct{ cause error }

func (e *errUndelivered) Error() string { return "answer not delivered: " + e.cause.Error() }
func (e *errUndelivered) Unwrap() error { return e.cause }

func undelivered(err error) error {
	if err == nil {
		return nil
	}
	return &errUndelivered{err}
}

// Fail responds with an error. It is the only place that writes one.
func (a *API) Fail(out http.ResponseWriter, r *http.Request, err error) {
	w := middleware.ResponseRecordOf(out)
	var gone *errUndelivered
	e := call.APIError(err)
	switch {
	// A client that has only closed its sending side may still read the error of its request.
	case errors.As(err, &gone) || r.Context().Err() != nil && e.Code != wire.InvalidRequest:
		middleware.Note(w, slog.String("left", err.Error()))
		if w.Status == 0 {
			w.WriteHeader(middleware.StatusClientClosed)
			a.noteLeft(w, r)
		}
		return
	case w.Status != 0:
		// The status is already sent: only a broken connection can notify the client.
		a.Logger.LogAttrs(r.Context(), slog.LevelError, "failed while answering",
			slog.String("requestId", middleware.RequestID(r.Context())), slog.Any("error", call.Loggable(err)))
		panic(http.ErrAbortHandler)
	case e.Code == wire.InternalError, e.Code == wire.StorageUnavailable:
		a.Logger.LogAttrs(r.Context(), slog.LevelError, "failed",
			slog.String("requestId", middleware.RequestID(r.Context())), slog.Any("error", call.Loggable(err)))
	}

	cut := errors.Is(e, errBodyCut)
	if !cut {
		middleware.Note(w, slog.String("code", string(e.Code)))
	}

	var over *call.RateError
	if errors.As(err, &over) {
		setRefusingWindow(w.Header(), over.Verdict)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	if e.Code == wire.Unauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="relaypdf"`)
	}

	kept := call.StorableError(err, e)
	body, err := a.errorBody(r.Context(), e)
	keptBody := body
	if err == nil && kept != e {
		keptBody, err = a.errorBody(r.Context(), kept)
	}

	switch {
	case err != nil:
	case cut: // It may have closed its sending side only.
		err = sendJSON(w, e.Status(), body)
		w.Status = middleware.StatusClientClosed
		a.noteLeft(w, r)
	default:
		middleware.DescribeError(r.Context(), string(kept.Code), kept.Error(), keptBody)
		err = sendJSON(w, e.Status(), body)
	}

	if err != nil {
		middleware.Note(w, slog.String("left", err.Error()))
	}
}

// noteLeft adds to the logs that the client left before its response, which is not an error of the service.
func (a *API) noteLeft(w http.ResponseWriter, r *http.Request) {
	e := &wire.Error{Code: wire.Canceled, Message: "The client closed the connection before the response."}
	middleware.Note(w, slog.String("code", string(e.Code)))
	if body, err := a.errorBody(r.Context(), e); err == nil {
		middleware.DescribeError(r.Context(), string(e.Code), e.Error(), body)
	}
}

// errorBody returns the JSON of an error.
func (a *API) errorBody(ctx context.Context, e *wire.Error) ([]byte, error) {
	return json.Marshal(e.Body(middleware.RequestID(ctx), a.Calls.Links.BaseURL))
}

// reply responds with an outcome in the mode that the request asked for.
func (a *API) reply(w http.ResponseWriter, outcome *call.Outcome) error {
	h := w.Header()
	a.setService(h, wire.ResultIDHeader, outcome.ResultID)
	if outcome.Replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	if outcome.Mode != schema.Async { // a job is charged when it is done
		a.setService(h, wire.ChargedHeader, strconv.FormatInt(int64(outcome.Charged), 10))
	}
	if n := len(outcome.Warnings); n > 0 {
		a.setService(h, wire.WarningsHeader, strconv.Itoa(n))
	}
	if outcome.Delivered != nil && outcome.Delivered.StatusCode != 0 {
		a.setService(h, wire.DeliveredHeader, strconv.Itoa(outcome.Delivered.StatusCode))
	}

	switch outcome.Mode {
	case schema.Async:
		h.Set("Location", a.Calls.Links.Job(outcome.ResultID))
		h.Set("Retry-After", "1")
		return writeJSON(w, http.StatusAccepted, a.Calls.Links.Accepted(outcome.ResultID))
	case schema.URL:
		link := a.Calls.Links.File(outcome.File)
		link.Delivered = outcome.Delivered
		return writeJSON(w, http.StatusOK, link)
	}

	size := strconv.FormatInt(outcome.Body.Size(), 10)
	a.setService(h, wire.SizeHeader, size)
	h.Set("Content-Type", outcome.ContentType)
	h.Set("Content-Length", size)
	h.Set("Content-Disposition", disposition("attachment", outcome.Filename))

	w.WriteHeader(http.StatusOK)
	_, err := io.Copy(w, outcome.Body.Open())
	return undelivered(err)
}

// Headers with the state of the rate limits (IETF draft). Each is one line with a list: many clients read only one
// line.
const rateHeader, ratePolicyHeader = "RateLimit", "RateLimit-Policy"

// setRefusingWindow lists the windows of a refusal before the windows of other limits.
func setRefusingWindow(h http.Header, verdict ratelimit.Verdict) {
	limits := h.Get(rateHeader)
	policies := h.Get(ratePolicyHeader)
	if strings.HasPrefix(limits, strconv.Quote(verdict.Refused)+";") {
		return
	}

	setRateHeaders(h, verdict)
	if limits != "" {
		h.Set(rateHeader, h.Get(rateHeader)+", "+limits)
		h.Set(ratePolicyHeader, h.Get(ratePolicyHeader)+", "+policies)
	}
}

// setRateHeaders sends the state of the rate limits. The limit that refused the request comes first.
func setRateHeaders(h http.Header, verdict ratelimit.Verdict) {
	var limits, policies []string
	for _, s := range verdict.States {
		at := len(limits)
		if s.Name == verdict.Refused {
			at = 0
		}
		limits = slices.Insert(limits, at,
			fmt.Sprintf("%q;r=%d;t=%d", s.Name, s.Remaining, int((s.Reset+time.Second-1)/time.Second)))
		policies = slices.Insert(policies, at, fmt.Sprintf("%q;q=%d;w=%d", s.Name, s.Limit, int(s.Length.Seconds())))
	}

	if len(limits) > 0 {
		h.Set(rateHeader, strings.Join(limits, ", "))
		h.Set(ratePolicyHeader, strings.Join(policies, ", "))
	}
}
