package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"relaypdf/api/op"
)

// interfaceVersion is the version of the interface, which is not the program's.
const interfaceVersion = "1.0.0"

const interfaceDescription = `Documents over HTTP: send JSON, receive a file.

Every generating operation answers with the bytes of its result, or, with ` + "`\"response\": \"url\"`" + `, with
a public address that works for 24 hours. Calls are paid from a prepaid wallet at a flat price; a call that fails,
is refused or is rate limited is not billed.`

// edgeCache is the Cache-Control of the answers that a cache in front of the
// service may keep; all others are no-store.
const edgeCache = "public, s-maxage=300, stale-while-revalidate=60"

// getOpenAPI sends the description of the interface.
func (a *API) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(a.openapi)))
	h.Set("Cache-Control", edgeCache)
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(a.openapi)
	return undelivered(err)
}

// routeNote holds what the document says of a route that its row in routes and
// the table of operations do not.
type routeNote struct {
	query []parameter // and headers
	// body is an example of the JSON body's type.
	body any
	// upload tells of a body that is no JSON, by its content type.
	upload map[string]mediaType
	// content is the type of an answer that is not described by a struct.
	content string
	headers []string
	// others are further answers: by status, their description.
	others map[int]string
	// created tells that the answer's status is 201.
	created bool
	// refused is the status of a negative answer of the same shape.
	refused int
	codes   []Code
}

// routeNotes is keyed by method and pattern.
func routeNotes() map[string]routeNote {
	span := func(name, text string) parameter {
		return parameter{Name: name, In: "query", Description: text, Schema: &jsonschema.Schema{Type: "string"}, Example: "2026-01-31"}
	}
	return map[string]routeNote{
		"GET /health/ready": {refused: http.StatusServiceUnavailable},
		"GET /openapi.json": {content: "application/json"},
		"GET /v1/billing/usage": {
			query: []parameter{
				span("from", "Start of the span: a date, or a time in RFC 3339. 30 days before the end by default, 366 at most."),
				span("to", "End of the span: a date, or a time in RFC 3339. Now by default."),
			},
			codes: []Code{InvalidRequest},
		},
		"PATCH /v1/billing/limits":                 {body: Limits{}},
		"POST /v1/webhooks":                        {body: WebhookInput{}, created: true, codes: []Code{URLNotAllowed}},
		"PATCH /v1/webhooks/{id}":                  {body: WebhookPatch{}, codes: []Code{URLNotAllowed}},
		"POST /v1/webhooks/{id}/test":              {codes: []Code{InvalidRequest}},
		"POST /v1/webhooks/deliveries/{id}/replay": {codes: []Code{InvalidRequest}},
		"POST /v1/files": {
			created: true, upload: uploadBodies(),
			query: []parameter{{
				Name: filenameHeader, In: "header", Description: "Name of the file, in UTF-8, percent-encoded or not. A form's file brings its own.",
				Schema: &jsonschema.Schema{Type: "string"}, Example: "letter.pdf",
			}},
			codes: []Code{InvalidRequest, PayloadTooLarge, StorageUnavailable},
		},
		"GET /v1/files/{id}": {
			content: "application/octet-stream",
			headers: []string{resultIDHeader, sizeHeader, "Content-Disposition", "ETag"},
			others: map[int]string{
				http.StatusPartialContent:               "The part that the Range header asked for.",
				http.StatusNotModified:                  "The client has this content: If-None-Match names it.",
				http.StatusRequestedRangeNotSatisfiable: "The Range header asks for nothing that the file has.",
			},
			codes: []Code{RateLimited, StorageUnavailable},
		},
	}
}

// operationCodes are the errors that a call of any operation may come to.
var operationCodes = [...]Code{URLNotAllowed, PaymentRequired, RenderFailed, ProcessingFailed, StorageUnavailable}

// describe returns the interface as an OpenAPI 3.1 document in JSON. All of it
// derives from routes and from the table of operations.
func (a *API) describe() ([]byte, error) {
	doc := document{
		OpenAPI: "3.1.0",
		Info: documentInfo{
			Title: "relaypdf", Version: interfaceVersion, Summary: "Generate, convert and process documents.",
			Description: interfaceDescription, License: documentLicense{Name: "MIT", Identifier: "MIT"},
		},
		Servers: []documentServer{{URL: a.baseURL, Description: "This service."}},
		Paths:   map[string]map[string]*endpoint{},
		Components: documentComponents{
			SecuritySchemes: map[string]securityScheme{"bearer": {
				Type: "http", Scheme: "bearer", BearerFormat: "API key",
				Description: "Send the key as \"Authorization: Bearer pdf_live_…\". A key in the address is refused.",
			}},
			Schemas: map[string]*jsonschema.Schema{}, Headers: sharedHeaders(), Parameters: sharedParameters(),
		},
	}
	doc.Components.Schemas["Error"] = errorSchema()
	notes := routeNotes()
	for _, route := range a.routes() {
		name := route.method + " " + route.pattern
		a.addRoute(&doc, route, notes[name])
		delete(notes, name)
	}
	for name := range notes {
		return nil, fmt.Errorf("the OpenAPI document has notes on %s, which is no route", name)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(doc)
	return text.Bytes(), err
}

// addRoute describes one route.
func (a *API) addRoute(doc *document, r route, n routeNote) {
	tag := r.tag()
	if !slices.ContainsFunc(doc.Tags, func(t documentTag) bool { return t.Name == tag }) {
		doc.Tags = append(doc.Tags, documentTag{tag, tagDescription(tag)})
	}
	e := &endpoint{
		OperationID: r.operationID(), Summary: r.summary, Tags: []string{tag},
		Security: []map[string][]string{}, Responses: map[string]responseDoc{},
	}
	if r.access != public {
		e.Security = append(e.Security, map[string][]string{"bearer": {}})
	}
	for _, name := range pathParameters(r.pattern) {
		e.Parameters = append(e.Parameters, parameter{
			Name: name, In: "path", Description: "Id of the " + r.resource() + ".", Required: true,
			Schema: &jsonschema.Schema{Type: "string"},
		})
	}
	for _, p := range n.query {
		e.Parameters = append(e.Parameters, p)
	}
	if r.operation != nil {
		a.addOperation(doc, e, r.operation)
	} else {
		addAnswers(doc, e, r, n)
	}
	addErrors(e, r, n)
	if doc.Paths[r.pattern] == nil {
		doc.Paths[r.pattern] = map[string]*endpoint{}
	}
	doc.Paths[r.pattern][strings.ToLower(r.method)] = e
}

// addOperation describes the request and the answers of an operation.
func (a *API) addOperation(doc *document, e *endpoint, operation *op.Operation[*Env]) {
	price := a.prices[operation.Name]
	micros := int64(price)
	e.Price = &micros
	e.Description = strings.TrimSpace(fmt.Sprintf("One successful call costs %v. %s", price, operation.PriceNote))
	e.Parameters = append(e.Parameters, parameterRef("Idempotency-Key"), parameterRef(maxChargeHeader))
	input := inputName(operation.Name)
	doc.Components.Schemas[input] = operation.Schema
	e.RequestBody = &requestBody{Required: true, Content: map[string]mediaType{
		"application/json": {Schema: schemaRef(input), Example: operation.Example},
	}}
	stored := addSchema(doc, FileURL{})
	content := map[string]mediaType{"application/json": {Schema: stored}}
	for _, media := range operation.Produces {
		if media == "application/json" {
			content[media] = mediaType{Schema: map[string]any{"anyOf": []any{stored, &jsonschema.Schema{Type: "object"}}}}
			continue
		}
		content[media] = mediaType{Schema: binarySchema()}
	}
	e.Responses["200"] = responseDoc{
		Description: "The result; or, with response \"url\", where it can be fetched.",
		Headers: headerRefs(resultIDHeader, sizeHeader, chargedHeader, "Content-Disposition",
			"Idempotent-Replayed", "RateLimit-Policy", "RateLimit"),
		Content: content,
	}
	e.Responses["202"] = responseDoc{
		Description: "With response \"async\": the job, which is polled at its pollUrl.",
		Headers:     headerRefs(resultIDHeader, "Location", "Retry-After", "Idempotent-Replayed", "RateLimit-Policy", "RateLimit"),
		Content:     map[string]mediaType{"application/json": {Schema: addSchema(doc, JobStatus{})}},
	}
}

// addAnswers describes the answers of a route that is not an operation's.
func addAnswers(doc *document, e *endpoint, r route, n routeNote) {
	answer := responseDoc{Description: "The answer.", Headers: headerRefs(n.headers...), Content: map[string]mediaType{}}
	switch {
	case r.answer != nil:
		answer.Content["application/json"] = mediaType{Schema: addSchema(doc, r.answer)}
	case n.content == "application/json":
		answer.Content[n.content] = mediaType{Schema: &jsonschema.Schema{Type: "object"}}
	default:
		answer.Content[n.content] = mediaType{Schema: binarySchema()}
	}
	if n.created {
		e.Responses["201"] = answer
	} else {
		e.Responses["200"] = answer
	}
	if n.upload != nil {
		e.RequestBody = &requestBody{Required: true, Content: n.upload}
	}
	if n.refused != 0 {
		answer.Description = "A negative answer, in the same shape."
		e.Responses[strconv.Itoa(n.refused)] = answer
	}
	for status, text := range n.others {
		other := responseDoc{Description: text, Headers: headerRefs()}
		if status == http.StatusPartialContent {
			other.Content = answer.Content
		}
		e.Responses[strconv.Itoa(status)] = other
	}
	if n.body != nil {
		// A change may leave out any member, and no body may name another.
		body := *op.AnswerSchema(reflect.TypeOf(n.body))
		body.AdditionalProperties = jsonschema.FalseSchema
		if r.method == http.MethodPatch {
			body.Required = nil
		}
		e.RequestBody = &requestBody{Required: true, Content: map[string]mediaType{"application/json": {Schema: &body}}}
	}
}

// addErrors describes the errors of a route, one answer for each status.
func addErrors(e *endpoint, r route, n routeNote) {
	byStatus := map[int][]Code{}
	for _, code := range r.codes(n) {
		byStatus[codes[code].status] = append(byStatus[codes[code].status], code)
	}
	for status, group := range byStatus {
		slices.Sort(group)
		var text strings.Builder
		for _, code := range slices.Compact(group) {
			fmt.Fprintf(&text, "`%s`: %s\n\n", code, codes[code].text)
		}
		answer := responseDoc{
			Description: strings.TrimSpace(text.String()), Headers: headerRefs(),
			Content: map[string]mediaType{"application/json": {Schema: schemaRef("Error")}},
		}
		if status == http.StatusTooManyRequests {
			answer.Headers = headerRefs("Retry-After", "RateLimit-Policy", "RateLimit")
		}
		// Readiness has an answer of its own for 503.
		if _, taken := e.Responses[strconv.Itoa(status)]; !taken {
			e.Responses[strconv.Itoa(status)] = answer
		}
	}
}

// codes lists the errors that a route may answer with.
func (r route) codes(n routeNote) []Code {
	list := append([]Code{InternalError}, n.codes...)
	if isAPI(r.pattern) {
		list = append(list, Unauthorized) // a key in the address is refused everywhere
	}
	if r.access != public {
		list = append(list, AccountSuspended, RateLimited)
	}
	if r.operation != nil {
		list = append(list, operationCodes[:]...)
	}
	if r.operation != nil || n.body != nil {
		list = append(list, InvalidRequest, PayloadTooLarge)
	}
	if len(pathParameters(r.pattern)) > 0 {
		list = append(list, NotFound)
	}
	return list
}

// tag returns the group that a route is listed in.
func (r route) tag() string {
	if r.operation != nil {
		return r.operation.Words()[0]
	}
	if !isAPI(r.pattern) {
		return "service"
	}
	return strings.Split(r.pattern, "/")[2]
}

// resource names, in the singular, what the route's id is of.
func (r route) resource() string {
	before, _, _ := strings.Cut(r.pattern, "/{")
	name := before[strings.LastIndexByte(before, '/')+1:]
	if stem, ok := strings.CutSuffix(name, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(name, "s")
}

// operationID names a route the way tools are named: resource_verb.
func (r route) operationID() string {
	if r.operation != nil {
		return r.operation.Tool()
	}
	verb := map[string]string{"GET": "get", "POST": "create", "PATCH": "update", "DELETE": "delete"}[r.method]
	var words []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(r.pattern, "/v1"), "/") {
		if segment != "" && segment[0] != '{' {
			words = append(words, strings.TrimSuffix(segment, ".json"))
		}
	}
	return strings.Join(append(words, verb), "_")
}

// tagDescription says what a group holds.
func tagDescription(tag string) string {
	switch tag {
	case "service":
		return "State and description of the service. No key is needed."
	case "account":
		return "The account that a key belongs to."
	case "jobs":
		return "Work that goes on after its request."
	case "billing":
		return "Prices, usage and spending limits."
	case "files":
		return "Uploads and results, stored for 24 hours."
	case "webhooks":
		return "Endpoints that are told of events, and what was sent to them."
	case "pdf":
		return "Make and process PDF documents."
	}
	return "Operations on " + tag + "."
}

// pathParameters lists the names in braces of a pattern.
func pathParameters(pattern string) []string {
	var names []string
	for segment := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// headerRefs points to the named headers, and to the one of every answer.
func headerRefs(names ...string) map[string]reference {
	refs := map[string]reference{"x-request-id": headerRef("x-request-id")}
	for _, name := range names {
		refs[name] = headerRef(name)
	}
	return refs
}

// inputName names the schema of an operation's input: "pdf.form.fill" is
// PdfFormFillInput.
func inputName(operation string) string {
	var name strings.Builder
	for _, word := range strings.FieldsFunc(operation, func(r rune) bool { return r == '.' || r == '-' }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Input"
}

// addSchema adds the schema of an answer's type and points to it.
func addSchema(doc *document, answer any) reference {
	shape := reflect.TypeOf(answer)
	name := shape.Name()
	switch shape { // the interface has names of its own for some
	case reflect.TypeFor[FileURL]():
		name = "FileUrlResponse"
	case reflect.TypeFor[JobStatus]():
		name = "JobStatusResponse"
	}
	if doc.Components.Schemas[name] == nil {
		doc.Components.Schemas[name] = op.AnswerSchema(shape)
	}
	return schemaRef(name)
}

// errorSchema describes the body of every error.
func errorSchema() *jsonschema.Schema {
	schema := op.AnswerSchema(reflect.TypeFor[errorBody]())
	inner, _ := schema.Properties.Get("error")
	code, _ := inner.Properties.Get("code")
	for _, name := range Codes() {
		code.Enum = append(code.Enum, name)
	}
	return schema
}
