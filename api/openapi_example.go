package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"path"
	"reflect"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/editorlink"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
)

// Values of the examples.
const (
	exampleHash     = "01m8f1ktf4locebq67qahtvrj8j2p6pcvkqye1s"
	exampleFile     = "file_" + exampleHash
	exampleEndpoint = "we_" + exampleHash
	exampleRequest  = "req_" + exampleHash
	exampleTemplate = "01a21e1a-dd18-7d83-b227-bff3939bb81c"
	exampleSize     = 24318 // bytes
	exampleHTML     = "<h1>Invoice {{number}}</h1>"
	exampleHook     = "https://shop.example.com/hooks/relaypdf"
	exampleSite     = "https://shop.example.com"
)

// exampleDoc is an Example Object.
type exampleDoc struct {
	Value any `json:"value"`
}

// addExamples adds an example of each JSON response, named like its schema. All are values of the responses' own Go
// types.
func (a *API) addExamples(doc *openAPIDocument) {
	for _, value := range a.exampleValues() {
		doc.Components.Examples[answerName(reflect.TypeOf(value))] = exampleDoc{value}
	}
	doc.Components.Examples[processingExample] = exampleDoc{a.exampleLinks().Accepted(exampleFile)}

	prices, err := a.pricesOf(context.Background(), call.Caller{}, noInput{})
	if err == nil && len(prices.Prices) > 0 {
		prices.Prices = prices.Prices[:1]
		doc.Components.Examples[answerName(reflect.TypeOf(prices))] = exampleDoc{prices}
	}

	for _, refused := range []wire.Error{
		{Code: wire.Unauthorized}, {Code: wire.InvalidRequest, Message: `response must be one of binary, url, async; got "file".`, Details: []wire.Detail{{Field: "response", Message: `must be one of binary, url, async; got "file"`}}},
	} {
		doc.Components.Examples[errorExample(refused.Code)] = exampleDoc{refused.Body(exampleRequest, a.BaseURL)}
	}
}

// request describes the JSON body of an operation. An example that several operations have is a component, named after
// the first one.
func (d *openAPIDocument) request(o *schema.Operation[*operation.Deps], of reference) mediaType {
	text, err := json.Marshal(o.Example)
	if err != nil { // Encoding the document returns the error.
		return mediaType{Schema: of, Example: o.Example}
	}

	name, several := d.requests[string(text)]
	if !several {
		return mediaType{Schema: of, Example: o.Example}
	}
	d.Components.Examples[name] = exampleDoc{o.Example}
	return mediaType{Schema: of, Examples: exampleOf(d, name, name)}
}

// commonRequests returns the examples that several operations have, as JSON, with their names.
func commonRequests(all []*schema.Operation[*operation.Deps]) map[string]string {
	names := map[string]string{}
	common := map[string]string{}
	for _, o := range all {
		text, err := json.Marshal(o.Example)
		if err != nil {
			continue
		}
		if first, seen := names[string(text)]; seen {
			common[string(text)] = first
			continue
		}
		names[string(text)] = componentName(o.Name, "Input")
	}
	return common
}

// processingExample is the name of the example of a job that has just started.
const processingExample = "JobStatusResponse.processing"

// errorExample is the name of the example of an error.
func errorExample(code wire.Code) string { return "Error." + string(code) }

// exampleOf points to an example of the document by the name of its schema. It is nil if there is none.
func exampleOf(doc *openAPIDocument, schemaName, name string) map[string]reference {
	if _, ok := doc.Components.Examples[name]; !ok {
		return nil
	}
	return map[string]reference{schemaName: {"#/components/examples/" + name}}
}

// addFileExample adds an example of a stored result of an operation and returns its name.
func (a *API) addFileExample(doc *openAPIDocument, info schema.Info) string {
	extension := path.Base(info.Produces[0])
	name := answerName(reflect.TypeFor[wire.FileURL]()) + "." + extension
	doc.Components.Examples[name] = exampleDoc{a.exampleLinks().File(exampleResult("result." + extension))}
	return name
}

func exampleResult(filename string) *store.File {
	return &store.File{
		ID: exampleFile, Filename: filename, Size: exampleSize, ExpiresAt: exampleTime.Add(24 * time.Hour),
	}
}

var exampleTime = time.Date(2026, time.November, 27, 9, 30, 0, 0, time.UTC)

func (a *API) exampleLinks() call.Links { return call.Links{BaseURL: a.BaseURL} }

// exampleValues are the examples whose content does not depend on the operation.
func (a *API) exampleValues() []any {
	links := a.exampleLinks()
	end := exampleTime.Add(24 * time.Hour)
	template := wire.Template{
		ID: exampleTemplate, Slug: "invoice", Name: "Invoice", Engine: "handlebars", HTML: new(exampleHTML),
		SampleData: json.RawMessage(`{"number":42}`), Options: json.RawMessage(`{"format":"A4"}`),
		State: "published", PublishedVersion: new(3), CreatedAt: exampleTime, UpdatedAt: exampleTime,
		PublishedAt: &exampleTime,
	}

	listed := template
	listed.HTML = nil
	version := wire.TemplateVersion{Version: 3, Comment: "New logo", PublishedAt: exampleTime}
	partial := wire.Partial{Name: "footer", HTML: "<footer>Page {{page}}</footer>", UpdatedAt: exampleTime}
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(exampleHash[:32]))

	endpoint := wire.WebhookEndpoint{
		ID: exampleEndpoint, URL: exampleHook, Events: []string{store.EventJobCompleted, store.EventJobFailed},
		SecretPrefix: secret[:10], Enabled: true, CreatedAt: exampleTime,
	}

	delivery := wire.Delivery{
		ID: "dlv_" + exampleHash, EndpointID: new(exampleEndpoint), URL: exampleHook,
		Event:  wire.DeliveryEvent{ID: "evt_" + exampleHash, Type: store.EventJobCompleted},
		Status: "delivered", Attempts: 1, LastStatusCode: new(200), LastDurationMS: new(int64(84)),
		LastResponse: new("ok"), CreatedAt: exampleTime, DeliveredAt: &exampleTime,
	}

	connection := wire.Connection{
		ID: "conn_" + exampleHash, Name: "archive", Kind: schema.KindS3,
		S3:        &wire.S3Connection{Region: "eu-central-1", Bucket: "invoices", AccessKeyID: "AKIA…"},
		CreatedAt: exampleTime,
	}

	identity := wire.SigningIdentity{
		ID: "sig_" + exampleHash, Name: "contracts", CreatedAt: exampleTime,
		Certificate: wire.Certificate{
			Subject: "CN=Ada,O=Ink & Co.", Issuer: "CN=Example CA", Serial: "1001",
			NotBefore: exampleTime.AddDate(-1, 0, 0), NotAfter: exampleTime.AddDate(1, 0, 0),
		},
	}

	return []any{
		identity, wire.SigningIdentityList{SigningIdentities: []wire.SigningIdentity{identity}},
		wire.Health{OK: true, Service: "relaypdf", Version: a.options.Version, RequestID: exampleRequest},
		wire.Readiness{
			OK: true, Checks: map[string]string{"browser": "ok", "database": "ok", "files": "ok"}, Sandbox: "full",
			Queue:  wire.QueueState{Slots: 4, Busy: 1},
			Queues: map[string]wire.QueueState{"browser": {Slots: 4, Busy: 1}, "files": {Slots: 2}},
		},
		wire.AccountSnapshot{
			Plan: "paid", RateTier: "paid", Wallet: wire.Wallet{BalanceMillicents: 18250, AutoReloadEnabled: true},
		},
		wire.Limits{MaxJobMicrodollars: new(int64(10_000)), MaxDayMicrodollars: new(int64(5_000_000))},
		wire.Usage{
			Currency: "usd", BalanceMicrodollars: 18_250_000, From: exampleTime.Truncate(24 * time.Hour),
			To: exampleTime.Truncate(24 * time.Hour).Add(24 * time.Hour), TotalMicrodollars: 84_000,
			Operations: []wire.OperationUsage{{Operation: "pdf.create", Count: 42, Microdollars: 84_000}},
			Keys:       []wire.KeyUsage{{KeyID: exampleHash, Count: 42, Failed: 1, Microdollars: 84_000}},
			Templates:  []wire.TemplateUsage{{TemplateID: exampleTemplate, Count: 12, Microdollars: 24_000}},
			Days:       []wire.DayUsage{{Date: exampleTime.Format(time.DateOnly), Count: 42, Microdollars: 84_000}},
		},
		wire.FileList{
			Files: []wire.FileEntry{
				{ID: exampleFile, Kind: "result", Filename: "invoice.pdf", SizeBytes: exampleSize, ContentType: "application/pdf", CreatedAt: exampleTime, ExpiresAt: end},
			},
		},
		wire.Upload{
			ID: exampleFile, Filename: "report.pdf", SizeBytes: exampleSize, ContentType: "application/pdf",
			ExpiresAt: end,
		},
		wire.Acknowledged{OK: true},
		wire.FontList{
			Fonts: []wire.Font{
				{Family: "Arial", Styles: []string{"Regular", "Bold"}, AliasOf: new("Liberation Sans")},
			},
			NextCursor: new("QXJpYWw"),
		},
		links.Completed(store.Call{ResultID: exampleFile, Mode: schema.Async}, exampleResult("invoice.pdf")),
		wire.JobList{
			Jobs: []wire.JobEntry{
				{ID: exampleFile, Operation: "pdf.create", Status: wire.JobCompleted, PollURL: links.Job(exampleFile), CreatedAt: exampleTime, EndedAt: new(exampleTime.Add(time.Second))},
			},
		},
		templates.Record{Template: template}, wire.TemplateList{Templates: []wire.Template{listed}},
		wire.GalleryList{Templates: []wire.GalleryTemplate{{
			ID: "invoice-ledger", Slug: "invoice-ledger", Name: "Ledger invoice", Category: "invoice",
			Description:  "An invoice with a ruled table.",
			Href:         "/pdf-templates/invoice/invoice-ledger",
			ThumbnailURL: a.BaseURL + "/gallery/invoice-ledger.webp", Tags: []string{"invoice", "billing"},
		}}},
		partial, wire.PartialList{Partials: []wire.Partial{partial}},
		wire.TemplateValidation{
			Valid: true, Errors: []wire.TemplateFault{}, Variables: []string{"number"}, Missing: []string{},
		},
		wire.TemplateSession{
			URL: a.BaseURL + editorlink.Path + exampleHash, TemplateID: exampleTemplate,
			Capabilities: []string{"edit", "preview"}, Origin: exampleSite, ExpiresAt: exampleTime.Add(time.Hour),
		},
		wire.TemplateVersionList{Versions: []wire.TemplateVersion{version}},
		wire.TemplateVersionContent{
			TemplateVersion: version, HTML: exampleHTML, SampleData: template.SampleData, Options: template.Options,
			Partials: map[string]string{},
		},
		connection, wire.ConnectionList{Connections: []wire.Connection{connection}}, wire.ConnectionTest{OK: true},
		endpoint, wire.WebhookList{Webhooks: []wire.WebhookEndpoint{endpoint}},
		wire.WebhookSecret{WebhookEndpoint: endpoint, Secret: secret},
		delivery, wire.DeliveryList{Deliveries: []wire.Delivery{delivery}},
		wire.DeliveryContent{
			Delivery: delivery,
			Body: `{"id":"evt_` + exampleHash +
				`","type":"job.completed","createdAt":"2026-11-27T09:30:00Z","data":{}}`,
		},
	}
}
