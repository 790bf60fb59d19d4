package wire

// The service's own headers, each also sent under the brand's name.
const (
	ResultIDHeader  = "x-service-id"
	SizeHeader      = "x-service-size"
	WarningsHeader  = "x-service-warnings"
	DeliveredHeader = "x-service-delivered"
	ChargedHeader   = "x-service-charged-microdollars"
	MaxChargeHeader = "X-Service-Max-Charge-Microdollars"
	// RequestIDHeader names a request in responses, log lines and error bodies.
	RequestIDHeader = "X-Request-Id"
	// FilenameHeader names an upload.
	FilenameHeader = "X-Filename"
)
