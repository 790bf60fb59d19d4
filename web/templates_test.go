package web_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/web"
)

const templatesPath = "/dashboard/templates"

// newTemplate makes a template on the page and returns its own.
func (v *visitor) newTemplate(name string) string {
	v.t.Helper()
	return v.post(templatesPath, http.StatusSeeOther, url.Values{"name": {name}, "category": {"billing"}}).header.Get("Location")
}

func TestTemplatesAreListedMadeAndTakenBack(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		v.sees(templatesPath, "No templates yet", "Browse gallery")
		invoice := v.newTemplate("Invoice")
		v.post(templatesPath, http.StatusUnprocessableEntity, url.Values{})
		v.sees(templatesPath+"/gallery", "Use this template", "Atelier invoice")
		if a := v.sees(templatesPath+"/new?layout=invoice-atelier", "From the layout “Atelier invoice”"); !strings.Contains(a.body, `name="layout" value="invoice-atelier"`) {
			t.Error("the form does not send its layout")
		}
		if a := v.get(templatesPath + "/new?layout=nothing"); a.status != http.StatusNotFound {
			t.Errorf("the form of an unknown layout: got status %d", a.status)
		}
		// The id is the one in the request on the layout's page, as long as the name stays.
		kept := url.Values{"layout": {"invoice-atelier"}, "name": {"Atelier invoice"}, "category": {"invoice"}}
		used := v.post(templatesPath, http.StatusSeeOther, kept).header.Get("Location")
		v.sees(used, "Atelier invoice")
		account, err := h.AccountByEmail(t.Context(), "maya@example.com")
		if err != nil {
			t.Fatal(err)
		}
		if made, err := h.Template(t.Context(), account.ID, "invoice-atelier"); err != nil || made.Name != "Atelier invoice" {
			t.Errorf("the id of the layout: got %q, %v", made.Name, err)
		}
		v.sees(templatesPath, "2 templates", "Invoice", "Atelier invoice", "Draft", "Saved")
		if a := v.sees(templatesPath + "?q=atelier"); strings.Contains(a.body, `>Invoice</a>`) || !strings.Contains(a.body, "Atelier") {
			t.Errorf("a search shows %s", textOf(a.body))
		}
		v.sees(templatesPath+"?category=billing", "1 template")
		v.sees(templatesPath+"?state=published", "No matches")

		v.post(invoice+"/duplicate", http.StatusSeeOther, url.Values{})
		v.sees(templatesPath, "Invoice (copy)", "” created")
		v.post(invoice+"/delete", http.StatusSeeOther, url.Values{})
		a := v.sees(templatesPath, "“Invoice” deleted", "Undo")
		if !strings.Contains(a.body, `action="`+invoice+`/undelete"`) {
			t.Error("the list has no form that takes it back")
		}
		if a := v.get(invoice); a.status != http.StatusNotFound {
			t.Errorf("a deleted template's page: got status %d", a.status)
		}
		if a := v.sees(templatesPath); strings.Contains(a.body, "/undelete") {
			t.Error("what was deleted is told of twice")
		}
		v.post(invoice+"/undelete", http.StatusSeeOther, url.Values{})
		v.sees(templatesPath, "“Invoice” restored", "3 templates")
		got := h.actions(t, h.mayas(t).ID) // of one moment of the test's clock, in any order
		for action, times := range map[string]int{"template.undeleted": 1, "template.deleted": 1, "template.duplicated": 1, "template.made": 2} {
			if n := len(slices.DeleteFunc(slices.Clone(got), func(a string) bool { return a != action })); n != times {
				t.Errorf("the audit log has %s %d times, want %d: %v", action, n, times, got)
			}
		}
	})
}

func TestTemplatesAreListedPageByPage(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	for range 25 {
		if _, err := h.CreateTemplate(t.Context(), store.NewTemplate{AccountID: h.mayas(t).ID, Slug: "page", FreeSlug: true, Name: "Page", Content: store.TemplateContent{HTML: "x"}}); err != nil {
			t.Fatal(err)
		}
	}
	a := v.sees(templatesPath, "24 templates")
	older := regexp.MustCompile(`href="([^"]+cursor=[^"]+)" rel="next"`).FindStringSubmatch(a.body)
	if older == nil {
		t.Fatal("there is no way to the next page")
	}
	v.sees(older[1], "1 template", "Newest")
}

var etags = regexp.MustCompile(`name="etag" value="([^"]*)"`)

// etagOf returns the ETag of the state that the editor shows.
func etagOf(t *testing.T, a answer) string {
	t.Helper()
	found := etags.FindStringSubmatch(a.body)
	if found == nil {
		t.Fatalf("no ETag in %s", textOf(a.body))
	}
	return strings.ReplaceAll(found[1], "&#34;", `"`)
}

// TestEditorShowsACallInEveryLanguage opens a published layout: the call has its sample data.
func TestEditorShowsACallInEveryLanguage(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	path := v.post(templatesPath, http.StatusSeeOther, url.Values{"layout": {"invoice-atelier"}, "name": {"Atelier invoice"}, "category": {"invoice"}}).header.Get("Location")
	if page := v.sees(path, "Atelier invoice"); strings.Contains(page.body, "Copy curl") {
		t.Error("a template that is not published shows a call")
	}
	account := h.mayas(t)
	made, err := h.Template(t.Context(), account.ID, "invoice-atelier")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.PublishTemplate(t.Context(), account.ID, made.ID, 0, "First", nil); err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`aria-label="Copy (curl|Go|JavaScript|Python|PHP)" data-copy="([^"]*)"`).FindAllStringSubmatch(v.get(path).body, -1)
	if len(calls) != 5 {
		t.Fatalf("the call is shown in %d languages", len(calls))
	}
	for _, call := range calls {
		text := strings.ReplaceAll(html.UnescapeString(call[2]), `\"`, `"`)
		for _, want := range []string{"/v1/pdf", `"templateId": "invoice-atelier"`, `"templateData": {`, "Mrs Eleanor Ashworth"} {
			if !strings.Contains(text, want) {
				t.Errorf("in %s the call has no %s: %s", call[1], want, text)
			}
		}
	}
}

// TestTwoTabsOfTheEditor saves from an outdated page: nothing is written, no text is lost, and either version can
// be kept.
func TestTwoTabsOfTheEditor(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		path := v.newTemplate("Letter")
		first := etagOf(t, v.sees(path, "Letter", "HTML", "Options"))
		save := func(etag, html string) url.Values {
			return url.Values{"etag": {etag}, "html": {html}, "sampleData": {`{"n": 12345678901234567890, "t": "<&\\u0026>"}`}, "options": {`{"format":"A4"}`}}
		}
		v.post(path, http.StatusSeeOther, save(first, "<p>theirs</p>"))
		if shown := v.get(path).body; !strings.Contains(shown, "&#34;t&#34;: &#34;&lt;&amp;\\\\u0026&gt;&#34;") {
			t.Errorf("the data are shown otherwise than they were typed: %s", shown)
		}
		a := v.post(path, http.StatusConflict, save(first, "<p>mine</p>"))
		for _, word := range []string{"Another user saved this template", "<p>mine</p>", "Use stored version"} {
			if !strings.Contains(strings.NewReplacer("&lt;", "<", "&gt;", ">").Replace(a.body), word) {
				t.Errorf("the conflict does not show %q: %s", word, textOf(a.body))
			}
		}
		account, id := h.mayas(t).ID, strings.TrimPrefix(path, templatesPath+"/")
		stored := func() string {
			found, err := h.Template(t.Context(), account, id)
			if err != nil {
				t.Fatal(err)
			}
			return found.Content.HTML + string(found.Content.SampleData)
		}
		if got := stored(); got != `<p>theirs</p>{"n":12345678901234567890,"t":"<&\\u0026>"}` {
			t.Errorf("the conflict has written %q", got)
		}
		v.post(path, http.StatusSeeOther, save(etagOf(t, a), "<p>mine</p>"))
		if got := stored(); !strings.HasPrefix(got, "<p>mine</p>") {
			t.Errorf("after keeping mine: %q", got)
		}

		// The script's way is the same.
		v.header.Set("If-Match", first)
		if a := v.send(path+"/draft", `{"html":"late"}`); a.status != http.StatusPreconditionFailed || !strings.Contains(a.body, "precondition_failed") {
			t.Errorf("a late draft: got %d %s", a.status, a.body)
		}
		if a := v.send(path+"/compare", `{"html":"late","sampleData":"{}","options":"{}"}`); a.status != http.StatusOK || !strings.Contains(a.body, "<del>") || a.header.Get("ETag") == "" {
			t.Errorf("the comparison: got %d %q %s", a.status, a.header.Get("ETag"), a.body)
		}
		current := v.get(path + "/draft").header.Get("ETag")
		v.header.Set("If-Match", current)
		if a := v.send(path+"/draft", `{"html":"in time"}`); a.status != http.StatusOK || a.header.Get("ETag") == current {
			t.Errorf("a draft in time: got %d %q %s", a.status, a.header.Get("ETag"), a.body)
		}
	})
}

// send sends JSON as the editor's script does.
func (v *visitor) send(path, body string) answer {
	v.t.Helper()
	return v.upload(path, "application/json", strings.NewReader(body))
}

func (v *visitor) upload(path, kind string, body io.Reader) answer {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.h.url+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header = v.header.Clone()
	r.Header.Set("Content-Type", kind)
	response, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

func TestEditorKeepsInvalidInput(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	path := v.newTemplate("Letter")
	etag := etagOf(t, v.sees(path))
	for want, form := range map[string]url.Values{
		"Sample data must be valid JSON": {"html": {"kept <b>"}, "sampleData": {"{"}, "options": {"{}"}},
		"Options must be a JSON object":  {"html": {"kept <b>"}, "sampleData": {"{}"}, "options": {"null"}},
		"Options.formt":                  {"html": {"kept <b>"}, "sampleData": {"{}"}, "options": {`{"formt":"A4"}`}},
	} {
		form.Set("etag", etag)
		if a := v.post(path, http.StatusUnprocessableEntity, form); !strings.Contains(textOf(a.body), want) || !strings.Contains(a.body, "kept &lt;b&gt;") {
			t.Errorf("got %s, want %q and what was typed", textOf(a.body), want)
		}
	}
	const attack = `"><script>alert(1)</script></textarea><img src=x onerror=alert(1)>`
	v.post(path, http.StatusSeeOther, url.Values{"etag": {etag}, "html": {attack}, "sampleData": {`{"a":"</textarea><script>alert(1)</script>"}`}, "options": {"{}"}})
	v.post(path+"/settings", http.StatusSeeOther, url.Values{"name": {attack}, "slug": {"letter"}, "category": {attack}, "description": {attack}})
	for _, below := range []string{"", "/versions", "/publish", "/settings"} {
		if a := v.get(path + below); strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "<img src=x") {
			t.Errorf("%s shows markup that a person typed", below)
		}
	}
	if a := v.get(templatesPath); strings.Contains(a.body, "<script>alert") {
		t.Error("the list shows markup that a person typed")
	}
	v.post(path+"/settings", http.StatusUnprocessableEntity, url.Values{"name": {"x"}, "slug": {"Not A Slug"}})
}

func TestVersionNamesItsParts(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	path := v.newTemplate("Letter")
	account := h.mayas(t).ID
	v.post(path, http.StatusSeeOther, url.Values{"etag": {etagOf(t, v.sees(path))}, "html": {"{{> head}} <p>first</p>"}, "sampleData": {"{}"}, "options": {`{"format":"A5"}`}})
	if _, err := h.PublishTemplate(t.Context(), account, "letter", 0, "for the fair", map[string]string{"head": "<h1>of then</h1>"}); err != nil {
		t.Fatal(err)
	}
	a := v.sees(path+"/versions/1", "Version 1", "for the fair", "Published", "current version", "None. The draft is identical to this version.", "Partial head", "of then", "A5")
	if strings.Contains(a.body, "Restore") || strings.Contains(a.body, "Sample data") {
		t.Errorf("it offers what changes nothing, or shows what is empty: %s", textOf(a.body))
	}
	v.post(path, http.StatusSeeOther, url.Values{"etag": {etagOf(t, v.sees(path))}, "html": {"<p>second</p>"}, "sampleData": {"{}"}, "options": {"{}"}})
	v.sees(path+"/versions/1", "current version", "Restore", "second")
	if _, err := h.PublishTemplate(t.Context(), account, "letter", 0, "", nil); err != nil {
		t.Fatal(err)
	}
	if a := v.sees(path+"/versions/1", "Restore"); strings.Contains(textOf(a.body), "current version") {
		t.Error("a version that another one followed is said to be in use")
	}
}

func TestTemplatesOfAccountsAreApart(t *testing.T) {
	h := sqliteHouse(t, nil)
	path := h.join(t, "maya@example.com").newTemplate("Hers")
	mallory := h.join(t, "mallory@example.com")
	for _, page := range h.web.Pages() {
		below, ok := strings.CutPrefix(page.Pattern, templatesPath+"/{id}")
		if !ok {
			continue
		}
		below = strings.NewReplacer("{version}", "1", "{page}", "1").Replace(below)
		var a answer
		switch below {
		case "/draft", "/compare", "/describe", "/pages", "/check":
			if a = mallory.send(path+below, `{"html":"x"}`); page.Method == http.MethodGet {
				a = mallory.get(path + below)
			}
		default:
			form := url.Values{"html": {"x"}, "sampleData": {"{}"}, "options": {"{}"}, "version": {"1"}, "name": {"x"}, "slug": {"x"}}
			if page.Method == http.MethodGet {
				form = nil
			}
			a = mallory.do(page.Method, path+below, form)
		}
		if a.status != http.StatusNotFound {
			t.Errorf("%s %s: another account's member got status %d", page.Method, below, a.status)
		}
	}
}

// TestTemplatesTravelAsZip exports a template and imports it into another account,
// with its partials.
func TestTemplatesTravelAsZip(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	path := v.newTemplate("Letter")
	v.post(path, http.StatusSeeOther, url.Values{"etag": {etagOf(t, v.sees(path))}, "html": {"{{> sign}}"}, "sampleData": {`{"a": 1.50}`}, "options": {`{"format":"A5"}`}})
	if _, err := h.PutPartial(t.Context(), h.mayas(t).ID, "sign", "<hr>"); err != nil {
		t.Fatal(err)
	}
	exported := v.get(path + "/export")
	archive, err := zip.NewReader(strings.NewReader(exported.body), int64(len(exported.body)))
	if err != nil || len(archive.File) != 5 {
		t.Fatalf("the export: %v", err)
	}
	nina := h.join(t, "nina@example.com")
	account, err := h.AccountByEmail(t.Context(), "nina@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.PutPartial(t.Context(), account.ID, "sign", "<p>hers</p>"); err != nil {
		t.Fatal(err)
	}
	send := func(name, content string) answer {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.WriteString(part, content)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := form.Close(); err != nil {
			t.Fatal(err)
		}
		return nina.upload(templatesPath+"/import", form.FormDataContentType(), &body)
	}
	made := send("letter.zip", exported.body)
	if made.status != http.StatusSeeOther {
		t.Fatalf("the import: got %d %s", made.status, textOf(made.body))
	}
	found, err := h.Template(t.Context(), account.ID, strings.TrimPrefix(made.header.Get("Location"), templatesPath+"/"))
	if err != nil || found.Name != "Letter" || found.Content.HTML != "{{> sign}}" || found.Category != "billing" || !strings.Contains(string(found.Content.SampleData), "1.50") {
		t.Errorf("imported %+v, %v", found, err)
	}
	var options map[string]string
	if err := json.Unmarshal(found.Content.Options, &options); err != nil || options["format"] != "A5" {
		t.Errorf("imported the options %s, %v", found.Content.Options, err)
	}
	if partial, err := h.Partial(t.Context(), account.ID, "sign"); err != nil || partial.HTML != "<p>hers</p>" {
		t.Errorf("the partial that was there is %+v, %v", partial, err)
	}
	nina.sees(made.header.Get("Location"), "Not imported: partials that exist here with other content (sign)")
	for name, content := range map[string]string{"no zip": "nothing", "empty zip": zipOf(t, nil), "no object": zipOf(t, map[string]string{"template.html": "x", "sample.json": "[]"})} {
		if a := send(name, content); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `aria-invalid="true"`) {
			t.Errorf("%s: got %d %s", name, a.status, textOf(a.body))
		}
	}
}

func zipOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, text := range files {
		file, err := archive.Create(name)
		if err == nil {
			_, err = io.WriteString(file, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// fullLimiter lets nothing pass once it is full.
type fullLimiter struct {
	ratelimit.Limiter

	full atomic.Bool
}

func (l *fullLimiter) Take(ctx context.Context, key string, windows ...ratelimit.Window) (ratelimit.Verdict, error) {
	if l.full.Load() {
		return ratelimit.Verdict{}, errors.New("the limiter is away")
	}
	return l.Limiter.Take(ctx, key, windows...)
}

// TestSavesAreNotedOnceAnHourWithoutTheLimiter saves while the limiter fails: each save
// is stored, and the audit log has a line of the first in an hour.
func TestSavesAreNotedOnceAnHourWithoutTheLimiter(t *testing.T) {
	limiter := &fullLimiter{}
	h := sqliteHouse(t, func(c *web.Config) { limiter.Limiter = c.Limiter; c.Limiter = limiter })
	v := h.join(t, "maya@example.com")
	path := v.newTemplate("Letter")
	other := v.newTemplate("Other")
	limiter.full.Store(true)
	noted := func(want int) {
		t.Helper()
		got := h.actions(t, h.mayas(t).ID)
		if n := len(slices.DeleteFunc(slices.Clone(got), func(a string) bool { return a != "template.changed" })); n != want {
			t.Errorf("the audit log has %d changes, want %d: %v", n, want, got)
		}
	}
	save := func(path, html string) {
		t.Helper()
		if a := v.send(path+"/draft", `{"html":"`+html+`"}`); a.status != http.StatusOK || !strings.Contains(a.body, html) {
			t.Fatalf("got %d %s", a.status, a.body)
		}
	}
	save(path, "one")
	save(path, "two")
	noted(1)
	save(other, "one")
	noted(2)
	h.clock.Advance(59 * time.Minute)
	save(path, "three")
	noted(2)
	h.clock.Advance(2 * time.Minute)
	save(path, "four")
	noted(3)
}

// TestViewersSaveNothing sends the editor's requests as members without the permission.
func TestViewersSaveNothing(t *testing.T) {
	h := sqliteHouse(t, nil)
	owner := h.join(t, "maya@example.com")
	path := owner.newTemplate("Letter")
	account, id := h.mayas(t).ID, strings.TrimPrefix(path, templatesPath+"/")
	before, err := h.Template(t.Context(), account, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{store.RoleViewer, store.RoleBilling} {
		person, err := h.CreateUser(t.Context(), store.NewUser{Email: role + "@example.com", Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.AddMember(t.Context(), account, person.ID, role); err != nil {
			t.Fatal(err)
		}
		v := h.signedIn(t, person)
		v.header.Set("If-Match", "*")
		if a := v.send(path+"/draft", `{"html":"<b>not theirs</b>"}`); a.status != http.StatusForbidden {
			t.Errorf("%s, the script's way: got status %d", role, a.status)
		}
		form := url.Values{"html": {"x"}, "sampleData": {"{}"}, "options": {"{}"}, "name": {"x"}, "slug": {"x"}, "version": {"1"}}
		for _, below := range []string{"", "/settings", "/publish", "/discard", "/restore", "/duplicate", "/delete"} {
			v.post(path+below, http.StatusForbidden, form)
		}
		v.post(partialsPath, http.StatusForbidden, url.Values{"name": {"head"}, "html": {"x"}})
	}
	after, err := h.Template(t.Context(), account, id)
	if err != nil || after.Revision != before.Revision || after.Content.HTML != before.Content.HTML {
		t.Errorf("the template is %+v, %v; want %+v", after, err, before)
	}
}

// TestSuspendedAccountsTemplatesAreReadOnly on their pages, too.
func TestSuspendedAccountsTemplatesAreReadOnly(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	path := v.newTemplate("Letter")
	if err := h.Suspend(t.Context(), h.mayas(t).ID, "unpaid"); err != nil {
		t.Fatal(err)
	}
	v.sees(path, "Letter")
	if a := v.send(path+"/draft", `{"html":"x"}`); a.status != http.StatusForbidden || !strings.Contains(a.body, "account_suspended") {
		t.Errorf("the script's way: got %d %s", a.status, a.body)
	}
	a := v.post(templatesPath, http.StatusUnprocessableEntity, url.Values{"name": {"Another"}})
	if !strings.Contains(textOf(a.body), "This account is suspended") {
		t.Errorf("a new template: %s", textOf(a.body))
	}
}
