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

// The service's responses.
type (
	// JobStatus is the status of a job.
	JobStatus = wire.JobStatus
	// JobError is the error of a failed job.
	JobError = wire.JobError
	// FileURL is the URL of a stored result.
	FileURL = wire.FileURL
	// Upload is a file that was sent.
	Upload = wire.Upload
	// Acknowledged is the response to a deletion.
	Acknowledged = wire.Acknowledged
	// AccountSnapshot is an account and its wallet.
	AccountSnapshot = wire.AccountSnapshot
	// Wallet is the part of the snapshot that concerns money.
	Wallet = wire.Wallet
	// Price is one line of the price list.
	Price = wire.Price
	// PriceList lists the prices of the operations.
	PriceList = wire.PriceList
	// Usage is the number and the cost of successful calls in a period.
	Usage = wire.Usage
	// OperationUsage is the calls of one operation.
	OperationUsage = wire.OperationUsage
	// KeyUsage is the calls of one key.
	KeyUsage = wire.KeyUsage
	// TemplateUsage is the calls of one template.
	TemplateUsage = wire.TemplateUsage
	// DayUsage is the calls of one UTC day.
	DayUsage = wire.DayUsage
	// Limits is an account's own spending limits.
	Limits = wire.Limits
	// Health is the state of a running service.
	Health = wire.Health
)

// The values of JobStatus.Status.
const (
	JobProcessing = wire.JobProcessing
	JobCompleted  = wire.JobCompleted
	JobFailed     = wire.JobFailed
)
