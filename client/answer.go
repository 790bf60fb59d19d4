package client

import "github.com/relaypdf/relaypdf/api/wire"

type (
	// Error is a refusal by the service.
	Error = wire.Error
	// Code is the machine-readable name of an error.
	Code = wire.Code
	// Detail is one of the fields, headers or limits that were at fault.
	Detail = wire.Detail
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
	RateLimited        = wire.RateLimited
	RenderFailed       = wire.RenderFailed
	ProcessingFailed   = wire.ProcessingFailed
	DeliveryFailed     = wire.DeliveryFailed
	ConvertUnavailable = wire.ConvertUnavailable
	AIUnavailable      = wire.AIUnavailable
	StorageUnavailable = wire.StorageUnavailable
	InternalError      = wire.InternalError
)

// The values of JobStatus.Status.
const (
	JobProcessing = wire.JobProcessing
	JobCompleted  = wire.JobCompleted
	JobFailed     = wire.JobFailed
)
