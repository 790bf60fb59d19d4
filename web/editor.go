package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"relaypdf/api/wire"
	"relaypdf/store"
	"relaypdf/views"
)

// editorPages are those of one template. Those that answer with JSON are the editor's
// script's; the others work without it.
func (w *Web) editorPages() []page {
	past := w
	return []page{
		{"GET", "/dashboard/templates/{id}", signedIn, w.showEditor},
		{"POST", "/dashboard/templates/{id}", manages, w.saveForm},
		{"GET", "/dashboard/templates/{id}/draft", signedIn, w.showDraft},
		{"POST", "/dashboard/templates/{id}/draft", manages, w.saveDraft},
		{"POST", "/dashboard/templates/{id}/check", signedIn, w.checkDraft},
		{"POST", "/dashboard/templates/{id}/pages", signedIn, w.drawDraft},
		{"POST", "/dashboard/templates/{id}/filled", signedIn, w.showFilled},
		{"POST", "/dashboard/templates/{id}/compare", signedIn, w.compareDraft},
		{"POST", "/dashboard/templates/{id}/describe", manages, w.describeDraft},
		{"POST", "/dashboard/templates/{id}/pdf", manages, w.printDraft},
		{"GET", "/dashboard/templates/{id}/publish", manages, past.showPublish},
		{"POST", "/dashboard/templates/{id}/publish", manages, past.publishDraft},
		{"POST", "/dashboard/templates/{id}/discard", manages, past.discardDraft},
		{"GET", "/dashboard/templates/{id}/versions", signedIn, past.showVersions},
		{"GET", "/dashboard/templates/{id}/versions/{version}", signedIn, past.showVersion},
		{"POST", "/dashboard/templates/{id}/restore", manages, past.restoreVersion},
		{"GET", "/dashboard/templates/{id}/settings", manages, w.showTemplateSettings},
		{"POST", "/dashboard/templates/{id}/settings", manages, w.saveTemplateSettings},
	}
}

// templateRoute is that of the template which a page is about.
func templateRoute(v *visit, below string) string {
	if v.embedded != nil {
		return routeOf(v.embedded.TemplateID, below)
	}
	return routeOf(chi.URLParam(v.r, "id"), below)
}

// template returns the template that a page is about, and its ETag.
func (v *visit) template() (wire.Template, string, error) {
	var found wire.Template
	etag, err := v.ask(http.MethodGet, templateRoute(v, ""), nil, &found, "")
	return found, etag, err
}

// editorOf shows a template in the editor.
func (w *Web) editorOf(v *visit, t wire.Template, etag string) (views.Editor, error) {
	m := views.Editor{
		Card: cardOf(t), Published: t.PublishedVersion != nil, HasDraft: t.HasDraft, ETag: etag,
		HTML: *t.HTML, Sample: jsonText(t.SampleData), Options: jsonText(t.Options), Fields: w.cfg.OptionFields, Helpers: strings.Join(w.cfg.Helpers, " "),
		Price: w.cfg.Prices["templates.preview"], ReadOnly: !v.may(manages), BaseURL: w.cfg.BaseURL, Model: w.cfg.Model, Path: pageOf(t.ID, ""),
	}
	m.Fixed = views.FixedFields{HTML: m.ReadOnly, Sample: m.ReadOnly, Options: m.ReadOnly}
	var partials wire.PartialList
	if _, err := v.ask(http.MethodGet, templatesRoutes+"/partials", nil, &partials, ""); err != nil {
		return m, err
	}
	var names []string
	for _, p := range partials.Partials {
		names = append(names, p.Name)
	}
	m.Partials = strings.Join(names, " ")
	return m, nil
}

func (w *Web) showEditor(v *visit) error {
	found, etag, err := v.template()
	if err != nil {
		return err
	}
	m, err := w.editorOf(v, found, etag)
	if err != nil {
		return err
	}
	if v.value("preview") != "" {
		if err := w.fillPreview(v, &m, map[string]any{"html": found.HTML, "sampleData": found.SampleData, "options": found.Options}); err != nil {
			return err
		}
	}
	return w.editorPage(v, http.StatusOK, m)
}

// editorPage shows the editor, whose script brings style of its own.
func (w *Web) editorPage(v *visit, status int, m views.Editor) error {
	h := v.w.Header()
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), "style-src 'self'", "style-src 'self' 'nonce-"+nonceOf(v.ctx())+"'", 1))
	return v.show(status, views.EditorPage(v.page(m.Card.Name, templatesPath), m))
}

// fillPreview draws the pages for who has no script, or says why they cannot be.
func (w *Web) fillPreview(v *visit, m *views.Editor, in map[string]any) error {
	var made previewed
	_, err := v.ask(http.MethodPost, templatesRoutes+"/pages", in, &made, "")
	if r := refused(err); r != nil {
		m.Problems = problemsOf(r)
		return nil
	}
	if err != nil {
		return err
	}
	m.Preview = &views.Preview{Images: made.Images, Pages: made.Pages, Took: time.Duration(made.Milliseconds) * time.Millisecond}
	return nil
}

func problemsOf(r *refusal) []string {
	var list []string
	for _, detail := range r.ErrorBody.Error.Details {
		text := detail.Message
		if detail.Field != "template" {
			text = detail.Field + " " + text
		}
		list = append(list, strings.ToUpper(text[:1])+text[1:]+".")
	}
	if len(list) == 0 {
		list = []string{r.Error()}
	}
	return list
}

// saveForm saves what stands in the fields, for who has no script, and goes on to
// what was pressed.
func (w *Web) saveForm(v *visit) error {
	found, etag, err := v.template()
	if err != nil {
		return err
	}
	in, wrong := v.draft()
	mine := views.Content{HTML: typed(v, "html"), Sample: typed(v, "sampleData"), Options: typed(v, "options")}
	if mine == contentOf(found) {
		return w.saved(v, found) // Nothing was typed, or another tab has saved the same.
	}
	if wrong == "" {
		var saved wire.Template
		_, err = v.ask(http.MethodPatch, routeOf(found.ID, ""), in, &saved, v.value("etag"))
		switch r := refused(err); {
		case r != nil && !errors.Is(err, store.ErrChanged) && !errors.Is(err, store.ErrNotFound):
			wrong = strings.Join(problemsOf(r), " ")
		case err != nil && !errors.Is(err, store.ErrChanged):
			return err
		}
	}
	if wrong == "" && err == nil {
		if err := w.recordChange(v, found.ID, found.Name, found.Slug); err != nil {
			return err
		}
		return w.saved(v, found)
	}
	m, failed := w.editorOf(v, found, etag)
	if failed != nil {
		return failed
	}
	if err != nil && errors.Is(err, store.ErrChanged) {
		m.Conflict = beside(diffsOf(contentOf(found), mine))
	}
	m.HTML, m.Sample, m.Options, m.Wrong = mine.HTML, mine.Sample, mine.Options, wrong
	status := http.StatusUnprocessableEntity
	if len(m.Conflict) > 0 {
		status = http.StatusConflict
	}
	return w.editorPage(v, status, m)
}

// typed is what stands in a field, with the ends of lines that its text had before
// the browser sent it.
func typed(v *visit, field string) string {
	return strings.ReplaceAll(v.r.FormValue(field), "\r\n", "\n")
}

// draft reads the fields of the editor's form, and says what is wrong with them.
func (v *visit) draft() (in map[string]any, wrong string) {
	in = map[string]any{"html": typed(v, "html")}
	for field, name := range map[string]string{"sampleData": "The sample data", "options": "The options"} {
		text := json.RawMessage(typed(v, field))
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			wrong = name + " are not valid JSON: " + err.Error() + "."
		} else if object == nil {
			wrong = name + " are no JSON object."
		}
		in[field] = text
	}
	return in, wrong
}

// saved goes on after the fields were saved.
func (w *Web) saved(v *visit, t wire.Template) error {
	switch v.value("then") {
	case "preview":
		return v.redirect(pageOf(t.ID, "?preview=1"))
	case "publish":
		return v.redirect(pageOf(t.ID, "/publish"))
	}
	v.tell("Saved.")
	return v.redirect(pageOf(t.ID, ""))
}

// recordChange notes that somebody writes a template: once in a while, and not
// for every time it is saved by itself.
func (w *Web) recordChange(v *visit, id, name, slug string) error {
	if _, ok := w.allow(v.ctx(), "changed:"+actorOf(v)+":"+id, 1, changesNoted); !ok {
		return nil
	}
	return v.record("template.changed", name, slug)
}

const changesNoted = time.Hour

// contentOf is what a template holds, as text.
func contentOf(t wire.Template) views.Content {
	return views.Content{HTML: *t.HTML, Sample: jsonText(t.SampleData), Options: jsonText(t.Options)}
}

// pass hands a request of the editor's script on to the interface, and its
// answer back as it is.
func (w *Web) pass(v *visit, method, path string, body []byte) (*heard, error) {
	answer, err := v.hear(method, path, body, v.r.Header.Get("If-Match"))
	if err != nil {
		return nil, err
	}
	return answer, w.forward(v, answer)
}

// forward answers with an answer of the interface as it is.
func (w *Web) forward(v *visit, answer *heard) error {
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	for _, name := range []string{"ETag", "Retry-After"} {
		if value := answer.Header().Get(name); value != "" {
			h.Set(name, value)
		}
	}
	v.w.WriteHeader(answer.Status)
	_, err := v.w.Write(answer.Body.Bytes())
	return err
}

// sent is the body of a request of the editor's script.
func (v *visit) sent() ([]byte, error) {
	body, err := io.ReadAll(v.r.Body)
	if err != nil || !json.Valid(body) {
		return nil, errForm
	}
	return body, nil
}

func (w *Web) showDraft(v *visit) error {
	_, err := w.pass(v, http.MethodGet, templateRoute(v, ""), nil)
	return err
}

func (w *Web) saveDraft(v *visit) error {
	body, err := v.sent()
	if err != nil {
		return err
	}
	return w.keepDraft(v, body)
}

// keepDraft stores fields of the draft.
func (w *Web) keepDraft(v *visit, body []byte) error {
	answer, err := w.pass(v, http.MethodPatch, templateRoute(v, ""), body)
	if err != nil || answer.Status != http.StatusOK {
		return err
	}
	var saved wire.Template
	if err := json.Unmarshal(answer.Body.Bytes(), &saved); err != nil {
		return err
	}
	return w.recordChange(v, saved.ID, saved.Name, saved.Slug)
}

// checksPerMinute bounds how often a person's templates are looked through, which
// a pause in typing causes.
const checksPerMinute = 120

func (w *Web) checkDraft(v *visit) error {
	body, err := v.sent()
	if err != nil {
		return err
	}
	return w.check(v, body)
}

// check looks through a template.
func (w *Web) check(v *visit, body []byte) error {
	if _, ok := w.allow(v.ctx(), "check:"+actorOf(v), checksPerMinute, time.Minute); !ok {
		return errTooMany
	}
	_, err := w.pass(v, http.MethodPost, templatesRoutes+"/validate", body)
	return err
}

func (w *Web) drawDraft(v *visit) error {
	body, err := v.sent()
	if err != nil {
		return err
	}
	_, err = w.pass(v, http.MethodPost, templatesRoutes+"/pages?"+v.r.URL.RawQuery, body)
	return err
}

// compareDraft shows what was typed beside what is stored now.
func (w *Web) compareDraft(v *visit) error {
	body, err := v.sent()
	if err != nil {
		return err
	}
	var mine struct {
		HTML       string
		SampleData string
		Options    string
	}
	if err := json.Unmarshal(body, &mine); err != nil {
		return errForm
	}
	theirs, etag, err := v.template()
	if err != nil {
		return err
	}
	v.w.Header().Set("ETag", etag)
	return v.show(http.StatusOK, views.Sides(beside(diffsOf(contentOf(theirs), views.Content{HTML: mine.HTML, Sample: mine.SampleData, Options: mine.Options}))))
}

// printDraft makes the PDF of the draft, which is a call like any other.
func (w *Web) printDraft(v *visit) error {
	found, _, err := v.template()
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"templateId": found.ID, "filename": found.Slug})
	if err != nil {
		return err
	}
	answer, err := v.hear(http.MethodPost, templatesRoutes+"/preview", body, "")
	if err != nil {
		return err
	}
	if answer.Status != http.StatusOK {
		refused := &refusal{status: answer.Status}
		if err := json.Unmarshal(answer.Body.Bytes(), &refused.ErrorBody); err != nil || answer.Status >= http.StatusInternalServerError {
			return errors.Join(errors.New("no PDF of a draft: status "+strconv.Itoa(answer.Status)), err)
		}
		v.tell("No PDF was made, and nothing charged: " + refused.Error())
		return v.redirect(pageOf(found.ID, ""))
	}
	h := v.w.Header()
	for _, name := range []string{"Content-Type", "Content-Disposition", "Content-Length"} {
		h.Set(name, answer.Header().Get(name))
	}
	v.w.WriteHeader(http.StatusOK)
	_, err = v.w.Write(answer.Body.Bytes())
	return err
}
