package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// interfaceVersion is the version of the API, which is independent of the release.
const interfaceVersion = "1.0.0"

const interfaceDescription = `Documents over HTTP: send JSON, receive a file.

Every operation that creates a file responds with its bytes, or, with ` + "`\"response\": \"url\"`" +
	`, with a public URL
that works for 24 hours by default. A prepaid wallet pays a flat price per call. Failed, refused and rate-limited calls are free.

Limits: 2,000 pages per PDF, and 50 MiB per file unless the operator has set another. Time limits, without the time in
the queue:

- Web pages, HTML and Markdown: options.timeout.
- Properties of a file: 10 s.
- Text of a file: 20 s.
- Changes of a PDF's pages and content: 30 s.
- Rendering, compression, merging and conversion: 60 s.
- OCR, pdf.data and pdf.compare: 4 minutes.
`

// description is the description of the API in JSON.
type description []byte

func (a *API) openAPI(context.Context, call.Caller, noInput) (description, error) {
	return a.openapi()
}

func (d description) send(w http.ResponseWriter, r *http.Request) error {
	return sendTagged(w, r, d)
}

// operationCodes lists the errors that a call of any operation may return.
var operationCodes = [...]wire.Code{
	wire.URLNotAllowed, wire.PaymentRequired, wire.RenderFailed, wire.ProcessingFailed, wire.DeliveryFailed,
	wire.StorageUnavailable,
}

// describe returns the API as an OpenAPI 3.1 document in JSON. All of it derives from routes and from the table of
// operations.
func (a *API) describe() ([]byte, error) {
	doc := openAPIDocument{
		OpenAPI: "3.1.0",
		Info: documentInfo{
			Title: "relaypdf", Version: interfaceVersion, Summary: "Generate, convert and process documents.",
			Description: interfaceDescription, License: documentLicense{Name: "MIT", Identifier: "MIT"},
		},
		Servers:  []documentServer{{URL: a.BaseURL, Description: "This server."}},
		Security: []map[string][]string{{"bearer": {}}},
		Paths:    map[string]map[string]*endpoint{},
		Components: documentComponents{
			SecuritySchemes: map[string]securityScheme{"bearer": {
				Type: "http", Scheme: "bearer", BearerFormat: "API key",
				Description: "Send the key as \"Authorization: Bearer pdf_live_…\". Keys in the URL are rejected. " +
					"Calls with a test key (pdf_test_…) are free, up to " + strconv.Itoa(call.MaxTests) +
					" a day per account, and each page and image of the results has a band with the word Test. " +
					"Test keys cannot create ZIP archives, office documents, HTML or SVG, and cannot use language models.",
			}},
			Schemas: map[string]*jsonschema.Schema{}, Headers: sharedHeaders(), Parameters: sharedParameters(),
			Responses: map[string]responseDoc{}, Examples: map[string]exampleDoc{},
		},
	}

	doc.requests = commonRequests(a.Table.All())
	a.addExamples(&doc)
	doc.Components.Schemas["Error"] = errorSchema()
	for _, route := range a.routes() {
		a.addRoute(&doc, route)
	}
	addEvents(&doc)
	doc.shareResponses()
	splitObjects(&doc, a.routes())
	nameSteps(&doc, a.Table.All())

	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(doc)
	return text.Bytes(), err
}

// splitObjects makes components of all objects.
func splitObjects(doc *openAPIDocument, routes []route) {
	all := components{
		schemas: doc.Components.Schemas, names: map[string]string{}, learned: map[typedSchema]bool{},
		shared: map[string]string{}, whole: map[string]string{},
		contents: map[*jsonschema.Schema]string{},
	}
	answer := func(shape reflect.Type) { all.learn(shape, schema.AnswerSchema(shape)) }

	for _, r := range routes {
		if r.operation != nil {
			all.learn(r.operation.Input, r.operation.Schema)
			if r.operation.Answer != nil {
				answer(reflect.TypeOf(r.operation.Answer))
			}
		} else if r.answer != nil {
			answer(shown(r.answer))
		}
	}

	answer(reflect.TypeFor[wire.ErrorBody]())
	answer(reflect.TypeFor[store.WalletEvent]())
	answer(reflect.TypeFor[store.AlertEvent]())

	all.share("Call", reflect.TypeFor[schema.Common]())
	all.share("Source", reflect.TypeFor[operation.PDFSource]())
	all.share("Result", reflect.TypeFor[operation.Described]())
	all.share("Page", reflect.TypeFor[operation.PDFOptions]())
	all.share("Page", reflect.TypeFor[operation.SiteInput]())
	all.share("Page", reflect.TypeFor[operation.TemplateInput]())
	all.share("Stamp", reflect.TypeFor[operation.StampMark]())
	all.share("Facturx", reflect.TypeFor[operation.FacturxOptions]())
	all.share("Model", reflect.TypeFor[operation.QuoteFields]())
	all.share("S3", reflect.TypeFor[wire.S3Connection]())
	all.share("SFTP", reflect.TypeFor[wire.SFTPConnection]())
	all.share("Event", reflect.TypeFor[store.Envelope]())
	for _, r := range routes {
		if r.operation != nil && r.operation.Name == resultOptions {
			all.shareMembers("Result", r.operation.Schema)
			all.shareMembers("Options", r.operation.Schema.Properties.Value("options"))
		}
	}
	all.split()
	all.addForms(doc, routes)
	if all.schemas["Template"] != nil {
		// Version 1.0.0 has two names of one object.
		all.schemas["Template"] = &jsonschema.Schema{Ref: schemaRef("TemplateRecord").Ref}
	}
}

// resultOptions is an operation whose options are those of all results.
const resultOptions = "pdf.compress"

// nameSteps lists the operations that may be steps.
func nameSteps(doc *openAPIDocument, all []*schema.Operation[*operation.Deps]) {
	name := &jsonschema.Schema{Type: "string"}
	for _, o := range all {
		if !o.Composite() && !o.Varies {
			name.Enum = append(name.Enum, o.Name)
		}
	}

	doc.Components.Schemas[stepOperation] = name
	for _, step := range []string{"ThenStep", "PipelineStep"} {
		if described := doc.Components.Schemas[step]; described != nil {
			member := described.Properties.Value("op")
			described.Properties.Set("op", &jsonschema.Schema{
				Ref: schemaRef(stepOperation).Ref, Description: member.Description, Extras: member.Extras,
			})
		}
	}
}

// stepOperation is the component with the names of operations that may be steps.
const stepOperation = "StepOperation"

// withoutDefault moves the default of a parameter to its description.
func withoutDefault(p parameter) parameter {
	said := *p.Schema
	said.Description = p.Description
	told := (&components{}).parts(&said, p.Name)
	p.Description = told.Description
	told.Description = ""
	p.Schema = told
	return p
}

// addRoute describes one route.
func (a *API) addRoute(doc *openAPIDocument, r route) {
	tag := r.tag()
	if !slices.ContainsFunc(doc.Tags, func(t documentTag) bool { return t.Name == tag }) {
		doc.Tags = append(doc.Tags, documentTag{tag, tagDescription(tag)})
	}

	e := &endpoint{
		OperationID: r.operationID(), Summary: r.summary, Description: r.about, Tags: []string{tag},
		Responses: map[string]responseDoc{},
	}

	switch {
	case r.takesKey:
		e.Security = []map[string][]string{{}, {"bearer": {}}} // with or without
	case r.access == public:
		e.Security = []map[string][]string{}
	}

	for _, p := range r.params {
		described := parameter{
			Name: p.Name, In: p.In, Description: p.Schema.Description, Required: p.Required, Schema: bare(p.Schema),
		}
		if len(p.Schema.Examples) > 0 {
			described.Example = p.Schema.Examples[0]
		}
		if p.In == "path" && p.Name == "id" {
			described.Description = "ID of the " + r.resource() + "."
		}
		if p.In == "header" {
			name := componentName(p.Name, "")
			doc.Components.Parameters[name] = withoutDefault(described)
			e.Parameters = append(e.Parameters, parameterRef(name))
			continue
		}
		e.Parameters = append(e.Parameters, withoutDefault(described))
	}

	if r.operation != nil {
		a.addOperation(doc, e, r.operation)
	} else {
		addAnswers(doc, e, r)
	}

	addErrors(doc, e, r)
	if doc.Paths[r.pattern] == nil {
		doc.Paths[r.pattern] = map[string]*endpoint{}
	}
	doc.Paths[r.pattern][strings.ToLower(r.method)] = e
}

// addOperation describes the request and the responses of an operation.
func (a *API) addOperation(doc *openAPIDocument, e *endpoint, operation *schema.Operation[*operation.Deps]) {
	if why := operation.WhyOff(); why != "" {
		e.Description = why
		e.Unavailable = why
	} else {
		price := a.Prices[operation.Name]
		micros := int64(price)
		e.Price = &micros
		e.Description = operation.Description(price)
		e.ExampleCharge = a.exampleCharge(operation)
	}

	e.Parameters = append(e.Parameters, parameterRef("Idempotency-Key"), parameterRef(maxChargeParameter))
	e.Callbacks = map[string]reference{callbackName: {"#/components/callbacks/" + callbackName}}

	input := componentName(operation.Name, "Input")
	doc.Components.Schemas[input] = operation.Schema
	e.RequestBody = &requestBody{Required: true, Content: map[string]mediaType{
		"application/json": doc.request(operation, schemaRef(input)),
	}}

	stored := answerOf(doc, reflect.TypeFor[wire.FileURL]())
	stored.Examples = exampleOf(doc, answerName(reflect.TypeFor[wire.FileURL]()), a.addFileExample(doc, operation.Info))
	content := map[string]mediaType{"application/json": stored}
	for _, media := range operation.Produces {
		if media == "application/json" {
			forms := []any{stored.Schema}
			for _, row := range a.answering(operation) {
				result := addResult(doc, row.Info)
				maps.Copy(stored.Examples, result.Examples)
				forms = append(forms, result.Schema)
			}
			content[media] = mediaType{Schema: map[string]any{"anyOf": forms}, Examples: stored.Examples}
			continue
		}
		content[media] = mediaType{Schema: binarySchema()}
	}

	about := "The result. With response \"url\", a JSON object with its URL."
	if operation.Chains() {
		about += " With then, the result of its last step."
		content[anyMedia] = mediaType{Schema: binarySchema()}
	}

	accepted := "The job, with response \"async\". Poll its pollUrl."
	if operation.Bulk {
		about = "The price, with quote true."
		accepted = "The job. Poll its pollUrl."
		content = map[string]mediaType{"application/json": addResult(doc, operation.Info)}
	}

	e.Responses["200"] = doc.response(fileResponseName(operation.Produces), responseDoc{
		Description: about,
		Headers: headerRefs(wire.ResultIDHeader, wire.SizeHeader, wire.ChargedHeader, wire.WarningsHeader, wire.DeliveredHeader,
			"Content-Disposition",
			"Idempotent-Replayed", "RateLimit-Policy", "RateLimit"),
		Content: content,
	})

	job := answerOf(doc, reflect.TypeFor[wire.JobStatus]())
	job.Examples = exampleOf(doc, answerName(reflect.TypeFor[wire.JobStatus]()), processingExample)
	e.Responses["202"] = doc.response(acceptedResponse, responseDoc{
		Description: accepted,
		Headers: headerRefs(wire.ResultIDHeader, "Location", "Retry-After", "Idempotent-Replayed",
			"RateLimit-Policy", "RateLimit"),
		Content: map[string]mediaType{"application/json": job},
	})
}

// acceptedResponse is the name of the response with a job.
const acceptedResponse = "JobAccepted"

// fileResponseName names the response of operations whose result is a file of one type, such as PdfFile. It is empty
// for others.
func fileResponseName(produces []string) string {
	if len(produces) != 1 || produces[0] == "application/json" {
		return ""
	}
	_, kind, _ := strings.Cut(produces[0], "/")
	return componentName(kind, "File")
}

// response makes a component of a response and returns a reference to it. If the component of that name differs, or
// without a name, it returns the response.
func (d *openAPIDocument) response(name string, answer responseDoc) responseDoc {
	known, taken := d.Components.Responses[name]
	if name == "" || taken && !reflect.DeepEqual(known, answer) {
		return answer
	}
	d.Components.Responses[name] = answer
	return responseDoc{Ref: "#/components/responses/" + name}
}

// shareResponses makes components of JSON responses that several routes have, named after their schemas.
func (d *openAPIDocument) shareResponses() {
	type use struct {
		responses map[string]responseDoc
		status    string
	}
	uses := map[string][]use{}
	for _, methods := range d.Paths {
		for _, e := range methods {
			for status, r := range e.Responses {
				if _, named := r.Content["application/json"].Schema.(reference); named {
					key := fmt.Sprint(r)
					uses[key] = append(uses[key], use{e.Responses, status})
				}
			}
		}
	}

	often := func(a, b string) int { return cmp.Or(len(uses[b])-len(uses[a]), cmp.Compare(a, b)) }
	for _, key := range slices.SortedFunc(maps.Keys(uses), often) {
		for _, u := range uses[key] {
			r := u.responses[u.status]
			body, _ := r.Content["application/json"].Schema.(reference)
			if name := strings.TrimPrefix(body.Ref, schemaRef("").Ref); len(uses[key]) > 1 {
				u.responses[u.status] = d.response(name+"Success", r)
			}
		}
	}
}

// anyMedia is the content type of a result that then changes.
const anyMedia = "*/*"

// answering are the operations whose JSON results a call of an operation may return: the operation, or those that may
// be its steps.
func (a *API) answering(o *schema.Operation[*operation.Deps]) []*schema.Operation[*operation.Deps] {
	if !o.Flow {
		return []*schema.Operation[*operation.Deps]{o}
	}
	return slices.DeleteFunc(slices.Clone(a.Table.All()),
		func(step *schema.Operation[*operation.Deps]) bool { return step.Answer == nil || step.Varies })
}

// exampleCharge is the price of the example of an operation that costs the price of its steps.
func (a *API) exampleCharge(o *schema.Operation[*operation.Deps]) *int64 {
	text, err := json.Marshal(o.Example)
	if err != nil || !o.Flow {
		return nil
	}

	bound, err := o.Bind(context.Background(), bytes.NewReader(text), schema.Files{})
	if err != nil {
		return nil
	}
	defer bound.Close()

	price, err := operation.PriceOf(context.Background(), &operation.Deps{Prices: a.Prices}, o.Name, bound)
	if err != nil {
		return nil
	}
	return new(int64(price.Amount))
}

// addAnswers describes the responses of a route that is not an operation's.
func addAnswers(doc *openAPIDocument, e *endpoint, r route) {
	answer := responseDoc{Description: "Success.", Headers: headerRefs(r.headers...), Content: map[string]mediaType{}}
	switch {
	case r.answer != nil:
		answer.Content["application/json"] = answerOf(doc, r.answer)
	case r.content == "application/json":
		answer.Content[r.content] = mediaType{
			Schema: &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.TrueSchema},
		}
	default:
		answer.Content[r.content] = mediaType{Schema: binarySchema()}
	}

	e.Responses[strconv.Itoa(cmp.Or(r.status, http.StatusOK))] = answer
	if r.upload != nil {
		e.RequestBody = &requestBody{Required: true, Content: r.upload}
	}
	if r.refused != 0 {
		answer.Description = "Not ready. The body has the same fields."
		e.Responses[strconv.Itoa(r.refused)] = answer
	}

	for status, text := range r.others {
		other := responseDoc{Description: text, Headers: headerRefs()}
		if status == http.StatusPartialContent {
			other.Content = answer.Content
		}
		e.Responses[strconv.Itoa(status)] = other
	}

	if r.body != nil {
		name := componentName(strings.ReplaceAll(r.operationID(), "_", "."), "Input")
		doc.Components.Schemas[name] = r.body
		content := mediaType{Schema: schemaRef(name)}
		if r.example != "" {
			content.Example = json.RawMessage(r.example)
		}
		e.RequestBody = &requestBody{Required: true, Content: map[string]mediaType{"application/json": content}}
	}
}

// bare is a schema without the description that its parameter has.
func bare(schema *jsonschema.Schema) *jsonschema.Schema {
	copied := *schema
	copied.Description = ""
	copied.Examples = nil
	return &copied
}

// errorResponseNames shortens the names of the responses that all operations have.
var errorResponseNames = map[string]string{
	"AccountSuspended":                               "Forbidden",
	"InvalidRequestOrUrlNotAllowed":                  "BadRequest",
	"PayloadTooLarge":                                "TooLarge",
	"StorageUnavailable":                             "Unavailable",
	"DeliveryFailedOrProcessingFailedOrRenderFailed": "BadGateway",
}

// addErrors describes the errors of a route, one response for each status.
func addErrors(doc *openAPIDocument, e *endpoint, r route) {
	byStatus := map[int][]wire.Code{}
	for _, code := range r.errors() {
		byStatus[code.Status()] = append(byStatus[code.Status()], code)
	}

	for status, group := range byStatus {
		slices.Sort(group)
		var text strings.Builder
		var names []string
		for _, code := range slices.Compact(group) {
			name := componentName(string(code), "")
			says := code.Text()
			if code == wire.NotFound {
				name = componentName(r.resource(), name)
				says = r.notFoundText()
			}
			names = append(names, name)
			fmt.Fprintf(&text, "`%s`: %s\n\n", code, says)
		}

		content := mediaType{Schema: schemaRef("Error")}
		switch status {
		case http.StatusUnauthorized:
			content.Examples = exampleOf(doc, "Error", errorExample(wire.Unauthorized))
		case http.StatusBadRequest:
			content.Examples = exampleOf(doc, "Error", errorExample(wire.InvalidRequest))
		}

		answer := responseDoc{
			Description: strings.TrimSpace(text.String()), Headers: headerRefs(),
			Content: map[string]mediaType{"application/json": content},
		}
		if status == http.StatusTooManyRequests {
			answer.Headers = headerRefs("Retry-After", "RateLimit-Policy", "RateLimit")
		}

		// Readiness has its own response for 503.
		if _, taken := e.Responses[strconv.Itoa(status)]; !taken {
			name := strings.Join(names, "Or")
			e.Responses[strconv.Itoa(status)] = doc.response(cmp.Or(errorResponseNames[name], name), answer)
		}
	}
}

// errors lists the errors that a route may answer with.
func (r route) errors() []wire.Code {
	list := append([]wire.Code{wire.InternalError}, r.codes...)
	if middleware.Versioned(r.pattern) {
		list = append(list, wire.Unauthorized) // a key in the address is refused everywhere
	}
	if r.access != public {
		list = append(list, wire.AccountSuspended, wire.RateLimited)
	}

	if r.operation != nil {
		list = append(list, operationCodes[:]...)
		for _, code := range r.operation.Codes {
			list = append(list, wire.Code(code))
		}
	}

	if r.operation != nil || r.body != nil {
		list = append(list, wire.InvalidRequest, wire.PayloadTooLarge)
	}
	if r.access != public {
		list = append(list, wire.InvalidRequest) // unknown parameters are refused
	}
	if len(pathParameters(r.pattern)) > 0 {
		list = append(list, wire.NotFound)
	}

	return list
}

// tag returns the group that a route is listed in.
func (r route) tag() string {
	if r.operation != nil {
		return r.operation.Words()[0]
	}

	switch {
	case r.pattern == AgentPath:
		return "mcp"
	case !middleware.Versioned(r.pattern):
		return "service"
	}
	return strings.Split(r.pattern, "/")[2]
}

// operationID names a route the way tools are named: resource_verb.
func (r route) operationID() string {
	if r.operation != nil {
		return r.operation.Tool()
	}

	verb := cmp.Or(r.verb, map[string]string{
		"GET": "get", "POST": "create", "PUT": "put", "PATCH": "update", "DELETE": "delete",
	}[r.method])
	if r.verb == "" && r.method == http.MethodPost && strings.Count(r.pattern, "/") > 2 {
		verb = "" // the last word is one: /v1/templates/{id}/publish
	}

	var words []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(r.pattern, "/v1"), "/") {
		if segment != "" && segment[0] != '{' {
			words = append(words, strings.ReplaceAll(strings.TrimSuffix(segment, ".json"), "-", "_"))
		}
	}
	if verb != "" {
		words = append(words, verb)
	}

	return strings.Join(words, "_")
}

// tagDescription returns the description of a group.
func tagDescription(tag string) string {
	switch tag {
	case "service":
		return "Health of the server and description of the API. No key is required."
	case "mcp":
		return "Model Context Protocol endpoint for agents, with an API key or OAuth."
	case "account":
		return "Account of the API key."
	case "jobs":
		return "Status and results of asynchronous calls."
	case "billing":
		return "Prices, usage and spending limits."
	case "files":
		return "Uploads and results, stored until they expire: after 24 hours by default."
	case "fonts":
		return "Fonts installed on the server."
	case "webhooks":
		return "Webhook endpoints and their deliveries."
	case "connections":
		return "Buckets and SFTP servers to which results are delivered."
	case "signing-identities":
		return "Stored keys that sign PDFs."
	case "templates":
		return "Handlebars templates: drafts, published versions, partials and the layout gallery."
	case "gallery":
		return "Images of the gallery layouts. No key is required."
	case "pdf":
		return "Create and process PDFs."
	case "images":
		return "Capture web pages as images, and convert images."
	case "email":
		return "Create PDFs from emails."
	case "barcodes":
		return "Create barcodes and QR codes."
	case "pipelines":
		return "Run several operations in one call."
	case "zip":
		return "Create ZIP archives."
	case "convert":
		return "Convert office documents, HTML, Markdown, text, PDFs and images."
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

// headerRefs points to the named headers, and to the one of every response.
func headerRefs(names ...string) map[string]reference {
	refs := map[string]reference{"x-request-id": headerRef("x-request-id")}
	for _, name := range names {
		refs[name] = headerRef(name)
	}
	return refs
}

// componentName names a schema: the Input of "pdf.form.fill" is PdfFormFillInput.
func componentName(dotted, what string) string {
	var name strings.Builder
	for _, word := range strings.FieldsFunc(dotted, func(r rune) bool { return strings.ContainsRune(".-_", r) }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + what
}

// addResult adds the schema of an operation's JSON result, and its example, and returns references to them.
func addResult(doc *openAPIDocument, info schema.Info) mediaType {
	if info.Answer == nil {
		return mediaType{Schema: &jsonschema.Schema{Type: "object"}}
	}
	name := componentName(info.Name, "Result")
	doc.Components.Schemas[name] = schema.AnswerSchema(reflect.TypeOf(info.Answer))
	doc.Components.Examples[name] = exampleDoc{info.Answer}
	return mediaType{Schema: schemaRef(name), Examples: exampleOf(doc, name, name)}
}

// answerName returns the name of a response's schema.
func answerName(shape reflect.Type) string {
	switch shape { // the API has its own names for some
	case reflect.TypeFor[wire.FileURL]():
		return "FileUrlResponse"
	case reflect.TypeFor[wire.JobStatus]():
		return "JobStatusResponse"
	}
	return componentOf(shape.Name())
}

// answerOf adds the schema of a response's type and points to it and to its example.
func answerOf(doc *openAPIDocument, shape reflect.Type) mediaType {
	shape = shown(shape)
	name := answerName(shape)
	if doc.Components.Schemas[name] == nil {
		doc.Components.Schemas[name] = schema.AnswerSchema(shape)
	}
	return mediaType{Schema: schemaRef(name), Examples: exampleOf(doc, name, name)}
}

// errorSchema describes the body of every error.
func errorSchema() *jsonschema.Schema {
	schema := schema.AnswerSchema(reflect.TypeFor[wire.ErrorBody]())
	inner, _ := schema.Properties.Get("error")
	code, _ := inner.Properties.Get("code")
	for _, name := range wire.Codes() {
		code.Enum = append(code.Enum, name)
	}
	return schema
}

// Description returns the OpenAPI document in JSON.
func (a *API) Description() ([]byte, error) { return a.openapi() }
