package wire

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Code is the machine-readable name of an error, the same in every API.
type Code string

// The error codes of the API.
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
	Canceled           Code = "canceled"
	RateLimited        Code = "rate_limited"
	RenderFailed       Code = "render_failed"
	ProcessingFailed   Code = "processing_failed"
	DeliveryFailed     Code = "delivery_failed"
	ConvertUnavailable Code = "convert_unavailable"
	AIUnavailable      Code = "ai_unavailable"
	StorageUnavailable Code = "storage_unavailable"
	InternalError      Code = "internal_error"
)

// codes is the only place that gives a code its HTTP status and its default message.
var codes = map[Code]struct {
	status int
	text   string
}{
	InvalidRequest:     {http.StatusBadRequest, "The request is invalid. Fix the fields in details."},
	URLNotAllowed:      {http.StatusBadRequest, "The URL is not allowed. Use https and a public host."},
	Unauthorized:       {http.StatusUnauthorized, "An API key is required. Send it as \"Authorization: Bearer pdf_live_…\"."},
	PaymentRequired:    {http.StatusPaymentRequired, "The wallet balance does not cover this call. Add funds and try again."},
	AccountSuspended:   {http.StatusForbidden, "This account is suspended and its keys do not work. Contact the operator."},
	NotFound:           {http.StatusNotFound, "The resource does not exist, or belongs to another account."},
	MethodNotAllowed:   {http.StatusMethodNotAllowed, "The method is not allowed on this URL. The Allow header lists the methods."},
	PreconditionFailed: {http.StatusPreconditionFailed, "The resource has changed since you read it. Read it again, then repeat your change."},
	Canceled:           {http.StatusConflict, "The job was cancelled and not charged."},
	PayloadTooLarge:    {http.StatusRequestEntityTooLarge, "The request is too large."},
	RateLimited:        {http.StatusTooManyRequests, "Too many requests. Wait for the number of seconds in Retry-After."},
	RenderFailed:       {http.StatusBadGateway, "The document could not be rendered."},
	ProcessingFailed:   {http.StatusBadGateway, "The file could not be processed."},
	DeliveryFailed:     {http.StatusBadGateway, "The result could not be delivered to deliverTo. The call was not charged."},
	ConvertUnavailable: {http.StatusServiceUnavailable, "The conversion is unavailable. Try again shortly."},
	AIUnavailable:      {http.StatusServiceUnavailable, "The AI provider is unavailable. Try again shortly."},
	StorageUnavailable: {http.StatusServiceUnavailable, "File storage is unavailable. Try again shortly."},
	InternalError: {http.StatusInternalServerError, "The server failed, and the call was not charged. Try " +
		"again; if it fails again, send the request ID to the operator."},
}

// Codes returns all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(codes)) }

// Text returns the default message of the code.
func (c Code) Text() string { return codes[c].text }

// Status returns the HTTP status of the code.
func (c Code) Status() int { return codes[c].status }

// Detail is one entry of an error's details.
type Detail struct {
	Field              string `json:"field,omitempty" jsonschema_description:"Path of the field, such as options.scale, or the name of a header or limit."`
	Message            string `json:"message" jsonschema:"required" jsonschema_description:"The rule that was broken, and the values that are accepted."`
	QuotedMicrodollars *int64 `json:"quotedMicrodollars,omitempty" jsonschema_description:"Price of the refused call in microdollars."`
	LimitMicrodollars  *int64 `json:"limitMicrodollars,omitempty" jsonschema_description:"Limit that the call exceeds, in microdollars."`
}

// Error is an error response. Its cause is logged and never shown.
type Error struct {
	Code       Code
	Message    string // empty means the default message of the code
	Details    []Detail
	RetryAfter int // seconds; 0 sends no header
	// RequestID and Docs are set on the errors that a client received.
	RequestID, Docs string
	// Received is the HTTP status that came with it to a client; 0 means the code's own.
	Received int
	Cause    error
}

// Invalid returns an invalid_request error for one field. The message continues the sentence that begins with the
// field's name.
func Invalid(field, message string) *Error {
	return &Error{
		Code: InvalidRequest, Message: field + " " + message + ".",
		Details: []Detail{{Field: field, Message: message}},
	}
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

// Body returns the JSON of the error, as the response to a request. The URL of its
// documentation begins with the service's baseURL.
func (e *Error) Body(requestID, baseURL string) ErrorBody {
	var body ErrorBody
	body.Error.Code = e.Code
	body.Error.Message = e.Error()
	body.Error.RequestID = requestID
	body.Error.Details = append([]Detail{}, e.Details...)
	body.Error.Docs = baseURL + "/docs/errors#" + string(e.Code)
	return body
}

// ErrorBody is the JSON of every error.
type ErrorBody struct {
	Error struct {
		Code      Code     `json:"code" jsonschema:"required" jsonschema_description:"Machine-readable name of the error."`
		Message   string   `json:"message" jsonschema:"required" jsonschema_description:"Description of the error and its fix, in one or two sentences."`
		Details   []Detail `json:"details" jsonschema:"required" jsonschema_description:"One entry for each field, header or limit that caused the error."`
		RequestID string   `json:"requestId" jsonschema:"required" jsonschema_description:"ID of the request. Send it to the operator with a question about the error."`
		Docs      string   `json:"docs" jsonschema:"required" jsonschema_description:"URL of the error's section in the documentation."`
	} `json:"error" jsonschema:"required" jsonschema_description:"The error."`
}

// Seconds rounds a wait up to whole seconds, one at least, as Retry-After has it.
func Seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
