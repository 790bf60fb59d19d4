package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/fakellm"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/store/credit"
)

// call is one that a generated client makes of an operation.
type call struct {
	Operation string `json:"operation"` // as the document names it
	Method    string `json:"method"`
	Path      string `json:"path"`
	// Arguments are the arguments of the path, in order. An argument that begins with "$" is replaced by the ID in
	// the latest response of the named operation.
	Arguments []any           `json:"arguments"`
	Body      json.RawMessage `json:"body,omitempty"`
	Upload    string          `json:"upload,omitempty"` // a body that is not JSON
	Status    int             `json:"status"`
	// Types are the media types that the response may have.
	Types []string `json:"types"`
}

// everyCall calls each operation of the document once at least, with its example: those
// of the table, and the others in the order that this says. The delivery is one that has
// failed.
func everyCall(t *testing.T, description []byte, delivery string) []call {
	t.Helper()
	var calls []call
	add := func(operation string, arguments ...any) {
		calls = append(calls, call{Operation: operation, Arguments: arguments})
	}
	for _, plain := range []string{
		"health_get", "health_ready_get", "openapi_get", "account_get", "billing_prices_get", "billing_usage_get", "billing_limits_get", "fonts_list", "templates_gallery_get",
	} {
		add(plain)
	}
	layouts, err := gallery.New()
	if err != nil {
		t.Fatal(err)
	}
	add("gallery_get", path.Base(layouts.List("", "")[0].ThumbnailPath()))
	add("billing_limits_update")
	calls = append(calls, call{Operation: "files_upload", Upload: "hello"})
	add("files_list")
	add("files_get", "$files_upload")
	add("files_delete", "$files_upload")
	calls = append(calls, call{Operation: "barcodes_create", Body: json.RawMessage(`{"type":"qr","text":"later","response":"async"}`), Status: http.StatusAccepted, Types: []string{"application/json"}})
	add("jobs_get", "$barcodes_create")
	add("jobs_list")
	add("jobs_delete", "$barcodes_create")
	add("templates_validate")
	add("templates_create")
	add("templates_list")
	const template = "$templates_create"
	add("templates_get", template)
	add("templates_publish", template)
	add("templates_update", template)
	add("templates_discard", template)
	add("templates_versions_list", template)
	add("templates_versions_get", template, 1)
	add("templates_restore", template)
	add("templates_duplicate", template)
	add("templates_sessions_create", template)
	add("templates_delete", template)
	add("templates_partials_put", "foot")
	add("templates_partials_get", "foot")
	add("templates_partials_list")
	add("templates_partials_delete", "foot")
	add("webhooks_create")
	const endpoint = "$webhooks_create"
	add("webhooks_update", endpoint)
	add("webhooks_list")
	add("webhooks_test", endpoint)
	add("webhooks_deliveries_list")
	add("webhooks_deliveries_get", "$webhooks_test")
	add("webhooks_deliveries_replay", delivery)
	add("webhooks_roll", endpoint)
	add("webhooks_activate", endpoint)
	add("webhooks_delete", endpoint)
	calls = append(calls, call{Operation: "connections_create", Body: json.RawMessage(`{"name":"a","s3":{"endpoint":"https://127.0.0.1:2","bucket":"abc","accessKeyId":"a","secretAccessKey":"b"}}`)})
	const connection = "$connections_create"
	add("connections_list")
	add("connections_get", connection)
	add("connections_update", connection)
	add("connections_test", connection)
	add("connections_delete", connection)
	add("signing_identities_create")
	add("signing_identities_list")
	add("signing_identities_delete", "$signing_identities_create")
	return described(t, description, calls)
}

// documented is the documentation of an operation.
type documented struct {
	OperationID string
	RequestBody struct {
		Content map[string]struct {
			Example  json.RawMessage
			Examples map[string]struct {
				Ref string `json:"$ref"`
			}
		}
	}
	Responses map[string]describedResponse

	method, path string
}

// describedResponse is a response of the document, or a reference to one.
type describedResponse struct {
	Ref     string `json:"$ref"`
	Content map[string]any
}

// example is a body that does something.
func (d documented) example() json.RawMessage {
	return d.RequestBody.Content["application/json"].Example
}

// described completes calls from the document, including calls with its examples. Each of the document's operations
// must be among them.
func described(t *testing.T, description []byte, given []call) []call {
	t.Helper()
	var document struct {
		Paths      map[string]map[string]documented
		Components struct {
			Responses map[string]describedResponse
			Examples  map[string]struct{ Value json.RawMessage }
		}
	}
	if err := json.Unmarshal(description, &document); err != nil {
		t.Fatal(err)
	}
	operations := map[string]documented{}
	for pattern, methods := range document.Paths {
		for method, o := range methods {
			o.method, o.path = strings.ToUpper(method), pattern
			if body, ok := o.RequestBody.Content["application/json"]; ok {
				for _, shared := range body.Examples {
					body.Example = document.Components.Examples[strings.TrimPrefix(shared.Ref, "#/components/examples/")].Value
				}
				o.RequestBody.Content["application/json"] = body
			}
			for status, response := range o.Responses {
				if name, ok := strings.CutPrefix(response.Ref, "#/components/responses/"); ok {
					o.Responses[status] = document.Components.Responses[name]
				}
			}
			operations[o.OperationID] = o
		}
	}
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	produces, status := map[string][]string{}, map[string]int{}
	for _, o := range table.All() {
		produces[o.Tool()] = o.Produces
		if o.Bulk {
			produces[o.Tool()], status[o.Tool()] = []string{"application/json"}, http.StatusAccepted
		}
	}
	var calls []call
	for _, id := range slices.Sorted(maps.Keys(operations)) {
		named := slices.ContainsFunc(given, func(c call) bool { return c.Operation == id })
		if id == "pdf_seal" {
			continue // No timestamp authority is within reach.
		}
		switch example := operations[id].example(); {
		case example != nil && (produces[id] != nil || !named):
			calls = append(calls, call{Operation: id, Body: example, Status: status[id], Types: produces[id]})
		case !named:
			t.Errorf("nothing calls %s", id)
		}
	}
	calls = append(calls, given...)
	for i := range calls {
		calls[i].complete(operations[calls[i].Operation])
	}
	return calls
}

// complete fills in the URL of the call, and the expected response: the first success.
func (c *call) complete(o documented) {
	c.Method, c.Path = o.method, o.path
	if c.Body == nil {
		c.Body = o.example()
	}
	if c.Status != 0 {
		return
	}
	good := slices.DeleteFunc(slices.Sorted(maps.Keys(o.Responses)), func(status string) bool { return status[0] != '2' })
	c.Status, _ = strconv.Atoi(good[0]) // is a number
	if c.Types == nil {
		c.Types = slices.Sorted(maps.Keys(o.Responses[good[0]].Content))
	}
}

// serveEverything is serve for all operations, and returns calls of each of them.
func serveEverything(t *testing.T) (service, []call) {
	t.Helper()
	s := serve(t, func(cfg *apitest.Settings) {
		provider := fakellm.New(t, func(fakellm.Asked) fakellm.Reply {
			return fakellm.Reply{Text: `{"html":"<p>{{name}}</p>","sampleData":{"name":"Ada"},"options":{"format":"A6"}}`, Input: 100, Output: 50}
		})
		model, err := llm.New(llm.Config{Provider: llm.OpenAI, Key: "provider-key", BaseURL: provider.URL, Model: "some-model"})
		if err != nil {
			t.Fatal(err)
		}
		cfg.AI = &operation.AI{Model: model, Input: 2 * credit.Dollar, Output: 10 * credit.Dollar, MaxTokens: 3000, Timeout: patience}
		cfg.Render, cfg.MaxBody, cfg.DrawTime = lab.renderer(t), 8<<20, patience
		cfg.Agents = func(d *api.MCPBackend) (http.Handler, error) { return mcp.NewHandler(d, nil, cfg.Logger) }
	})
	gone := apitest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	endpoint := s.NewWebhook(t, `{"url":"`+gone.URL+`"}`)
	s.Send(t, apitest.Request{Path: "/v1/webhooks/" + endpoint.ID + "/test"}).OK(t)
	stop := s.Deliver(t)
	failed := s.AwaitDelivery(t, "failed", func(d wire.Delivery) bool { return d.Status == "failed" })
	stop()
	// Its receiver has ended, and a delivery is replayed only to an enabled endpoint.
	s.Send(t, apitest.Request{Method: http.MethodPatch, Path: "/v1/webhooks/" + endpoint.ID, Body: `{"enabled":true}`}).OK(t)
	// The template of the example of pdf.bulk.
	s.Send(t, apitest.Request{Path: "/v1/templates", Body: `{"name":"Invoice","slug":"invoice","html":"<p>{{number}}</p>"}`})
	s.Send(t, apitest.Request{Path: "/v1/templates/invoice/publish", Body: `{}`}).OK(t)
	description := s.description(t)
	return s, everyCall(t, description, failed.ID)
}

// typescript is a module whose function every makes the calls. write is how a client
// makes one, of its body and the arguments of its path in TypeScript, which are empty
// where it has none.
func typescript(calls []call, begin string, write func(c call, body, path string) string) string {
	var out strings.Builder
	out.WriteString(begin + `
type Answer = { data?: unknown; error?: unknown; response?: Response };
const ids: Record<string, string> = {};
async function call(operation: string, status: number, types: string[], made: Promise<Answer>) {
  const { data, error, response } = await made;
  const type = response?.headers.get("Content-Type")?.split(";")[0] ?? "none";
  if (response?.status !== status || (!types.includes(type) && !types.includes("application/octet-stream"))) {
    throw new Error(operation + ": " + response?.status + " " + type + ", want " + status + " " + types + ": " + JSON.stringify(error));
  }
  if (data === undefined || (data instanceof Blob && data.size === 0)) throw new Error(operation + ": no data");
  ids[operation] = (data as { id?: string } | null)?.id ?? "";
}
export async function every() {
`)
	for _, c := range calls {
		var arguments []string
		for part := range strings.SplitSeq(c.Path, "/") {
			if name, named := strings.CutPrefix(part, "{"); named {
				arguments = append(arguments, strings.TrimSuffix(name, "}")+": "+argument(c.Arguments[len(arguments)]))
			}
		}
		types := strings.Join(c.Types, `", "`)
		fmt.Fprintf(&out, "  await call(%q, %d, [\"%s\"], %s);\n", c.Operation, c.Status, types, write(c, string(c.Body), strings.Join(arguments, ", ")))
	}
	return out.String() + "}\n"
}

// argument is one of a path, in TypeScript.
func argument(value any) string {
	text, ok := value.(string)
	operation, refers := strings.CutPrefix(text, "$")
	switch {
	case refers:
		return fmt.Sprintf("ids[%q]!", operation)
	case ok:
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}

// fetchCall returns a call by openapi-fetch, heyCall one by the client of hey-api.
func fetchCall(c call, body, path string) string {
	var options []string
	if path != "" {
		options = append(options, "params: { path: { "+path+" } }")
	}
	if body != "" {
		options = append(options, "body: "+body)
	}
	if c.Upload != "" {
		options = append(options, fmt.Sprintf(`body: %q, bodySerializer: (text) => text as string, headers: { "Content-Type": "application/octet-stream" }`, c.Upload))
	}
	if !slices.Equal(c.Types, []string{"application/json"}) {
		options = append(options, `parseAs: "blob"`)
	}
	return fmt.Sprintf("client.%s(%q, { %s })", c.Method, c.Path, strings.Join(options, ", "))
}

func heyCall(c call, body, path string) string {
	var options []string
	if path != "" {
		options = append(options, "path: { "+path+" }")
	}
	if body != "" {
		options = append(options, "body: "+body)
	}
	if c.Upload != "" {
		options = append(options, fmt.Sprintf("body: new Blob([%q])", c.Upload))
	}
	first, others, _ := strings.Cut(c.Operation, "_")
	for word := range strings.SplitSeq(others, "_") {
		first += strings.ToUpper(word[:1]) + word[1:]
	}
	return fmt.Sprintf("sdk.%s({ %s })", first, strings.Join(options, ", "))
}
