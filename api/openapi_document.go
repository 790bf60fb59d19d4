package api

import (
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"

	"github.com/invopop/jsonschema"
)

// openAPIDocument is an OpenAPI 3.1 document, as far as ours needs it.
type openAPIDocument struct {
	OpenAPI    string                          `json:"openapi"`
	Info       documentInfo                    `json:"info"`
	Servers    []documentServer                `json:"servers"`
	Security   []map[string][]string           `json:"security"`
	Tags       []documentTag                   `json:"tags"`
	Paths      map[string]map[string]*endpoint `json:"paths"`
	Webhooks   map[string]map[string]*endpoint `json:"webhooks"`
	Components documentComponents              `json:"components"`

	// requests are the names of examples that several operations have, by their JSON.
	requests map[string]string
}

type documentInfo struct {
	Title       string          `json:"title"`
	Version     string          `json:"version"`
	Summary     string          `json:"summary"`
	Description string          `json:"description"`
	License     documentLicense `json:"license"`
}

type documentLicense struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

type documentServer struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

type documentTag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type documentComponents struct {
	SecuritySchemes map[string]securityScheme     `json:"securitySchemes"`
	Schemas         map[string]*jsonschema.Schema `json:"schemas"`
	Headers         map[string]header             `json:"headers"`
	Parameters      map[string]parameter          `json:"parameters"`
	Callbacks       map[string]callbackDoc        `json:"callbacks"`
	Responses       map[string]responseDoc        `json:"responses"`
	Examples        map[string]exampleDoc         `json:"examples"`
}

type securityScheme struct {
	Type         string `json:"type"`
	Scheme       string `json:"scheme"`
	BearerFormat string `json:"bearerFormat"`
	Description  string `json:"description"`
}

// endpoint is an Operation Object: one method of one path. An operation, in
// this program, is a row of the table.
type endpoint struct {
	OperationID string   `json:"operationId"`
	Summary     string   `json:"summary"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags"`
	// Security is nil if it is that of the document.
	Security    []map[string][]string  `json:"security,omitzero"`
	Parameters  []any                  `json:"parameters,omitempty"`
	RequestBody *requestBody           `json:"requestBody,omitempty"`
	Responses   map[string]responseDoc `json:"responses"`
	Callbacks   map[string]reference   `json:"callbacks,omitempty"`
	// Price is set on the operations of the table that this server offers.
	Price *int64 `json:"x-relaypdf-price-microdollars,omitempty"`
	// ExampleCharge is the charge of the example request where that is not the price.
	ExampleCharge *int64 `json:"x-relaypdf-example-charge-microdollars,omitempty"`
	// Unavailable is set on operations that are unavailable, with the reason.
	Unavailable string `json:"x-relaypdf-unavailable,omitempty"`
}

// callbackDoc is a Callback Object: methods by the place of the URL.
type callbackDoc map[string]map[string]*endpoint

type requestBody struct {
	Required bool                 `json:"required"`
	Content  map[string]mediaType `json:"content"`
}

type mediaType struct {
	Schema  any `json:"schema,omitempty"`
	Example any `json:"example,omitempty"`
	// Examples are named like the schemas that they are of.
	Examples map[string]reference `json:"examples,omitempty"`
}

// responseDoc is a response, or a reference to one.
type responseDoc struct {
	Ref         string               `json:"$ref,omitempty"`
	Description string               `json:"description,omitempty"`
	Headers     map[string]reference `json:"headers,omitempty"`
	Content     map[string]mediaType `json:"content,omitempty"`
}

type header struct {
	Description string             `json:"description"`
	Required    bool               `json:"required,omitempty"`
	Schema      *jsonschema.Schema `json:"schema"`
	// Example is set on headers that every result has.
	Example any `json:"example,omitempty"`
}

type parameter struct {
	Name        string             `json:"name"`
	In          string             `json:"in"`
	Description string             `json:"description"`
	Required    bool               `json:"required,omitempty"`
	Schema      *jsonschema.Schema `json:"schema"`
	Example     any                `json:"example,omitempty"`
}

// reference points to a component of the document.
type reference struct {
	Ref string `json:"$ref"`
}

func schemaRef(name string) reference    { return reference{"#/components/schemas/" + name} }
func parameterRef(name string) reference { return reference{"#/components/parameters/" + name} }

// headerRef points to a header. The component of x-service-charged-microdollars is charged.
func headerRef(name string) reference {
	short := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "x-"), "service-"), "-microdollars")
	return reference{"#/components/headers/" + short}
}

// binarySchema describes the bytes of a file.
func binarySchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Format: "binary"} }

// uploadBodies describes the two ways to send a file.
func uploadBodies() map[string]mediaType {
	form := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), Required: []string{call.UploadField},
	}
	form.Properties.Set(call.UploadField, binarySchema())
	return map[string]mediaType{
		"application/octet-stream": {Schema: binarySchema()}, mediaForm: {Schema: form},
	}
}

// sharedHeaders describes the headers of answers. The service's own ones are
// also sent under the brand's name, which only the running service knows.
func sharedHeaders() map[string]header {
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }
	number := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer", Minimum: "0"} }

	return map[string]header{
		"request-id":          {"ID of the request: the client's, or a new one.", true, text(), exampleRequest},
		"id":                  {"ID of the result.", false, text(), exampleFile},
		"size":                {"Size of the result in bytes.", false, number(), exampleSize},
		"charged":             {"Amount charged for the call, in microdollars (1 USD = 1,000,000).", false, number(), nil},
		"Content-Disposition": {"Name of the result, in ASCII (filename) and in UTF-8 (filename*).", false, text(), nil},
		"Idempotent-Replayed": {"true if the response is that of an earlier call with the same Idempotency-Key.", false, text(), nil},
		"RateLimit-Policy":    {"Windows that the call counts in: name, quota (q) and length in seconds (w).", false, text(), nil},
		"RateLimit":           {"Remaining calls (r) of each window, and seconds until the next call is available (t).", false, text(), nil},
		"Location":            {"URL of the job.", true, &jsonschema.Schema{Type: "string", Format: "uri"}, nil},
		"Retry-After":         {"Seconds to wait before the next attempt.", true, &jsonschema.Schema{Type: "integer", Minimum: "1"}, nil},
		"warnings": {"Number of warnings about the source page; absent if there are none. " +
			"The response \"url\" and jobs include the warnings.", false, number(), nil},
		"delivered": {"HTTP status that the destination in deliverTo returned for the result; absent " +
			"without deliverTo, and for sftp.", false, number(), nil},
		"ETag": {"Version of the content, for If-None-Match.", false, text(), nil},
	}
}

// maxChargeParameter is the component of the header wire.MaxChargeHeader.
const maxChargeParameter = "MaxCharge"

// sharedParameters describes the headers that every operation accepts.
func sharedParameters() map[string]parameter {
	one := uint64(1)
	limit := uint64(255)

	return map[string]parameter{
		"Idempotency-Key": {
			Name: "Idempotency-Key", In: "header",
			Description: "Key for safe retries. For 24 hours, a call with the same key and body returns the result " +
				"of the first call, free of charge. The key of a failed call can be reused.",
			Schema: &jsonschema.Schema{Type: "string", MinLength: &one, MaxLength: &limit, Pattern: "^[ -~]+$"},
		},
		maxChargeParameter: {
			Name: wire.MaxChargeHeader, In: "header",
			Description: "Maximum price of this call, in microdollars (1 USD = 1,000,000). A call that costs more " +
				"fails with payment_required before it starts.",
			Schema: &jsonschema.Schema{Type: "integer", Minimum: "0"},
		},
	}
}
