package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

const templatesPath = "/v1/templates"

// templateLab sends requests about templates.
type templateLab struct {
	*apitest.Server
	t *testing.T
}

func (l templateLab) send(method, path string, body any, header ...string) apitest.Response {
	l.t.Helper()
	text := ""
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			l.t.Fatal(err)
		}
		text = string(encoded)
	}
	q := apitest.Request{Method: method, Path: templatesPath + path, Body: text, Header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	return l.Send(l.t, q)
}

type object = map[string]any

// record sends a request whose response is a template.
func (l templateLab) record(want int, method, path string, body any, header ...string) (wire.Template, string) {
	l.t.Helper()
	got := l.send(method, path, body, header...)
	if got.Status != want {
		l.t.Fatalf("%s %s: got %d %s, want %d", method, path, got.Status, got.Body, want)
	}
	return decode[wire.Template](l.t, got), got.Header.Get("ETag")
}

// text fills a template and reads the text of its PDF.
func (l templateLab) text(body object) string {
	l.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	got := l.Send(l.t, apitest.Request{Path: "/v1/pdf", Body: string(encoded)}).OK(l.t)
	return strings.Join(strings.Fields(pdfText(l.t, []byte(got.Body))), " ")
}

// TestTemplateLife goes through the states of a template.
func TestTemplateLife(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	made, first := l.record(201, "POST", "", object{"name": "My Invoice", "html": "<p>one {{name}}</p>", "sampleData": object{"name": "Ada", "z": 1, "a": 0.10}, "options": object{"format": "A5"}, "engine": "handlebars"})
	if made.Slug != "my-invoice" || made.State != "draft" || !made.HasDraft || made.PublishedVersion != nil || made.Engine != "handlebars" || *made.HTML != "<p>one {{name}}</p>" ||
		string(made.SampleData) != `{"a":0.1,"name":"Ada","z":1}` || string(made.Options) != `{"format":"A5"}` || len(made.ID) != 36 {
		t.Errorf("made %+v", made)
	}
	l.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"templateId":"my-invoice"}`}).Refused(t, wire.NotFound)
	l.send("POST", "/my-invoice/discard", nil).Refused(t, wire.InvalidRequest)
	published, second := l.record(200, "POST", "/"+made.ID+"/publish", object{"comment": "first"}, "If-Match", first)
	if published.State != "published" || published.HasDraft || *published.PublishedVersion != 1 || published.PublishedAt == nil || second == first {
		t.Errorf("published %+v with %s after %s", published, second, first)
	}
	l.send("POST", "/my-invoice/publish", nil).Refused(t, wire.InvalidRequest)
	if got := l.text(object{"templateId": "my-invoice", "templateData": object{"name": "Bob"}}); got != "one Bob" {
		t.Errorf("the PDF says %q", got)
	}
	// A record that was read may be sent back; read-only fields are ignored.
	changed, third := l.record(200, "PATCH", "/my-invoice", object{"id": "x", "html": "<p>two {{name}}</p>", "state": "published", "publishedVersion": 7, "createdAt": nil, "category": "bills", "description": nil})
	if !changed.HasDraft || *changed.PublishedVersion != 1 || changed.Category != "bills" {
		t.Errorf("changed %+v", changed)
	}
	l.send("PATCH", "/my-invoice", object{"html": "lost"}, "If-Match", second).Refused(t, wire.PreconditionFailed)
	l.send("POST", "/my-invoice/publish", nil, "If-Match", second).Refused(t, wire.PreconditionFailed)
	l.send("POST", "/my-invoice/restore", object{"version": 1}, "If-Match", second).Refused(t, wire.PreconditionFailed)
	if got := l.text(object{"templateId": made.ID, "templateData": object{"name": "Bob"}}); got != "one Bob" {
		t.Errorf("with a draft the PDF says %q", got)
	}
	l.record(200, "POST", "/my-invoice/publish", nil, "If-Match", third)
	if got := l.text(object{"templateId": made.ID, "templateVersion": 0}); got != "two" {
		t.Errorf("the second version's PDF says %q", got)
	}
	if got := l.text(object{"templateId": made.ID, "templateVersion": 1}); got != "one" {
		t.Errorf("the first version's PDF says %q", got)
	}
	restored, _ := l.record(200, "POST", "/my-invoice/restore", object{"version": 1})
	if *restored.HTML != "<p>one {{name}}</p>" || !restored.HasDraft {
		t.Errorf("restored %+v", restored)
	}
	discarded, _ := l.record(200, "POST", "/my-invoice/discard", nil)
	if *discarded.HTML != "<p>two {{name}}</p>" || discarded.HasDraft {
		t.Errorf("discarded %+v", discarded)
	}
	copied, _ := l.record(201, "POST", "/my-invoice/duplicate", nil)
	if copied.Slug != "my-invoice-copy" || copied.Name != "My Invoice (copy)" || copied.State != "draft" {
		t.Errorf("copied %+v", copied)
	}
	versions := decode[wire.TemplateVersionList](t, l.send("GET", "/my-invoice/versions", nil).OK(t))
	if len(versions.Versions) != 2 || versions.Versions[0].Version != 2 || versions.Versions[1].Comment != "first" {
		t.Errorf("versions %+v", versions)
	}
	one := decode[wire.TemplateVersionContent](t, l.send("GET", "/my-invoice/versions/1", nil).OK(t))
	if one.HTML != "<p>one {{name}}</p>" {
		t.Errorf("version %+v", one)
	}
	l.send("GET", "/my-invoice/versions/3", nil).Refused(t, wire.NotFound)
	l.send("POST", "/my-invoice/restore", object{"version": 3}).Refused(t, wire.NotFound)
	list := decode[wire.TemplateList](t, l.send("GET", "?limit=1&search=invoice&state=published&category=bills", nil).OK(t))
	if len(list.Templates) != 1 || list.Templates[0].ID != made.ID || list.Templates[0].HTML != nil || list.NextCursor != nil {
		t.Errorf("list %+v", list)
	}
	if got := strings.TrimSpace(l.send("DELETE", "/my-invoice", nil).OK(t).Body); got != `{"ok":true}` {
		t.Errorf("deleted: %s", got)
	}
	l.send("GET", "/"+made.ID, nil).Refused(t, wire.NotFound)
	l.Send(t, apitest.Request{Path: "/v1/pdf", Body: fmt.Sprintf(`{"templateId":%q}`, made.ID)}).Refused(t, wire.NotFound)
}

// TestTemplateFaults lists the refused requests of templates, with their errors.
func TestTemplateFaults(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	l.record(201, "POST", "", object{"name": "taken", "html": "x"})
	for _, test := range []struct {
		body   object
		fields string
	}{
		{object{}, "name html"},
		{object{"name": "x", "html": ""}, "html"},
		{object{"name": "x", "html": "x", "slug": "partials"}, "slug"},
		{object{"name": "x", "html": "x", "slug": "Not A Slug"}, "slug"},
		{object{"name": "x", "html": "x", "slug": "taken"}, "slug"},
		{object{"name": "x", "html": "x", "options": object{"scale": 9, "nope": 1}}, "options.nope options.scale"},
		{object{"name": "x", "html": "x", "options": object{"locale": "xx-nope", "timeZone": "Mars/Crater"}}, "options.locale options.timeZone"},
		{object{"name": "x", "html": "x", "engine": "mustache"}, "engine"},
		{object{"fromGallery": "nope"}, "fromGallery"},
		{object{"name": "x\x00", "html": "x"}, "name"},
	} {
		got := l.send("POST", "", test.body).Refused(t, wire.InvalidRequest)
		fields := map[string]bool{}
		for _, detail := range got.Details {
			fields[detail.Field] = true
		}
		for field := range strings.FieldsSeq(test.fields) {
			if !fields[field] {
				t.Errorf("%v: no fault of %s in %+v", test.body, field, got.Details)
			}
		}
	}
	broken, _ := l.record(201, "POST", "", object{"name": "broken", "html": "<p>\n{{#if a}}\n{{/each}}\n{{formatDat b}}</p>"})
	got := l.send("POST", "/"+broken.ID+"/publish", nil).Refused(t, wire.InvalidRequest)
	if len(got.Details) < 1 || !strings.Contains(got.Message, "line 2") {
		t.Errorf("publishing what is broken: %+v", got)
	}
	for _, source := range []string{`{"templateId":"x","html":"y"}`, `{"html":"y","templateVersion":2}`, `{"html":"y","strict":true}`} {
		l.Send(t, apitest.Request{Path: "/v1/pdf", Body: source}).Refused(t, wire.InvalidRequest)
	}
}

// TestTemplateStrict reports every missing path at once, and charges nothing.
func TestTemplateStrict(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	l.record(201, "POST", "", object{"name": "strict", "html": `{{customer.name}} {{#each items}}{{sku}} {{formatCurrency price "EUR"}}{{/each}}{{#if note}}{{note}}{{/if}}{{default memo "-"}}`})
	l.record(200, "POST", "/strict/publish", nil)
	balance, _ := l.Balance(t)
	got := l.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"templateId":"strict","strict":true,"templateData":{"items":[{"sku":"a","price":1},{"sku":"b"},{"price":2}]}}`}).Refused(t, wire.InvalidRequest)
	want := []string{"templateData.customer.name", "templateData.items[1].price", "templateData.items[2].sku"}
	var fields []string
	for _, detail := range got.Details {
		fields = append(fields, detail.Field)
	}
	if strings.Join(fields, " ") != strings.Join(want, " ") {
		t.Errorf("missing are %v, want %v (%s)", fields, want, got.Message)
	}
	if after, held := l.Balance(t); after != balance || held != 0 {
		t.Errorf("the balance went from %d to %d, held %d", balance, after, held)
	}
}

// TestTemplateOptions lets the request's options win field by field.
func TestTemplateOptions(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	l.record(201, "POST", "", object{"name": "opt", "html": `{{formatNumber 1234.5}}`, "options": object{
		"format": "A5", "locale": "de", "margin": object{"top": "10mm", "left": "10mm"}, "headerTemplate": "<b style='font-size:8px'>own head</b>",
	}})
	l.record(200, "POST", "/opt/publish", nil)
	own := l.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"templateId":"opt"}`}).OK(t)
	if got := strings.Join(strings.Fields(pdfText(t, []byte(own.Body))), " "); !strings.Contains(got, "1.234,5") || !strings.Contains(got, "own head") {
		t.Errorf("with its own options it says %q", got)
	}
	other := l.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"templateId":"opt","options":{"locale":"en","margin":{"left":"0"},"headerTemplate":"<b style='font-size:8px'>mine</b>"}}`}).OK(t)
	if got := strings.Join(strings.Fields(pdfText(t, []byte(other.Body))), " "); !strings.Contains(got, "1,234.5") || !strings.Contains(got, "mine") || strings.Contains(got, "own head") {
		t.Errorf("with the request's options it says %q", got)
	}
	image := l.Send(t, apitest.Request{Path: "/v1/images", Body: `{"templateId":"opt","options":{"viewport":{"width":200,"height":100}}}`}).OK(t)
	if !strings.HasPrefix(image.Body, "\x89PNG") {
		t.Errorf("the image is %.20q", image.Body)
	}
}

// TestTemplatePartials: a published version keeps the partials it was published
// with, and rings are refused by name.
func TestTemplatePartials(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	put := func(name, html string) apitest.Response {
		return l.send("PUT", "/partials/"+name, object{"html": html})
	}
	put("head", "HEAD {{> logo}} {{title}}").OK(t)
	put("logo", "logo1").OK(t)
	got := put("logo", "{{> head}}").Refused(t, wire.InvalidRequest)
	if !strings.Contains(got.Message, "logo → head → logo") {
		t.Errorf("a ring is told as %q", got.Message)
	}
	put("self", "{{> self}}").Refused(t, wire.InvalidRequest)
	put("bad", "{{#if}").Refused(t, wire.InvalidRequest)
	put("-x", "x").Refused(t, wire.InvalidRequest)
	l.record(201, "POST", "", object{"name": "with", "html": "{{> head}}", "sampleData": object{"title": "T"}})
	l.record(200, "POST", "/with/publish", nil)
	put("logo", "logo2").OK(t)
	if got := l.text(object{"templateId": "with", "templateData": object{"title": "T"}}); got != "HEAD logo1 T" {
		t.Errorf("the published version says %q", got)
	}
	preview := l.send("POST", "/preview", object{"templateId": "with"}).OK(t)
	if got := strings.Join(strings.Fields(pdfText(t, []byte(preview.Body))), " "); got != "HEAD logo2 T" {
		t.Errorf("the preview says %q", got)
	}
	list := decode[wire.PartialList](t, l.send("GET", "/partials", nil).OK(t))
	if len(list.Partials) != 2 || list.Partials[1].HTML != "logo2" {
		t.Errorf("partials %+v", list)
	}
	l.send("DELETE", "/partials/logo", nil).OK(t)
	l.send("GET", "/partials/logo", nil).Refused(t, wire.NotFound)
	if got := l.text(object{"templateId": "with"}); got != "HEAD logo1" {
		t.Errorf("after the deletion it says %q", got)
	}
}

// TestTemplateJobKeepsItsVersion publishes between a job's acceptance and its run,
// and deletes the template.
func TestTemplateJobKeepsItsVersion(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	l.record(201, "POST", "", object{"name": "job", "html": "one"})
	l.record(200, "POST", "/job/publish", nil)
	job := l.Enqueue(t, apitest.Request{Path: "/v1/pdf", Body: `{"templateId":"job","response":"async"}`})
	l.record(200, "PATCH", "/job", object{"html": "two"})
	l.record(200, "POST", "/job/publish", nil)
	l.send("DELETE", "/job", nil).OK(t)
	stop := l.Work(t)
	defer stop()
	if done := l.Await(t, job.ID); done.Status != wire.JobCompleted {
		t.Fatalf("the job: %+v", done)
	}
	if got := strings.TrimSpace(pdfText(t, []byte(l.Content(t, job.ID)))); got != "one" {
		t.Errorf("the job made %q", got)
	}
}

// TestTemplateValidate costs nothing.
func TestTemplateValidate(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	got := decode[wire.TemplateValidation](t, l.send("POST", "/validate", object{
		"html": "{{customer.name}}{{#each items}}{{sku}}{{/each}}{{formatDat x}}\n{{#if y}}", "sampleData": object{"customer": object{}, "items": []object{{"sku": 1}}},
	}).OK(t))
	if got.Valid || len(got.Errors) != 1 || *got.Errors[0].Line != 2 || *got.Errors[0].Column != 1 {
		t.Errorf("got %+v", got)
	}
	good := decode[wire.TemplateValidation](t, l.send("POST", "/validate", object{
		"html": "{{customer.name}}{{#each items}}{{sku}}{{/each}}{{formatDat x}}", "sampleData": object{"customer": object{}, "items": []object{{"sku": 1}}}, "strict": true,
	}).OK(t))
	if good.Valid || len(good.Errors) != 1 || !strings.Contains(good.Errors[0].Message, `"formatDate"`) || strings.Join(good.Variables, " ") != "customer.name items items[].sku x" || strings.Join(good.Missing, " ") != "customer.name x" {
		t.Errorf("got %+v", good)
	}
	if balance, _ := l.Balance(t); balance != int64(apitest.Trial) {
		t.Errorf("the balance is %d", balance)
	}
}

// TestTemplateChangesAtOnceOverHTTP: with If-Match no update is lost, and no
// version mixes two.
func TestTemplateChangesAtOnceOverHTTP(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	l.record(201, "POST", "", object{"name": "busy", "html": "0"})
	var mu sync.Mutex
	accepted := 0
	var all sync.WaitGroup
	for worker := range 6 {
		all.Go(func() {
			for i := range 5 {
				read := l.send("GET", "/busy", nil)
				header := []string{"If-Match", read.Header.Get("ETag")}
				got := l.send("PATCH", "/busy", object{"html": fmt.Sprintf("%d-%d", worker, i), "description": fmt.Sprintf("%d-%d", worker, i)}, header...)
				switch got.Status {
				case 200:
					mu.Lock()
					accepted++
					mu.Unlock()
				case 412:
				default:
					t.Errorf("got %d %s", got.Status, got.Body)
				}
			}
		})
	}
	all.Wait()
	got, tag := l.record(200, "GET", "/busy", nil)
	if tag != fmt.Sprintf(`"%d"`, accepted+1) || *got.HTML != got.Description {
		t.Errorf("%s after %d accepted changes: %+v", tag, accepted, got)
	}
}

// TestTemplateGallery lists layouts, and starts from one.
func TestTemplateGallery(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t), t}
	list := decode[wire.GalleryList](t, l.send("GET", "/gallery", nil, "Authorization", "").OK(t))
	if len(list.Templates) < 30 {
		t.Fatalf("%d layouts", len(list.Templates))
	}
	one := list.Templates[0]
	made, _ := l.record(201, "POST", "", object{"fromGallery": one.ID})
	if made.Slug != one.ID || made.Name != one.Name || made.Category != one.Category || len(*made.HTML) < 500 || string(made.SampleData) == "{}" {
		t.Errorf("from %s: %+v", one.ID, made)
	}
	for name, slug := range map[string]string{one.Name: one.ID + "-2", "Mine": "mine"} {
		if another, _ := l.record(201, "POST", "", object{"fromGallery": one.ID, "name": name}); another.Slug != slug {
			t.Errorf("from %s by the name %s: got the id %s, want %s", one.ID, name, another.Slug, slug)
		}
	}
	l.record(200, "POST", "/"+made.ID+"/publish", nil)
	image := l.Send(t, apitest.Request{Method: "GET", Path: strings.TrimPrefix(one.ThumbnailURL, l.URL), Header: http.Header{"Authorization": {""}}})
	if image.Status != 200 || !strings.Contains(image.Header.Get("Cache-Control"), "immutable") || image.Header.Get("Content-Type") != "image/webp" {
		t.Errorf("the thumbnail: %d %v", image.Status, image.Header)
	}
	few := decode[wire.GalleryList](t, l.send("GET", "/gallery?category="+one.Category, nil).OK(t))
	if len(few.Templates) == 0 || len(few.Templates) >= len(list.Templates) {
		t.Errorf("%d layouts of %s", len(few.Templates), one.Category)
	}
}

// pdfText reads the text of a PDF.
func pdfText(t testing.TB, pdf []byte) string {
	t.Helper()
	program := exec.CommandContext(t.Context(), "pdftotext", "-", "-")
	program.Stdin = bytes.NewReader(pdf)
	out, err := program.Output()
	if err != nil {
		t.Fatalf("pdftotext: %v", err)
	}
	return string(out)
}
