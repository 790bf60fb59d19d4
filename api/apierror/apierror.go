// Package apierror creates the errors that clients receive. Their types and codes are in package wire.
package apierror

import (
	"time"

	"relaypdf/api/wire"
)

type (
	// Code is an error's machine-readable name.
	Code = wire.Code
	// Detail is one entry of an error's details.
	Detail = wire.Detail
	// Error is a failed request, as the client receives it.
	Error = wire.Error
)

// The codes of errors.
const (
	InvalidRequest     = wire.InvalidRequest
	URLNotAllowed      = wire.URLNotAllowed
	Unauthorized       = wire.Unauthorized
	PaymentRequired    = wire.PaymentRequired
	AccountSuspended   = wire.AccountSuspended
	NotFound           = wire.NotFound
	MethodNotAllowed   = wire.MethodNotAllowed
	PreconditionFailed = wire.PreconditionFailed
	PayloadTooLarge    = wire.PayloadTooLarge
	Canceled           = wire.Canceled
	RateLimited        = wire.RateLimited
	RenderFailed       = wire.RenderFailed
	ProcessingFailed   = wire.ProcessingFailed
	DeliveryFailed     = wire.DeliveryFailed
	ConvertUnavailable = wire.ConvertUnavailable
	AIUnavailable      = wire.AIUnavailable
	StorageUnavailable = wire.StorageUnavailable
	InternalError      = wire.InternalError
)

// Codes returns all codes, sorted.
func Codes() []Code { return wire.Codes() }

// Invalid returns an invalid_request error for one field. The message continues the sentence that begins with the
// field's name.
func Invalid(field, message string) *Error {
	return &Error{Code: InvalidRequest, Message: field + " " + message + ".", Details: []Detail{{Field: field, Message: message}}}
}

// Seconds rounds a wait up to whole seconds, one at least.
func Seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
