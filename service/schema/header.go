package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"golang.org/x/net/http/httpguts"
)

// maxHeaders and maxHeaderBytes keep headers within the limits of web servers, which answer 400 or 431 above them.
const maxHeaders, maxHeaderBytes = 50, 16 << 10

// Headers are request headers by name.
type Headers map[string]string

// JSONSchema bounds how many headers there are, and how long each.
func (Headers) JSONSchema() *jsonschema.Schema {
	members := uint64(maxHeaders)
	length := uint64(maxHeaderBytes)
	return &jsonschema.Schema{
		Type: "object", MaxProperties: &members,
		AdditionalProperties: &jsonschema.Schema{Type: "string", MaxLength: &length},
	}
}

// ownedHeaders are set by the connection: a second value would break the request or let it be read in two ways.
var ownedHeaders = []string{
	"connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "te", "trailer",
	"transfer-encoding", "upgrade",
}

// Check adds the errors in the headers of a field, and never their values. client is the sender of the request.
func (h Headers) Check(faults *FieldErrors, field, client string) {
	total := 0
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := h[name]
		lower := strings.ToLower(name)
		total += len(name) + len(value)
		at := field + "." + name

		switch {
		case !httpguts.ValidHeaderFieldName(name):
			// The name is not repeated: it may hold anything.
			faults.Add(field, "has an invalid header name. Use letters, digits and !#$%%&'*+-.^_`|~")
		case slices.Contains(ownedHeaders, lower) || strings.HasPrefix(lower, "proxy-"):
			faults.Add(at, "cannot be set: the %s controls this header", client)
		case seen[lower] != "":
			faults.Add(at, "is the same header as %s. Send it once", seen[lower])
		case !httpguts.ValidHeaderFieldValue(value):
			faults.Add(at, "must not contain line breaks or other control characters")
		}
		seen[lower] = name
	}

	if len(h) > maxHeaders || total > maxHeaderBytes {
		faults.Add(field, "must have at most %d headers with %d bytes in total; got %d headers with %d bytes",
			maxHeaders, maxHeaderBytes, len(h), total)
	}
}
