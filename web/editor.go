package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// editorPages are the pages of one template. The pages that respond with JSON serve the editor's script; the others
// work without it.
func (w *Web) editorPages() []pageRoute {
	return []pageRoute{
		{"GET", "/dashboard/templates/{id}", signedIn, w.showEditor},
		{"POST", "/dashboard/templates/{id}", developerRole, w.saveForm},
		{"GET", "/dashboard/templates/{id}/draft", signedIn, w.showDraft},
		{"POST", "/dashboard/templates/{id}/draft", developerRole, script(w.saveDraft)},
		{"POST", "/dashboard/templates/{id}/check", signedIn, script(ofTemplate(w.check))},
		{"POST", "/dashboard/templates/{id}/pages", signedIn, script(ofTemplate(w.draw))},
		{"GET", "/dashboard/templates/{id}/pages/{page}", signedIn, w.showLastPage},
		{"POST", "/dashboard/templates/{id}/filled", signedIn, w.showFilled},
		{"POST", "/dashboard/templates/{id}/compare", signedIn, script(w.compareDraft)},
		{"POST", "/dashboard/templates/{id}/describe", developerRole, script(w.describeDraft)},
		{"POST", "/dashboard/templates/{id}/pdf", developerRole, w.printDraft},
		{"GET", "/dashboard/templates/{id}/publish", developerRole, w.showPublish},
		{"POST", "/dashboard/templates/{id}/publish", developerRole, w.publishDraft},
		{"POST", "/dashboard/templates/{id}/discard", developerRole, w.discardDraft},
		{"GET", "/dashboard/templates/{id}/versions", signedIn, w.showVersions},
		{"GET", "/dashboard/templates/{id}/versions/{version}", signedIn, w.showVersion},
		{"GET", "/dashboard/templates/{id}/versions/{version}/pages", signedIn, w.showVersionPages},
		{"GET", "/dashboard/templates/{id}/versions/{version}/pages/{page}", signedIn, w.showVersionImage},
		{"POST", "/dashboard/templates/{id}/approve", developerRole, w.approvePages},
		{"POST", "/dashboard/templates/{id}/restore", developerRole, w.restoreVersion},
		{"GET", "/dashboard/templates/{id}/settings", developerRole, w.showTemplateSettings},
		{"POST", "/dashboard/templates/{id}/settings", developerRole, w.saveTemplateSettings},
	}
}

// ref names the template that a page is about.
func (v *pageRequest) ref() templates.Ref {
	if v.embedded != nil {
		return templates.Ref{ID: v.embedded.TemplateID}
	}
	return templates.Ref{ID: strings.ToValidUTF8(chi.URLParam(v.r, "id"), "\uFFFD")}
}

// state names that template in the state that the visitor has seen.
func (v *pageRequest) state(etag string) templates.State {
	return templates.State{Ref: v.ref(), IfMatch: etag}
}

// template returns the template that a page is about.
func (v *pageRequest) template() (templates.Record, error) {
	return v.web.templates.Get(v.ctx(), v.caller(), v.ref())
}

// editorOf shows a template in the editor.
func (w *Web) editorOf(v *pageRequest, t templates.Record) (views.Editor, error) {
	m := views.Editor{
		Card: cardOf(t.Template), Published: t.PublishedVersion != nil, HasDraft: t.HasDraft, ETag: t.ETag(),
		HTML: *t.HTML, Sample: jsonText(t.SampleData), Options: jsonText(t.Options),
		Fields: w.optionFields, Helpers: strings.Join(templates.Helpers(), " "),
		Price: w.cfg.Prices["templates.preview"], ReadOnly: !v.may(developerRole), Model: w.cfg.AI != nil, Path: pageOf(t.ID, ""),
	}
	m.Fixed = views.FixedFields{HTML: m.ReadOnly, Sample: m.ReadOnly, Options: m.ReadOnly}

	partials, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	if err != nil {
		return m, err
	}
	var names []string
	for _, p := range partials.Partials {
		names = append(names, p.Name)
	}
	m.Partials = strings.Join(names, " ")

	if m.Published && v.embedded == nil {
		var sample []byte
		sample, m.Shortened = shownInput(t.SampleData)
		m.Samples = w.callSamples("/v1/pdf", templateCall(m.Card.Slug, jsonText(sample)), m.Card.Slug+".pdf")
	}
	return m, nil
}

// templateCall is the body of a call that fills a template.
func templateCall(id, data string) string {
	return fmt.Sprintf("{\"templateId\": %q, \"templateData\": %s}", id, strings.TrimSpace(data))
}

func (w *Web) showEditor(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}
	m, err := w.editorOf(v, found)
	if err != nil {
		return err
	}
	return w.openEditor(v, found.Template, m)
}

// openEditor shows the editor with the pages of its last preview, or with new ones for browsers without the script.
func (w *Web) openEditor(v *pageRequest, t wire.Template, m views.Editor) error {
	switch {
	case !m.Sees():
	case v.value("preview") != "":
		if err := w.fillPreview(v, &m, t); err != nil {
			return err
		}
	default:
		m.Last = w.lastPagesIn(v, t, m.Path)
	}

	return w.editorPage(v, http.StatusOK, m)
}

// editorPage shows the editor, whose script has its own styles.
func (w *Web) editorPage(v *pageRequest, status int, m views.Editor) error {
	v.allowStyles()
	return v.show(status, views.EditorPage(v.page(m.Card.Name, templatesPath), m))
}

// allowStyles lets the page's scripts add styles: editors of texts do.
func (v *pageRequest) allowStyles() {
	h := v.w.Header()
	h.Set("Content-Security-Policy", strings.Replace(
		h.Get("Content-Security-Policy"), "style-src 'self'", "style-src 'self' 'nonce-"+nonceOf(v.ctx())+"'", 1,
	))
}

// fillPreview renders the pages for browsers without the script, or shows why it cannot.
func (w *Web) fillPreview(v *pageRequest, m *views.Editor, t wire.Template) error {
	made, err := v.preview(t, call.PreviewRequest{Scale: 1})
	if r := refused(err); r != nil {
		m.Problems = problemsOf(r)
		return nil
	}
	if err != nil {
		return err
	}

	m.Preview = &views.Preview{Images: made.Images, Pages: made.Pages, Took: made.Took}
	return nil
}

// preview renders the content of a template.
func (v *pageRequest) preview(t wire.Template, request call.PreviewRequest) (made call.Preview, err error) {
	request.Caller = v.caller()
	if request.Input, err = templates.Encode(contentFields(t)); err != nil {
		return made, err
	}
	return v.web.templates.Preview(v.ctx(), request)
}

// contentFields returns the content of a template as the fields of a preview.
func contentFields(t wire.Template) map[string]any {
	return map[string]any{"html": t.HTML, "sampleData": t.SampleData, "options": t.Options}
}

func problemsOf(r *wire.Error) []string {
	var list []string
	for _, detail := range r.Details {
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

// saveForm saves the fields for browsers without the script, and continues with the action of the button.
func (w *Web) saveForm(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}

	in, wrong := v.draft()
	mine := views.Content{HTML: typed(v, "html"), Sample: typed(v, "sampleData"), Options: typed(v, "options")}
	if mine == contentOf(found.Template) {
		return w.saved(v, found) // Nothing was typed, or another tab has saved the same.
	}

	if wrong == "" {
		in.ID = found.ID
		in.IfMatch = v.value("etag")
		_, err = submit(v, in, w.templates.Update)
		switch r := refused(err); {
		case r != nil && !errors.Is(err, store.ErrChanged):
			wrong = strings.Join(problemsOf(r), " ")
		case err != nil && !errors.Is(err, store.ErrChanged):
			return err
		}
	}
	if wrong == "" && err == nil {
		return w.saved(v, found)
	}

	m, failed := w.editorOf(v, found)
	if failed != nil {
		return failed
	}
	if err != nil && errors.Is(err, store.ErrChanged) {
		m.Conflict = pairLines(diffsOf(contentOf(found.Template), mine))
	}
	m.HTML = mine.HTML
	m.Sample = mine.Sample
	m.Options = mine.Options
	m.Wrong = wrong

	status := http.StatusUnprocessableEntity
	if len(m.Conflict) > 0 {
		status = http.StatusConflict
	}
	return w.editorPage(v, status, m)
}

// typed returns the content of a field, with the line endings that its text had before the browser sent it.
func typed(v *pageRequest, field string) string {
	return strings.ReplaceAll(v.r.FormValue(field), "\r\n", "\n")
}

// draft reads the fields of the editor's form, and returns their errors.
func (v *pageRequest) draft() (in templates.UpdateInput, wrong string) {
	in.HTML = new(typed(v, "html"))
	in.SampleData = objectOf(typed(v, "sampleData"))
	in.Options = objectOf(typed(v, "options"))

	for name, text := range map[string]schema.Object{"Sample data": in.SampleData, "Options": in.Options} {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text.RawMessage, &object); err != nil {
			wrong = name + " must be valid JSON: " + err.Error() + "."
		} else if object == nil {
			wrong = name + " must be a JSON object."
		}
	}
	return in, wrong
}

// saved continues after the fields were saved.
func (w *Web) saved(v *pageRequest, t templates.Record) error {
	switch v.value("then") {
	case "preview":
		return v.redirect(pageOf(t.ID, "?preview=1"))
	case "publish":
		return v.redirect(pageOf(t.ID, "/publish"))
	}
	return v.redirectWith(pageOf(t.ID, ""), "Saved.")
}

// contentOf returns the content of a template, as text.
func contentOf(t wire.Template) views.Content {
	return views.Content{HTML: *t.HTML, Sample: jsonText(t.SampleData), Options: jsonText(t.Options)}
}

// script makes a page handler of a function that reads the JSON of the editor's script.
func script(handle func(v *pageRequest, body []byte) error) func(*pageRequest) error {
	return func(v *pageRequest) error {
		body, err := io.ReadAll(v.r.Body)
		if err != nil || !json.Valid(body) {
			return errForm
		}
		return handle(v, body)
	}
}

// ofTemplate makes a handler of one that works only on what it was sent: the template must exist in the account.
func ofTemplate(handle func(v *pageRequest, body []byte) error) func(*pageRequest, []byte) error {
	return func(v *pageRequest, body []byte) error {
		if _, err := v.template(); err != nil {
			return v.answerScript(nil, err)
		}
		return handle(v, body)
	}
}

// stateParams are the parameters of state, as the script has seen it.
func (v *pageRequest) stateParams() []schema.Value {
	return []schema.Value{{Name: "id", Text: v.ref().ID}, {Name: "If-Match", Text: v.r.Header.Get("If-Match")}}
}

func (w *Web) showDraft(v *pageRequest) error {
	found, err := v.template()
	return v.answerScript(found, err)
}

// saveDraft stores fields of the draft.
func (w *Web) saveDraft(v *pageRequest, body []byte) error {
	saved, err := receive(v, body, w.templates.Update, v.stateParams()...)
	return v.answerScript(saved, err)
}

// checksPerMinute bounds how often a user's templates are looked through, which a pause in typing causes.
const checksPerMinute = 120

// check looks through a template.
func (w *Web) check(v *pageRequest, body []byte) error {
	if _, ok := w.allow(v.ctx(), "check:"+actorOf(v), checksPerMinute, time.Minute); !ok {
		return errTooMany
	}
	return v.answerScript(receive(v, body, w.templates.Validate))
}

// draw responds with images of a template's pages, or with the places of its elements.
func (w *Web) draw(v *pageRequest, body []byte) error {
	query := v.r.URL.Query()
	in := call.PreviewRequest{Caller: v.caller(), Input: body}
	switch {
	case query.Has("places"):
		in.View = operation.Placed
	case query.Has("accessible"):
		in.View = operation.Accessible
	}

	var scaleErr, pagesErr error
	in.Scale, scaleErr = strconv.ParseFloat(cmp.Or(query.Get("scale"), "1"), 64)
	in.Pages, pagesErr = strconv.Atoi(cmp.Or(query.Get("pages"), "0"))
	if scaleErr != nil || pagesErr != nil {
		return errForm
	}

	made, refused := w.templates.Preview(v.ctx(), in)
	if err := v.answerScript(made, refused); err != nil || refused != nil || in.View == operation.Placed {
		return err
	}

	// The pages are stored for the next visit when their reader has them.
	if err := http.NewResponseController(v.w).Flush(); err != nil {
		return err
	}
	w.storePages(v, body, in.Scale, made)
	return nil
}

// compareDraft shows the submitted text next to the stored one.
func (w *Web) compareDraft(v *pageRequest, body []byte) error {
	var mine struct {
		HTML       string
		SampleData string
		Options    string
	}
	if err := json.Unmarshal(body, &mine); err != nil {
		return errForm
	}

	theirs, err := v.template()
	if err != nil {
		return err
	}

	v.w.Header().Set("ETag", theirs.ETag())
	return v.show(http.StatusOK, views.Sides(pairLines(diffsOf(contentOf(theirs.Template), views.Content{
		HTML:    mine.HTML,
		Sample:  mine.SampleData,
		Options: mine.Options,
	}))))
}

// printDraft makes the PDF of the draft, which is a call like any other.
func (w *Web) printDraft(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"templateId": found.ID, "filename": found.Slug})
	if err != nil {
		return err
	}

	request := call.Request{Caller: v.caller(), Body: bytes.NewReader(body), RequestID: middleware.RequestID(v.ctx())}
	err = w.templates.Run(v.ctx(), "templates.preview", request, func(made *call.Outcome) error {
		h := v.w.Header()
		h.Set("Content-Type", made.ContentType)
		h.Set("Content-Length", strconv.FormatInt(made.Body.Size(), 10))
		h.Set("Content-Disposition", `attachment; filename="`+made.Filename+`"`)
		v.w.WriteHeader(http.StatusOK)
		_, err := io.Copy(v.w, made.Body.Open())
		return err
	})

	if r := refused(err); r != nil && r.Status() < http.StatusInternalServerError {
		return v.redirectWith(pageOf(found.ID, ""), "PDF not created and not charged: "+r.Error())
	}
	return err
}
