package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// lastResponse records the status and the type of the latest response.
type lastResponse struct {
	http.RoundTripper

	status    int
	mediaType string
}

func (l *lastResponse) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		l.status = response.StatusCode
		l.mediaType, _, _ = strings.Cut(response.Header.Get("Content-Type"), ";")
	}

	return response, err
}

// goMethods returns the methods of the Go client by the names of operations, without the characters between words.
func goMethods(relay *client.Client) map[string]reflect.Value {
	methods := map[string]reflect.Value{}
	all := reflect.ValueOf(relay)
	for i := range all.NumMethod() {
		function := all.Method(i)
		if function.Type().NumIn() != 0 || function.Type().NumOut() != 1 || function.Type().Out(0).Kind() != reflect.Struct {
			continue
		}
		group := function.Call(nil)[0]
		for j := range group.NumMethod() {
			name := strings.ToLower(all.Type().Method(i).Name + group.Type().Method(j).Name)
			methods[name] = group.Method(j)
		}
	}

	return methods
}

// TestGoEveryOperation calls each operation with its documented example, by its method.
func TestGoEveryOperation(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s, calls := serveEverything(t)
	relay := s.Client()
	last := &lastResponse{RoundTripper: http.DefaultTransport}
	relay.HTTP = &http.Client{Transport: last}
	methods := goMethods(relay)

	ids := map[string]string{}
	for _, c := range calls {
		if c.Operation == "mcp_send" {
			continue // Agents have clients of their own.
		}
		name := strings.ReplaceAll(c.Operation, "_", "")
		method, ok := methods[name]
		if !ok {
			method, ok = methods["service"+strings.TrimSuffix(name, "get")]
		}
		if !ok {
			t.Errorf("no method for %s", c.Operation)

			continue
		}
		result, err := callMethod(t, method, c, ids)
		if err != nil || last.status != c.Status {
			t.Errorf("%s: status %d, want %d (%v)", c.Operation, last.status, c.Status, err)

			continue
		}
		if !slices.Contains(c.Types, last.mediaType) && !slices.Contains(c.Types, "application/octet-stream") {
			t.Errorf("%s: the type is %s, want one of %v", c.Operation, last.mediaType, c.Types)
		}
		ids[c.Operation] = result
	}
}

// callMethod calls a method and returns the ID of its result.
func callMethod(t *testing.T, method reflect.Value, c call, ids map[string]string) (string, error) {
	t.Helper()
	if c.Upload != "" {
		upload, err := method.Interface().(func(ctx context.Context, filename string, content io.Reader) (client.Upload, error))(
			t.Context(), "a.txt", strings.NewReader(c.Upload))

		return upload.ID, err
	}

	arguments := slices.Clone(c.Arguments)
	var values []reflect.Value
	for i := range method.Type().NumIn() {
		parameter := method.Type().In(i)
		switch {
		case i == 0 && parameter.Kind() == reflect.Interface:
			values = append(values, reflect.ValueOf(t.Context()))
		case parameter.Kind() == reflect.Struct:
			values = append(values, strictly(t, c.Body, parameter))
		case len(arguments) > 0:
			argument := arguments[0]
			arguments = arguments[1:]
			if text, ok := argument.(string); ok && strings.HasPrefix(text, "$") {
				argument = ids[text[1:]]
			}
			values = append(values, reflect.ValueOf(argument).Convert(parameter))
		default:
			values = append(values, reflect.Zero(parameter)) // no ETag
		}
	}

	results := method.Call(values)
	if pending := results[0]; pending.MethodByName("Start").IsValid() {
		return sendCall(t, pending, c)
	}
	err, _ := results[len(results)-1].Interface().(error)
	if download, ok := results[0].Interface().(*client.Result); ok && err == nil {
		err = download.Body.Close()
	}
	id := reflect.Value{}
	if results[0].Kind() == reflect.Struct {
		id = results[0].FieldByName("ID")
	}
	if !id.IsValid() {
		return "", err
	}

	return id.String(), err
}

// strictly reads an example into an input, which must have all its fields.
func strictly(t *testing.T, example []byte, into reflect.Type) reflect.Value {
	t.Helper()
	value := reflect.New(into)
	if len(example) == 0 {
		return value.Elem()
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(example, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "response")
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value.Interface()); err != nil {
		t.Errorf("%s: %v in %.300s", into, err, text)
	}

	return value.Elem()
}

// sendCall sends a pending call as its example says, and checks the type of a result in JSON.
func sendCall(t *testing.T, pending reflect.Value, c call) (string, error) {
	t.Helper()
	var wanted struct{ Response string }
	if err := json.Unmarshal(c.Body, &wanted); err != nil {
		t.Fatal(err)
	}
	embedded := pending
	if inner := pending.FieldByName("Call"); inner.IsValid() {
		embedded = inner
	}
	sent := embedded.Interface().(client.Call)
	if wanted.Response == "async" {
		job, err := sent.Start(t.Context())

		return job.ID, err
	}

	result, err := sent.Do(t.Context())
	if err != nil || result.Body == nil {
		return "", err
	}
	content, err := result.Bytes()
	if err != nil || len(content) == 0 {
		t.Errorf("%s: no content (%v)", c.Operation, err)
	}
	if toJSON := pending.MethodByName("JSON"); toJSON.IsValid() && strings.HasPrefix(result.ContentType, "application/json") {
		decoder := json.NewDecoder(bytes.NewReader(content))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(reflect.New(toJSON.Type().Out(0)).Interface()); err != nil {
			t.Errorf("the result of %s: %v in %.300s", c.Operation, err, content)
		}
	}

	return result.ID, nil
}

// TestGoClient follows a user of the Go client through the API.
func TestGoClient(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ctx := t.Context()
	relay := s.Client()
	relay.BaseURL = s.door // refuses the first barcode
	relay.Retries = 2
	barcode := client.BarcodesCreateInput{Type: "qr", Text: "a"}

	path := t.TempDir() + "/a.png"
	saved, err := relay.Barcodes().Create(barcode).Save(ctx, path)
	if err != nil || saved.ContentType != "image/png" || saved.Charged != 100 || saved.ID == "" {
		t.Fatalf("saved %+v, %v", saved, err)
	}
	file, err := relay.Barcodes().Create(barcode).URL(ctx)
	if err != nil || !strings.Contains(file.URL, file.ID) {
		t.Errorf("the URL is %+v, %v", file, err)
	}
	job, err := relay.Barcodes().Create(barcode).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := job.Bytes(ctx); err != nil || !bytes.HasPrefix(content, []byte("\x89PNG")) {
		t.Errorf("the job made %d bytes, %v", len(content), err)
	}

	wrong := relay.Barcodes().Create(client.BarcodesCreateInput{Type: "qr", Text: "a", Scale: 999})
	var refused *client.Error
	if _, err := wrong.Bytes(ctx); !errors.As(err, &refused) || refused.Details[0].Field != "scale" || refused.RequestID == "" {
		t.Errorf("scale 999: %v", err)
	}
	if _, err := relay.Barcodes().Create(barcode).With(client.CallOptions{MaxCharge: new(int64(1))}).Do(ctx); !errors.As(err, &refused) ||
		refused.Code != client.PaymentRequired {
		t.Errorf("a maximum below the price: %v", err)
	}
	options := client.CallOptions{IdempotencyKey: "barcode-1"}
	for _, replayed := range []bool{false, true} {
		result, err := relay.Barcodes().Create(barcode).With(options).Do(ctx)
		if err != nil || result.Replayed != replayed {
			t.Fatalf("got %+v, %v", result, err)
		}
		if _, err := result.Bytes(); err != nil {
			t.Error(err)
		}
	}

	// All entries of several pages.
	seen := map[string]bool{}
	for entry, err := range relay.Files().ListAll(ctx, client.FilesListQuery{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[entry.ID] = true
	}
	if len(seen) < 3 || !seen[file.ID] || !seen[job.ID] {
		t.Errorf("the list has %v", seen)
	}

	// A stream of unknown size, and a change with null.
	upload, err := relay.Files().Upload(ctx, "a.txt", io.LimitReader(strings.NewReader("hello"), 5))
	if err != nil || upload.SizeBytes != 5 {
		t.Errorf("uploaded %+v, %v", upload, err)
	}
	limits, err := relay.Billing().LimitsUpdate(ctx, client.BillingLimitsUpdateInput{MaxJobMicrodollars: client.Set[int64](5000)})
	if err != nil || *limits.MaxJobMicrodollars != 5000 {
		t.Errorf("limits %+v, %v", limits, err)
	}
	limits, err = relay.Billing().LimitsUpdate(ctx, client.BillingLimitsUpdateInput{MaxJobMicrodollars: client.Null[int64]()})
	if err != nil || limits.MaxJobMicrodollars != nil {
		t.Errorf("limits %+v, %v", limits, err)
	}

	// A change of a template that someone else has changed.
	template, err := relay.Templates().Create(ctx, client.TemplatesCreateInput{Name: "A", HTML: "<p>{{a}}</p>"})
	if err != nil || template.ETag == "" {
		t.Fatalf("template %+v, %v", template, err)
	}
	change := client.TemplatesUpdateInput{HTML: "<p>{{b}}</p>"}
	if _, err := relay.Templates().Update(ctx, template.ID, template.ETag, change); err != nil {
		t.Error(err)
	}
	if _, err := relay.Templates().Update(ctx, template.ID, template.ETag, change); !errors.As(err, &refused) ||
		refused.Code != client.PreconditionFailed {
		t.Errorf("a change of an old state: %v", err)
	}
}

// TestGoNoStore holds that NoStore leaves nothing on the server, and that an input can say otherwise.
func TestGoNoStore(t *testing.T) {
	t.Parallel()
	s := serve(t)
	relay := s.Client()
	relay.NoStore = true
	barcode := client.BarcodesCreateInput{Type: "qr", Text: "a"}
	files := func() int {
		t.Helper()
		list, err := relay.Files().List(t.Context(), client.FilesListQuery{})
		if err != nil {
			t.Fatal(err)
		}

		return len(list.Files)
	}

	for range 2 {
		if _, err := relay.Barcodes().Create(barcode).Bytes(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := files(); n != 0 {
		t.Errorf("%d files are stored, want none", n)
	}
	barcode.Store = new(true)
	if _, err := relay.Barcodes().Create(barcode).Bytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := files(); n != 1 {
		t.Errorf("%d files are stored, want the one with store true", n)
	}
}

// TestGoJobProgress plays a bulk job, whose progress and failure the client reports.
func TestGoJobProgress(t *testing.T) {
	t.Parallel()
	statuses := []string{
		`{"id":"j","status":"processing","total":2,"processed":1,"failed":0}`,
		`{"id":"j","status":"failed","error":{"code":"render_failed","message":"The page did not load."}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, statuses[0])
		statuses = statuses[1:]
	}))
	defer server.Close()

	relay := client.Client{BaseURL: server.URL}
	processed, last := 0, ""
	_, err := relay.Job("j").Wait(t.Context(), func(status client.JobStatus) {
		last = status.Status
		if status.BulkStatus != nil {
			processed += status.Processed
		}
	})
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Code != client.RenderFailed || processed != 1 || last != client.JobFailed {
		t.Errorf("got %v with %d processed, and %q as the last status", err, processed, last)
	}
}

// TestGoReadme runs the examples of client/README.md: the program, and in another program each snippet, with the
// variables that the text names.
func TestGoReadme(t *testing.T) {
	t.Parallel()
	s, _ := serveEverything(t)
	text, err := os.ReadFile(filepath.Join("..", "client", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 8 {
		t.Fatalf("the README has %d examples", len(blocks))
	}

	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "program", "main.go"), strings.ReplaceAll(blocks[0][1], "http://localhost:8787", s.door))
	var snippets, calls strings.Builder
	for i, block := range blocks[1:] {
		fmt.Fprintf(&snippets, "func snippet%d(ctx context.Context, relay *client.Client) error {\n%s\nreturn err\n}\n\n", i, block[1])
		fmt.Fprintf(&calls, "\ttry(%q, snippet%d)\n", block[1], i)
	}
	write(t, filepath.Join(dir, "snippets", "main.go"), goSnippetsBegin+calls.String()+"}\n\n"+snippets.String())

	page, err := s.Client().PDF().Create(client.PDFCreateInput{HTML: "<p>Scan"}).Bytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "scan.pdf"), string(page))
	env := append(s.environment(t), "RELAYPDF_API_KEY="+s.Secret, "CORPORATE_PROXY="+s.door, "GOPROXY=off", "GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	run(t, dir, env, "go", "mod", "init", "readme")
	run(t, dir, env, "go", "mod", "edit", "-require=github.com/relaypdf/relaypdf@v0.0.0", "-replace=github.com/relaypdf/relaypdf="+root)
	run(t, dir, env, "go", "build", "-o", filepath.Join(dir, "bin")+"/", "./program", "./snippets")
	for _, program := range []string{"program", "snippets"} {
		run(t, dir, env, filepath.Join(dir, "bin", program))
	}
	for _, name := range []string{"invoice.pdf", "page.pdf"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.HasPrefix(got, []byte("%PDF-")) {
			t.Errorf("%s is not a PDF: %v", name, err)
		}
	}
}

const goSnippetsBegin = `package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/client/webhook"
)

var (
	body   = []byte(os.Getenv("EVENT"))
	secret = os.Getenv("SECRET")
	header = http.Header{"Service-Signature": {os.Getenv("SIGNATURE")}}
)

// try runs a snippet. The one about errors ends with a refusal.
func try(text string, snippet func(context.Context, *client.Client) error) {
	relay := &client.Client{BaseURL: os.Getenv("BASE_URL"), Key: os.Getenv("KEY")}
	err := snippet(context.Background(), relay)
	var refused *client.Error
	wanted := strings.Contains(text, "errors.As")
	if errors.As(err, &refused) != wanted || err != nil && !wanted {
		log.Fatalf("%s\n%v", text, err)
	}
}

func main() {
`
