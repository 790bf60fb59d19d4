package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"relaypdf/api/op"
	"relaypdf/store"
)

// The service's own headers, each also sent under the brand's name.
const (
	resultIDHeader  = "x-service-id"
	sizeHeader      = "x-service-size"
	chargedHeader   = "x-service-charged-microdollars"
	maxChargeHeader = "X-Service-Max-Charge-Microdollars"
)

// setService sets a header of the service and its branded copy.
func (a *API) setService(h http.Header, name, value string) {
	h.Set(name, value)
	if a.brand != "" {
		h.Set("x-"+strings.ToLower(a.brand)+strings.TrimPrefix(name, "x-service"), value)
	}
}

// writeJSON answers with a JSON object.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, err = w.Write(append(body, '\n'))
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

// errorBody is the JSON of every error.
type errorBody struct {
	Error struct {
		Code      Code     `json:"code" jsonschema:"required" jsonschema_description:"Machine-readable name of the error."`
		Message   string   `json:"message" jsonschema:"required" jsonschema_description:"What failed, why, and what to do about it."`
		Details   []Detail `json:"details" jsonschema:"required" jsonschema_description:"One entry for each field, header or limit that was at fault."`
		RequestID string   `json:"requestId" jsonschema:"required" jsonschema_description:"Id of the request, to be quoted to the operator."`
	} `json:"error" jsonschema:"required" jsonschema_description:"The error."`
}

// fail answers with an error. It is the only place that writes one.
func (a *API) fail(w *answer, r *http.Request, err error) {
	var gone *errUndelivered
	e := asError(err)
	switch {
	case errors.As(err, &gone) || r.Context().Err() != nil:
		note(w, slog.String("left", err.Error()))
		if w.status == 0 {
			w.status = statusClientClosed
		}
		return
	case w.status != 0:
		// The status has gone out: only a broken connection can tell the client.
		a.log.LogAttrs(r.Context(), slog.LevelError, "failed while answering", slog.String("requestId", requestID(r.Context())), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	case e.Code == InternalError, e.Code == StorageUnavailable:
		a.log.LogAttrs(r.Context(), slog.LevelError, "failed", slog.String("requestId", requestID(r.Context())), slog.Any("error", cmp.Or(e.cause, err)))
	}
	note(w, slog.String("code", string(e.Code)))
	var body errorBody
	body.Error.Code, body.Error.Message, body.Error.RequestID = e.Code, e.Error(), requestID(r.Context())
	body.Error.Details = append([]Detail{}, e.Details...)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	if e.Code == Unauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="relaypdf"`)
	}
	if err := writeJSON(w, e.Status(), body); err != nil {
		note(w, slog.String("left", err.Error()))
	}
}

// FileURL is the answer of a call with response "url".
type FileURL struct {
	ID        string    `json:"id" jsonschema:"required" jsonschema_description:"Id of the result."`
	Status    string    `json:"status" jsonschema:"required,enum=completed" jsonschema_description:"Always completed."`
	URL       string    `json:"url" jsonschema:"required,format=uri" jsonschema_description:"Public address of the file."`
	Filename  string    `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	SizeBytes int64     `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size in bytes."`
	ExpiresAt time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"When the address stops working, 24 hours after the file was made."`
}

func (a *API) fileURL(file *store.File) FileURL {
	return FileURL{
		ID: file.ID, Status: "completed", URL: a.baseURL + "/v1/files/" + file.ID,
		Filename: file.Filename, SizeBytes: file.Size, ExpiresAt: file.ExpiresAt.UTC().Truncate(time.Millisecond),
	}
}

// reply answers with an outcome in the mode that the request asked for.
func (a *API) reply(w http.ResponseWriter, outcome *Outcome) error {
	h := w.Header()
	a.setService(h, resultIDHeader, outcome.ResultID)
	if outcome.Replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	if outcome.Mode != op.Async { // a job is charged when it is done
		a.setService(h, chargedHeader, strconv.FormatInt(int64(outcome.Charged), 10))
	}
	switch outcome.Mode {
	case op.Async:
		h.Set("Location", a.jobURL(outcome.ResultID))
		h.Set("Retry-After", "1")
		return writeJSON(w, http.StatusAccepted, a.accepted(outcome.ResultID))
	case op.URL:
		return writeJSON(w, http.StatusOK, a.fileURL(outcome.File))
	}
	size := strconv.FormatInt(outcome.Body.Size(), 10)
	a.setService(h, sizeHeader, size)
	h.Set("Content-Type", outcome.ContentType)
	h.Set("Content-Length", size)
	h.Set("Content-Disposition", disposition("attachment", outcome.Filename))
	w.WriteHeader(http.StatusOK)
	_, err := io.Copy(w, outcome.Body.Open())
	return undelivered(err)
}
