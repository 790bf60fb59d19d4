package wire

import (
	"maps"
	"net/http"
	"slices"
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

// Text returns what an error of the code says that has nothing of its own to say.
func (c Code) Text() string { return codes[c].text }

// Status returns the HTTP status of the code.
func (c Code) Status() int { return codes[c].status }

// Detail is one entry of an error's details.
type Detail struct {
	Field              string `json:"field,omitempty" jsonschema_description:"Path of the field, such as options.scale, or the name of a header or limit."`
	Message            string `json:"message" jsonschema:"required" jsonschema_description:"What was wrong, and what is expected."`
	QuotedMicrodollars *int64 `json:"quotedMicrodollars,omitempty" jsonschema_description:"Price of the refused call in microdollars."`
	LimitMicrodollars  *int64 `json:"limitMicrodollars,omitempty" jsonschema_description:"The limit that refused it, in microdollars."`
}

// Error is what a client is told. Its cause is logged and never shown.
type Error struct {
	Code       Code
	Message    string // empty means the code's own text
	Details    []Detail
	RetryAfter int // seconds; 0 sends no header
	// RequestID is set on the errors that a client received.
	RequestID string
	// Received is the HTTP status that came with it to a client; 0 means the code's own.
	Received int
	Cause    error
}

// Error returns the message for the client.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.Text()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Status returns the HTTP status of the error's code, or the one that a
// client received.
func (e *Error) Status() int {
	if e.Received != 0 {
		return e.Received
	}
	return e.Code.Status()
}

// Body returns the JSON of the error, as the response to a request.
func (e *Error) Body(requestID string) ErrorBody {
	var body ErrorBody
	body.Error.Code, body.Error.Message, body.Error.RequestID = e.Code, e.Error(), requestID
	body.Error.Details = append([]Detail{}, e.Details...)
	return body
}

// ErrorBody is the JSON of every error.
type ErrorBody struct {
	Error struct {
		Code      Code     `json:"code" jsonschema:"required" jsonschema_description:"Machine-readable name of the error."`
		Message   string   `json:"message" jsonschema:"required" jsonschema_description:"What failed, why, and what to do about it."`
		Details   []Detail `json:"details" jsonschema:"required" jsonschema_description:"One entry for each field, header or limit that was at fault."`
		RequestID string   `json:"requestId" jsonschema:"required" jsonschema_description:"Id of the request, to be quoted to the operator."`
	} `json:"error" jsonschema:"required" jsonschema_description:"The error."`
}
