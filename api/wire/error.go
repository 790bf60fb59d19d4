package wire

import "relaypdf/api/apierror"

// ErrorBody is the JSON of every error.
type ErrorBody struct {
	Error struct {
		Code      apierror.Code     `json:"code" jsonschema:"required" jsonschema_description:"Machine-readable name of the error."`
		Message   string            `json:"message" jsonschema:"required" jsonschema_description:"What failed, why, and what to do about it."`
		Details   []apierror.Detail `json:"details" jsonschema:"required" jsonschema_description:"One entry for each field, header or limit that was at fault."`
		RequestID string            `json:"requestId" jsonschema:"required" jsonschema_description:"Id of the request, to be quoted to the operator."`
	} `json:"error" jsonschema:"required" jsonschema_description:"The error."`
}
