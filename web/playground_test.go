package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/web"
)

// TestPlaygroundListsOfferedOperations and no operation whose engine does not run.
func TestPlaygroundListsOfferedOperations(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) { c.Table.Without([]string{operation.EngineOCR}) })
	v := h.join(t, "maya@example.com")
	list := v.get("/dashboard/playground")
	if list.status != http.StatusOK || !strings.Contains(list.body, `value="pdf_merge"`) || strings.Contains(list.body, `value="pdf_ocr"`) {
		t.Errorf("the list is %d %s", list.status, list.body)
	}
	for name, want := range map[string]int{"pdf_merge": http.StatusOK, "pdf_ocr": http.StatusNotFound} {
		if got := v.get("/dashboard/playground/" + name); got.status != want {
			t.Errorf("%s: status %d, want %d", name, got.status, want)
		}
	}
}

// TestPlaygroundNamesALimitOnce: where a description names it, and where none does.
func TestPlaygroundNamesALimitOnce(t *testing.T) {
	v := sqliteHouse(t, nil).join(t, "maya@example.com")
	if page := v.sees("/dashboard/playground/pdf_merge", "2 to 20 of them"); strings.Contains(page.body, "20 items") {
		t.Error("the bounds of the files to merge are said twice")
	}
	v.sees("/dashboard/playground/barcodes_create", "From 8 to 8,192.")
}

// nodes returns the descendants of a node for which a condition holds.
func nodes(n *html.Node, holds func(*html.Node) bool) (found []*html.Node) {
	for child := range n.Descendants() {
		if child.Type == html.ElementNode && holds(child) {
			found = append(found, child)
		}
	}
	return found
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func textIn(n *html.Node) string {
	var b strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
		}
	}
	return b.String()
}

// formOf returns the fields that a browser would send for the form of a playground, without files.
func formOf(t *testing.T, body string) url.Values {
	t.Helper()
	page, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	forms := nodes(page, func(n *html.Node) bool { _, ok := attribute(n, "data-play"); return ok })
	if len(forms) != 1 {
		t.Fatalf("the page has %d forms to fill in: %s", len(forms), textOf(body))
	}
	sent := url.Values{}
	for _, field := range nodes(forms[0], func(n *html.Node) bool { return slices.Contains([]string{"input", "select", "textarea"}, n.Data) }) {
		name, _ := attribute(field, "name")
		kind, _ := attribute(field, "type")
		value, _ := attribute(field, "value")
		switch {
		case field.Data == "textarea":
			value = textIn(field)
		case field.Data == "select":
			for _, option := range nodes(field, func(n *html.Node) bool { return n.Data == "option" }) {
				if _, selected := attribute(option, "selected"); selected {
					value, _ = attribute(option, "value")
				}
			}
		case kind == "checkbox" || kind == "radio":
			if _, checked := attribute(field, "checked"); !checked {
				continue
			}
		case kind == "file":
			continue
		}
		sent.Add(name, value)
	}
	return sent
}

// callOf returns the JSON that a page of the playground shows.
func callOf(t *testing.T, body string) string {
	t.Helper()
	page, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range nodes(page, func(n *html.Node) bool {
		label, _ := attribute(n, "aria-label")
		return n.Data == "pre" && label == "JSON sample"
	}) {
		return textIn(sample)
	}
	t.Fatalf("the page shows no JSON: %s", textOf(body))
	return ""
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var left, right any
	for _, one := range []struct {
		text string
		to   *any
	}{{a, &left}, {b, &right}} {
		read := json.NewDecoder(strings.NewReader(one.text))
		read.UseNumber()
		if err := read.Decode(one.to); err != nil {
			t.Fatalf("%v in %s", err, one.text)
		}
	}
	return reflect.DeepEqual(left, right)
}

// TestPlaygroundFormsShowTheirInput opens the form of every operation, sends it back as a browser would, and finds
// the operation's example in the resulting request.
func TestPlaygroundFormsShowTheirInput(t *testing.T) {
	sharedtest.Slow(t)
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	list := v.sees("/dashboard/playground", "POST /v1/pdf", "Create a PDF from HTML")
	for _, row := range operation.Rows {
		table, err := schema.NewTable([]schema.Definition[*operation.Deps]{row})
		if err != nil {
			t.Fatal(err)
		}
		o := table.All()[0]
		path := "/dashboard/playground/" + o.Tool()
		if !strings.Contains(list.body, `value="`+o.Tool()+`"`) {
			t.Errorf("%s cannot be chosen", o.Name)
		}
		example, err := json.Marshal(o.Example)
		if err != nil {
			t.Fatal(err)
		}
		page := v.sees(path, "Load example")
		if !strings.Contains(html.UnescapeString(textOf(page.body)), o.Summary+": POST "+o.Path()) {
			t.Errorf("%s does not say %q", path, o.Summary)
		}
		word := "Run for"
		if o.Varies {
			word = "Run from"
		}
		if o.Flow {
			word = "Run for $0.0025" // the price of its steps
		}
		if o.Bulk {
			word = "Run" // the price of its records
		}
		if !strings.Contains(textOf(page.body), word) {
			t.Errorf("%s: the button does not say %q", o.Name, word)
		}
		form := formOf(t, page.body)
		form.Set("do", "show")
		shown := callOf(t, v.post(path, http.StatusOK, form).body)
		if !sameJSON(t, shown, string(example)) {
			t.Errorf("%s: the form comes to %s, want %s", o.Name, shown, example)
		}
		if again := callOf(t, v.sees(path+"?input="+url.QueryEscape(shown)).body); !sameJSON(t, again, shown) {
			t.Errorf("%s: a link fills in %s, want %s", o.Name, again, shown)
		}
		if empty := callOf(t, v.sees(path+"?input=%7B%7D").body); strings.TrimSpace(empty) != "{}" {
			t.Errorf("%s: an empty form comes to %s", o.Name, empty)
		}
	}
	if got := v.get("/dashboard/playground?operation=pdf_merge").header.Get("Location"); got != "/dashboard/playground/pdf_merge" {
		t.Errorf("choosing an operation leads to %q", got)
	}
	// Only paid operations have a form.
	for _, id := range []string{"files_upload", "jobs_get", "nothing"} {
		if got := v.get("/dashboard/playground/" + id); got.status != http.StatusNotFound {
			t.Errorf("%s: status %d", id, got.status)
		}
	}
}

// TestPlaygroundFieldsBecomeJSON fills in single fields, and checks the resulting request.
func TestPlaygroundFieldsBecomeJSON(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	for _, tt := range []struct {
		operation string
		form      url.Values
		want      string
		says      string
	}{
		{"pdf_create", url.Values{"html": {"a\r\nb"}, "options.printBackground": {"on"}}, `{"html":"a\nb"}`, ""},
		{"pdf_create", url.Values{"html": {"<b>"}}, `{"html":"<b>","options":{"printBackground":false}}`, ""},
		{"pdf_create", url.Values{"options.width": {"800"}, "options.height": {"20cm"}, "options.scale": {"0.1"}, "options.printBackground": {"on"}}, `{"options":{"width":800,"height":"20cm","scale":0.1}}`, ""},
		{"pdf_create", url.Values{"options.scale": {"wide"}, "options.printBackground": {"on"}}, `{"options":{"scale":"wide"}}`, ""},
		{"pdf_create", url.Values{"templateData": {"{\"n\": 9007199254740993}"}, "options.printBackground": {"on"}}, `{"templateData":{"n":9007199254740993}}`, ""},
		{"pdf_create", url.Values{"templateData": {"{"}, "options.printBackground": {"on"}}, `{}`, "Must be valid JSON"},
		{"pdf_extract", url.Values{"pages": {"2"}}, `{"pages":"2"}`, ""},
		{"pdf_extract", url.Values{"pages": {"[2,1]"}}, `{"pages":[2,1]}`, ""},
		{"pdf_rotate", url.Values{"degrees": {"-90"}}, `{"degrees":-90}`, ""},
		{"zip_create", url.Values{"count:files": {"2"}, "files[0].filename": {"a"}}, `{"files":[{"filename":"a"}]}`, ""},
		{"zip_create", url.Values{"count:files": {"2"}, "files[1].filename": {"b"}}, `{"files":[{},{"filename":"b"}]}`, ""},
		{"zip_create", url.Values{"count:files": {"2"}, "files[0].filename": {"a"}, "files[1].filename": {"b"}, "do": {"drop:files[0]"}}, `{"files":[{"filename":"b"}]}`, ""},
		{"zip_create", url.Values{"count:files": {"9999999"}, "files[0].filename": {"a"}}, `{"files":[{"filename":"a"}]}`, ""},
		{"zip_create", url.Values{"count:files": {"2"}, "files[0].filename": {"a"}, "files[1].filename": {"b"}, "do": {"raise:files[1]"}}, `{"files":[{"filename":"b"},{"filename":"a"}]}`, ""},
		{"zip_create", url.Values{"count:files": {"2"}, "files[0].filename": {"a"}, "files[1].filename": {"b"}, "do": {"raise:files[0]"}}, `{"files":[{"filename":"a"},{"filename":"b"}]}`, ""},
		{"pdf_info", url.Values{"file": {"JVBERi0="}, "do": {"drop:file"}}, `{}`, ""},
		{"pdf_extract", url.Values{"pages": {"2"}, "then": {`[{"op": "pdf.compress", "input": {}}]`}, "do": {"show"}}, `{"pages":"2","then":[{"op":"pdf.compress","input":{}}]}`, "Run for $0.001"},
		{"pdf_extract", url.Values{"then": {`[`}}, `{}`, "Must be valid JSON"},
		{"pdf_extract", url.Values{"then": {`{}`}}, `{"then":{}}`, "Run for $0.0005"},
		{"pipelines_create", url.Values{"steps": {`[{"op":"pdf.raster"},{"op":"zip.create"}]`}}, `{"steps":[{"op":"pdf.raster"},{"op":"zip.create"}]}`, "Run for $0.0012"},
		{"pipelines_create", url.Values{"steps": {`[{"op":"pdf.nothing"}]`}}, `{"steps":[{"op":"pdf.nothing"}]}`, "Run"},
		// Only the open tab is sent, with the fields that belong to it.
		{"pdf_create", url.Values{"source": {"url"}, "html": {"<b>"}, "url": {"https://example.com/"}, "strict": {"on"}, "options.printBackground": {"on"}}, `{"url":"https://example.com/"}`, ""},
		{"pdf_create", url.Values{"source": {"template"}, "html": {"<b>"}, "templateId": {"letter"}, "templateData": {`{"a":1}`}, "strict": {"on"}, "options.printBackground": {"on"}}, `{"templateId":"letter","templateData":{"a":1},"strict":true}`, ""},
		{"pdf_create", url.Values{"source": {"nothing"}, "markdown": {"# A"}, "options.printBackground": {"on"}}, `{"markdown":"# A"}`, ""},
		{"pdf_create", url.Values{"do": {"fill"}, "input": {`{"html":"a","url":"https://example.com/"}`}}, `{"html":"a"}`, "Ignored unknown or invalid fields: url"},
		{"pdf_info", url.Values{"source": {"url"}, "file": {"JVBERi0="}, "url": {"https://example.com/a.pdf"}}, `{"url":"https://example.com/a.pdf"}`, ""},
		{"pdf_info", url.Values{"do": {"fill"}, "input": {`{"fileId":"file_1","speed":2}`}}, `{"fileId":"file_1"}`, "Ignored unknown or invalid fields: speed"},
		{"barcodes_create", url.Values{"do": {"fill"}, "input": {`[1]`}}, `{"type":"qr","text":"https://example.com/?a=1","scale":4}`, "The input is not a JSON object"},
	} {
		// As forms send them: boxes that are on by default.
		tt.form.Set("store", "on")
		if tt.operation == "pdf_create" {
			tt.form.Set("options.formulas", "on")
		}
		got := v.post("/dashboard/playground/"+tt.operation, http.StatusOK, tt.form)
		shown := callOf(t, got.body)
		if !sameJSON(t, shown, tt.want) {
			t.Errorf("%s %v: got %s, want %s", tt.operation, tt.form, shown, tt.want)
		}
		if !strings.Contains(textOf(got.body), tt.says) {
			t.Errorf("%s %v does not say %q", tt.operation, tt.form, tt.says)
		}
	}
	if got := v.sees("/dashboard/playground/pdf_create?input=" + url.QueryEscape(`{"html":"`+strings.Repeat("x", 17<<10)+`"}`)); !strings.Contains(got.body, "is too long; the maximum is 16 KiB") {
		t.Error("an address fills in more than it may")
	}
}

// play sends a form of the playground with files in it, each under the path of
// its field.
func (v *visitor) play(path string, form url.Values, files ...[3]string) answer {
	v.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range form {
		for _, value := range values {
			if err := w.WriteField(name, value); err != nil {
				v.t.Fatal(err)
			}
		}
	}
	for _, file := range files {
		part, err := w.CreateFormFile("upload:"+file[0], file[1])
		if err == nil {
			_, err = io.WriteString(part, file[2])
		}
		if err != nil {
			v.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		v.t.Fatal(err)
	}
	return v.upload(path, w.FormDataContentType(), &body)
}

// TestTestKeyIsFree: the pages say that calls with a test key are free, except on a developer's own server, where they
// are not.
func TestTestKeyIsFree(t *testing.T) {
	t.Parallel()
	for dev, words := range map[bool][]string{false: {"Run for free", "Calls are free, up to 500 a day per account."}, true: {"Run for $0.0002", "treats test keys like live keys"}} {
		t.Run("dev "+strconv.FormatBool(dev), func(t *testing.T) {
			h := sqliteHouse(t, func(c *web.Config) { c.Dev = dev })
			v := h.join(t, "maya@example.com")
			key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: h.mayas(t).ID, Name: "ci", Test: true})
			if err != nil {
				t.Fatal(err)
			}
			got := v.post("/dashboard/playground/zip_create", http.StatusOK, url.Values{"do": {"show"}, "key": {key.ID}})
			if !strings.Contains(textOf(got.body), words[0]) {
				t.Errorf("dev %v: the playground does not say %q: %s", dev, words[0], textOf(got.body))
			}
			v.sees("/dashboard/keys/new", words[1])
		})
	}
}

// TestPlaygroundRunsPaidCalls uploads files with the form, packs them, and checks the charge and the result.
func TestPlaygroundRunsPaidCalls(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	before := h.mayas(t).Balance
	form := url.Values{"count:files": {"1"}, "response": {""}}
	got := v.play("/dashboard/playground/zip_create/run", form, [3]string{"files[]", "one.txt", "first"}, [3]string{"files[]", "two & three.txt", "second"}, [3]string{"files[]", "empty.txt", ""})
	if got.status != http.StatusUnprocessableEntity && got.status != http.StatusOK {
		t.Fatalf("got status %d: %s", got.status, textOf(got.body))
	}
	if !strings.Contains(textOf(got.body), "empty.txt: ") || h.mayas(t).Balance != before {
		t.Errorf("an empty file is no fault, or was charged: %s", textOf(got.body))
	}
	got = v.play("/dashboard/playground/zip_create/run", form, [3]string{"files[]", "one.txt", "first"}, [3]string{"files[]", "two & three.txt", "second"})
	if got.status != http.StatusOK {
		t.Fatalf("got status %d: %s", got.status, textOf(got.body))
	}
	text := textOf(got.body)
	for _, words := range []string{"Completed", "one.txt: 5 bytes", "two &amp; three.txt: 6 bytes", "charged $0.0002", "Open document", "one.txt 5 B", "Latest zip.create calls"} {
		if !strings.Contains(text, words) {
			t.Errorf("the page does not say %q: %s", words, text)
		}
	}
	if spent := before - h.mayas(t).Balance; spent != 200 {
		t.Errorf("the call cost %d microdollars, want 200", spent)
	}
	calls, err := h.Calls(t.Context(), store.CallFilter{AccountID: h.mayas(t).ID})
	if err != nil || len(calls.Items) != 1 || calls.Items[0].Operation != "zip.create" || calls.Items[0].KeyID != "" {
		t.Fatalf("got %+v, %v", calls, err)
	}
	if !strings.Contains(got.body, `href="/dashboard/documents/`+calls.Items[0].ID+`"`) || !strings.Contains(got.body, `href="/dashboard/documents/`+calls.Items[0].ID+`/file"`) {
		t.Error("no link leads to the call or to its result")
	}
	v.sees("/dashboard/documents/"+calls.Items[0].ID, "Content", "one.txt: 5 bytes")
	// The fields still contain the sent values, so that the call can be run again.
	again := formOf(t, got.body)
	if again.Get("files[0].filename") != "one.txt" || !strings.HasPrefix(again.Get("files[1].fileId"), "file_") || again.Get("count:files") != "2" {
		t.Errorf("the form has forgotten its files: %v", again)
	}
	again.Set("response", "async")
	got = v.play("/dashboard/playground/zip_create/run", again)
	if !strings.Contains(textOf(got.body), "Accepted") || !strings.Contains(textOf(got.body), "The job runs in the background") {
		t.Errorf("a job: status %d: %s", got.status, textOf(got.body))
	}
	// Results of other accounts get 404.
	mallory := h.join(t, "mallory@example.com")
	stolen := url.Values{"fileId": {again.Get("files[0].fileId")}}
	if got := mallory.play("/dashboard/playground/pdf_info/run", stolen); got.status == http.StatusOK || strings.Contains(got.body, "Completed") {
		t.Errorf("another account's file: status %d: %s", got.status, textOf(got.body))
	}
}

// TestPlaygroundShowsErrorsAtTheirFields sends inputs that the API refuses.
func TestPlaygroundShowsErrorsAtTheirFields(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	before := h.mayas(t).Balance
	for _, tt := range []struct {
		operation   string
		form        url.Values
		field, says string
	}{
		{"barcodes_create", url.Values{"type": {"qr"}, "text": {"x"}, "scale": {"9000"}}, "scale", "Must be between"},
		{"barcodes_create", url.Values{"type": {"qr"}}, "text", "Is required"},
		{"pdf_create", url.Values{"html": {"x"}, "options.margin.top": {"wide"}, "options.printBackground": {"on"}}, "options.margin.top", "Must be a number of CSS pixels"},
		{"pdf_create", url.Values{"html": {"x"}, "options.cookies": {`[{"name":"a"}]`}, "options.printBackground": {"on"}}, "options.cookies", "options.cookies[0].value is required"},
		{"zip_create", url.Values{"count:files": {"1"}, "files[0].filename": {"a"}}, "files[0]", "Is required unless another source"},
		{"zip_create", url.Values{"count:files": {"1"}, "files[0].filename": {"a.txt"}, "files[0].file": {"not Base64"}}, "files[0]", "a.txt: Must be"},
		{"pdf_create", url.Values{"source": {"url"}, "html": {"x"}, "options.printBackground": {"on"}}, "url", "Is required unless another source"},
		{"zip_create", url.Values{"count:files": {"1"}}, "files", "Is required"},
	} {
		h.clock.Advance(time.Minute) // the limits of calls apply
		got := v.play("/dashboard/playground/"+tt.operation+"/run", tt.form)
		if got.status != http.StatusBadRequest && got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s %v: status %d", tt.operation, tt.form, got.status)
		}
		page, err := html.Parse(strings.NewReader(got.body))
		if err != nil {
			t.Fatal(err)
		}
		told := nodes(page, func(n *html.Node) bool { id, _ := attribute(n, "id"); return id == "f-"+tt.field+"-error" })
		if len(told) != 1 || !strings.Contains(textIn(told[0]), tt.says) {
			t.Errorf("%s %v: nothing at %s says %q", tt.operation, tt.form, tt.field, tt.says)
		}
		if !strings.Contains(got.body, "Nothing was charged") {
			t.Errorf("%s %v: it is not said that nothing was charged", tt.operation, tt.form)
		}
	}
	if h.mayas(t).Balance != before {
		t.Error("a refusal was charged")
	}
	// A file that is larger than it may be is refused with its limit.
	h.clock.Advance(time.Minute)
	got := v.play("/dashboard/playground/pdf_info", url.Values{}, [3]string{"file", "large.pdf", strings.Repeat("x", 1<<20+1)})
	if !strings.Contains(textOf(got.body), "large.pdf: ") || !strings.Contains(got.body, "Maximum 1 MiB") {
		t.Errorf("a file that is too large: status %d: %s", got.status, textOf(got.body))
	}
}

// TestPlaygroundShowsTextsAsTexts puts markup into every field of every form, and runs the operations that need no
// renderer.
func TestPlaygroundShowsTextsAsTexts(t *testing.T) {
	sharedtest.Slow(t)
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	const attack = `"></textarea><script>alert(1)</script><img src=x onerror=alert(1)>'`
	clean := func(what string, a answer) {
		t.Helper()
		if strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "<img src=x") {
			t.Errorf("%s is shown as markup", what)
		}
		if a.status >= http.StatusInternalServerError {
			t.Errorf("%s: status %d", what, a.status)
		}
	}
	for _, row := range operation.Rows {
		table, err := schema.NewTable([]schema.Definition[*operation.Deps]{row})
		if err != nil {
			t.Fatal(err)
		}
		path := "/dashboard/playground/" + table.All()[0].Tool()
		form := formOf(t, v.get(path).body)
		for name := range form {
			if !strings.HasPrefix(name, "count:") {
				form.Set(name, attack)
			}
		}
		form.Set("do", attack)
		form.Set("upload-name:fileId", attack)
		clean(path, v.play(path, form))
		clean(path+"?input", v.get(path+"?input="+url.QueryEscape(fmt.Sprintf(`{%q:%q}`, attack, attack))))
	}
	// An archive's names, and a file's name.
	clean("a file's name", v.play("/dashboard/playground/zip_create/run", url.Values{"count:files": {"1"}}, [3]string{"files[]", attack, "x"}))
}

// TestPlaygroundIsForRoles checks the permissions of a viewer.
func TestPlaygroundIsForRoles(t *testing.T) {
	h := sqliteHouse(t, nil)
	h.join(t, "maya@example.com")
	person, err := h.CreateUser(t.Context(), store.NewUser{Email: "vic@example.com", Verified: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.AddMember(t.Context(), h.mayas(t).ID, person.ID, store.RoleViewer); err != nil {
		t.Fatal(err)
	}
	v := h.signedIn(t, person)
	if page := v.sees("/dashboard/playground/zip_create", "Your role is read-only"); strings.Contains(page.body, `/run"`) {
		t.Error("a viewer is offered to run a call")
	}
	v.post("/dashboard/playground/zip_create", http.StatusOK, url.Values{"count:files": {"1"}})
	for path, status := range map[string]int{"/dashboard/playground/zip_create": http.StatusForbidden, "/dashboard/playground/zip_create/run": http.StatusForbidden} {
		if got := v.play(path, url.Values{}, [3]string{"files[]", "a.txt", "x"}); got.status != status {
			t.Errorf("a viewer uploads at %s: status %d", path, got.status)
		}
	}
	if files, err := h.Files(t.Context(), store.FileFilter{AccountID: h.mayas(t).ID}); err != nil || len(files.Items) > 0 {
		t.Errorf("got %+v, %v", files, err)
	}
}

// TestPlaygroundCallsWithAKey chooses a key of the account: the call counts for it. No other key makes calls.
func TestPlaygroundCallsWithAKey(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	h.join(t, "mallory@example.com")
	keyOf := func(accountID, name string, operations ...string) store.Key {
		key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: accountID, Name: name, Operations: operations})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	mine := h.mayas(t).ID
	production, restricted, elsewhere, revoked := keyOf(mine, "production"), keyOf(mine, "zips", "zip.create"), keyOf(mine, "merges", "pdf.merge"), keyOf(mine, "old")
	if err := h.RevokeKey(t.Context(), mine, revoked.ID); err != nil {
		t.Fatal(err)
	}
	form := url.Values{"count:files": {"1"}, "response": {""}}
	file := [3]string{"files[]", "one.txt", "first"}
	page := v.sees("/dashboard/playground/zip_create", "production", "zips")
	for _, not := range []store.Key{elsewhere, revoked} {
		if strings.Contains(page.body, not.ID) {
			t.Errorf("the key %s is offered", not.Name)
		}
		form.Set("key", not.ID)
		if got := v.play("/dashboard/playground/zip_create/run", form, file); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Choose another key") {
			t.Errorf("the key %s: status %d: %s", not.Name, got.status, textOf(got.body))
		}
	}
	for _, key := range []store.Key{production, restricted} {
		form.Set("key", key.ID)
		got := v.play("/dashboard/playground/zip_create/run", form, file)
		if got.status != http.StatusOK || formOf(t, got.body).Get("key") != key.ID {
			t.Errorf("the key %s: status %d: %s", key.Name, got.status, textOf(got.body))
		}
		calls, err := h.Calls(t.Context(), store.CallFilter{AccountID: mine, KeyID: key.ID})
		if err != nil || len(calls.Items) != 1 {
			t.Errorf("the key %s made %d calls, %v; want 1", key.Name, len(calls.Items), err)
		}
	}
}

// TestPlaygroundOffersTemplates chooses a template and fills in its sample data.
func TestPlaygroundOffersTemplates(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	v.sees("/dashboard/playground/pdf_create", "The account has no templates")
	made, err := h.CreateTemplate(t.Context(), store.NewTemplate{AccountID: h.mayas(t).ID, Slug: "letter", Name: "Letter", Content: store.TemplateContent{HTML: "<p>{{name}}", SampleData: []byte(`{"name":"Ada"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	v.sees("/dashboard/playground/templates_preview", `Letter`)
	if page := v.get("/dashboard/playground/pdf_create"); strings.Contains(page.body, `value="letter"`) {
		t.Error("a draft is offered for calls of published templates")
	}
	if _, err := h.PublishTemplate(t.Context(), made.AccountID, made.ID, 0, "", nil); err != nil {
		t.Fatal(err)
	}
	if page := v.get("/dashboard/playground/pdf_create"); !strings.Contains(page.body, `value="letter"`) {
		t.Error("a published template is not offered")
	}
	form := url.Values{"source": {"template"}, "templateId": {"letter"}, "options.printBackground": {"on"}, "options.formulas": {"on"}, "store": {"on"}, "do": {"sample:templateData"}}
	if shown := callOf(t, v.post("/dashboard/playground/pdf_create", http.StatusOK, form).body); !sameJSON(t, shown, `{"templateId":"letter","templateData":{"name":"Ada"}}`) {
		t.Errorf("the sample data comes as %s", shown)
	}
	form.Set("templateId", "gone")
	if page := v.post("/dashboard/playground/pdf_create", http.StatusOK, form); !strings.Contains(page.body, "No template with this ID") {
		t.Error("a template that is not there has sample data")
	}
}

// TestReferenceLeadsToThePlayground: the public pages have a plain link.
func TestReferenceLeadsToThePlayground(t *testing.T) {
	h := sqliteHouse(t, nil)
	if page := h.visitor(t).sees("/docs/api/pdf_merge", "Try in playground"); !strings.Contains(page.body, `href="/dashboard/playground/pdf_merge"`) {
		t.Error("the reference does not lead to the playground")
	}
	if page := h.visitor(t).sees("/docs/api/jobs_get"); strings.Contains(page.body, "Try in playground") {
		t.Error("what is no operation can be tried")
	}
	if got := h.visitor(t).get("/dashboard/playground/pdf_merge"); got.header.Get("Location") != "/login?next="+url.QueryEscape("/dashboard/playground/pdf_merge") {
		t.Errorf("a visitor is sent to %q", got.header.Get("Location"))
	}
}
