package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"relaypdf/api/op"
	"relaypdf/render"
	"relaypdf/store"
	"relaypdf/store/credit"
)

// Code is an error's machine-readable name, the same over every door.
type Code string

// The codes of the interface, and those that decisions added to it.
const (
	InvalidRequest     Code = "invalid_request"
	URLNotAllowed      Code = "url_not_allowed"
	Unauthorized       Code = "unauthorized"
	PaymentRequired    Code = "payment_required"
	AccountSuspended   Code = "account_suspended"
	NotFound           Code = "not_found"
	MethodNotAllowed   Code = "method_not_allowed"
	PreconditionFailed Code = "precondition_failed"
	PayloadTooLarge    Code = "payload_too_large"
	RateLimited        Code = "rate_limited"
	RenderFailed       Code = "render_failed"
	ProcessingFailed   Code = "processing_failed"
	ConvertUnavailable Code = "convert_unavailable"
	AIUnavailable      Code = "ai_unavailable"
	StorageUnavailable Code = "storage_unavailable"
	InternalError      Code = "internal_error"
)

// codes is the only place that gives a code its HTTP status and, for errors
// that say nothing of their own, its text.
var codes = map[Code]struct {
	status int
	text   string
}{
	InvalidRequest:     {http.StatusBadRequest, "The request is invalid."},
	URLNotAllowed:      {http.StatusBadRequest, "The address is not allowed: use https and a public host."},
	Unauthorized:       {http.StatusUnauthorized, "An API key is required: send it as \"Authorization: Bearer pdf_live_…\"."},
	PaymentRequired:    {http.StatusPaymentRequired, "The wallet does not cover this call."},
	AccountSuspended:   {http.StatusForbidden, "This account is suspended; its keys cannot be used. Please contact the operator."},
	NotFound:           {http.StatusNotFound, "There is nothing at this address."},
	MethodNotAllowed:   {http.StatusMethodNotAllowed, "This address does not take that method."},
	PreconditionFailed: {http.StatusPreconditionFailed, "The resource has changed since it was read."},
	PayloadTooLarge:    {http.StatusRequestEntityTooLarge, "The request is too large."},
	RateLimited:        {http.StatusTooManyRequests, "Too many requests; wait for the seconds in Retry-After."},
	RenderFailed:       {http.StatusBadGateway, "The document could not be rendered."},
	ProcessingFailed:   {http.StatusBadGateway, "The file could not be processed."},
	ConvertUnavailable: {http.StatusServiceUnavailable, "The document worker is not available; try again shortly."},
	AIUnavailable:      {http.StatusServiceUnavailable, "The AI provider is not available; try again shortly."},
	StorageUnavailable: {http.StatusServiceUnavailable, "The file storage is not available; try again shortly."},
	InternalError:      {http.StatusInternalServerError, "Something failed on our side; the call was not billed. Try again, and quote the request id if it persists."},
}

// Codes returns all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(codes)) }

// statusClientClosed is what the log shows for a client that left before its
// answer; nobody receives it.
const statusClientClosed = 499

// Detail is one entry of an error's details.
type Detail struct {
	Field              string         `json:"field,omitempty" jsonschema_description:"Path of the field, such as options.scale, or the name of a header or limit."`
	Message            string         `json:"message" jsonschema:"required" jsonschema_description:"What was wrong, and what is expected."`
	QuotedMicrodollars *credit.Amount `json:"quotedMicrodollars,omitempty" jsonschema_description:"Price of the refused call in microdollars."`
	LimitMicrodollars  *credit.Amount `json:"limitMicrodollars,omitempty" jsonschema_description:"The limit that refused it, in microdollars."`
}

// Error is what a client is told. Its cause is logged and never shown.
type Error struct {
	Code       Code
	Message    string // empty means the code's own text
	Details    []Detail
	RetryAfter int // seconds; 0 sends no header
	// RequestID is set on the errors that a Client received.
	RequestID string
	status    int // what a Client received; 0 means the code's own
	cause     error
}

// Error returns the message for the client.
func (e *Error) Error() string {
	if e.Message == "" {
		return codes[e.Code].text
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Status returns the HTTP status of the error's code, or the one that a
// Client received.
func (e *Error) Status() int {
	if e.status != 0 {
		return e.status
	}
	return codes[e.Code].status
}

// invalid returns an invalid_request for one field.
func invalid(field, message string) *Error {
	return asError(op.Faults{{Field: field, Message: message}})
}

// URLError refuses an address that a field holds.
type URLError struct {
	Field string
	Cause error
}

func (e *URLError) Error() string { return e.Field + ": " + e.Cause.Error() }

// Unwrap returns the policy's refusal.
func (e *URLError) Unwrap() error { return e.Cause }

// asError gives any error its code. This is the only place that does, so the
// packages below speak of causes and never of codes.
func asError(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	for _, classify := range []func(error) *Error{inputError, moneyError, fileError, convertFailure, renderError, webhookError} {
		if e := classify(err); e != nil {
			e.cause = err
			return e
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return &Error{Code: NotFound, cause: err}
	}
	return &Error{Code: InternalError, cause: err}
}

func inputError(err error) *Error {
	var faults op.Faults
	var size *op.SizeError
	var body *http.MaxBytesError
	var address *URLError
	var quota *store.QuotaError
	switch {
	case errors.As(err, &quota):
		return overQuota(quota)
	case errors.As(err, &faults):
		e := &Error{Code: InvalidRequest, Message: faults.Error()}
		for _, fault := range faults {
			e.Details = append(e.Details, Detail{Field: fault.Field, Message: fault.Message})
		}
		return e
	case errors.As(err, &size):
		text := "is larger than " + megabytes(size.Limit)
		return &Error{Code: PayloadTooLarge, Message: size.Field + " " + text + ".", Details: []Detail{{Field: size.Field, Message: text}}}
	case errors.As(err, &body):
		return &Error{Code: PayloadTooLarge, Message: "The request body is larger than " + megabytes(body.Limit) + "."}
	case errors.As(err, &address):
		text := "must be an https address of a public host"
		return &Error{Code: URLNotAllowed, Message: address.Field + " " + text + ".", Details: []Detail{{Field: address.Field, Message: text}}}
	}
	return nil
}

// overQuota refuses an upload that the account has no room for.
func overQuota(e *store.QuotaError) *Error {
	text := fmt.Sprintf("an account keeps at most %d uploads of %d GiB in all, and yours has %d with %d bytes; delete some, or wait for the 24 hours that each lasts",
		store.MaxUploads, store.MaxUploadBytes>>30, e.Files, e.Bytes)
	return &Error{Code: InvalidRequest, Message: "There is no room for the file: " + text + ".", Details: []Detail{{Field: uploadField, Message: "finds no room: " + text}}}
}

func megabytes(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

func moneyError(err error) *Error {
	var funds *store.FundsError
	var limit *store.LimitError
	switch {
	case errors.As(err, &funds):
		text := fmt.Sprintf("The wallet holds %v and this call costs %v. Add funds to go on.", funds.Balance, funds.Quote)
		return &Error{Code: PaymentRequired, Message: text, Details: []Detail{{
			Field: "wallet", Message: "does not cover the call", QuotedMicrodollars: &funds.Quote, LimitMicrodollars: &funds.Balance,
		}}}
	case errors.As(err, &limit):
		return overLimit(limit.Limit, limit.Quote, limit.Microdollars)
	case errors.Is(err, store.ErrSuspended):
		return &Error{Code: AccountSuspended}
	}
	return nil
}

// overLimit refuses a call whose quote a spending limit does not allow.
func overLimit(name string, quote, limit credit.Amount) *Error {
	return &Error{
		Code:    PaymentRequired,
		Message: fmt.Sprintf("This call costs %v, which %s (%v) does not allow.", quote, name, limit),
		Details: []Detail{{Field: name, Message: "does not allow the call", QuotedMicrodollars: &quote, LimitMicrodollars: &limit}},
	}
}

// renderError words the failures of a render for the customer: what failed,
// why, and where there is something to do about it, what.
func renderError(err error) *Error {
	var busy *render.BusyError
	var load *render.LoadError
	var limit *render.LimitError
	var size *render.SizeError
	var timeout *render.TimeoutError
	switch {
	case errors.As(err, &busy):
		return &Error{Code: RateLimited, Message: "All renderers are busy and the queue is full.", RetryAfter: seconds(busy.RetryAfter)}
	case errors.As(err, &timeout):
		return &Error{Code: RenderFailed, Message: fmt.Sprintf(
			"The document was not done after %v: time ran out while %s. Raise options.timeout (at most 60000 ms), or make the document lighter.", timeout.After, timeout.Step)}
	case errors.As(err, &load) && load.Status != 0:
		return &Error{Code: RenderFailed, Message: fmt.Sprintf("The page could not be loaded: its server answered with status %d.", load.Status)}
	case errors.As(err, &load):
		return &Error{Code: RenderFailed, Message: fmt.Sprintf("The page could not be loaded: %s.", load.Reason)}
	case errors.Is(err, render.ErrCrashed):
		return &Error{Code: RenderFailed, Message: "The browser crashed on this document, and again when it was retried."}
	case errors.As(err, &limit):
		return &Error{Code: ProcessingFailed, Message: fmt.Sprintf("The result is over its limit of %d %s.", limit.Max, limit.What)}
	case errors.As(err, &size):
		return &Error{Code: ProcessingFailed, Message: fmt.Sprintf(
			"The image would be %d × %d pixels; the limits are %d pixels a side and %d pixels in all.", size.Width, size.Height, size.MaxSide, size.MaxPixels)}
	case errors.Is(err, render.ErrTooLarge):
		return &Error{Code: ProcessingFailed, Message: "The result is over its size limit."}
	}
	return nil
}
