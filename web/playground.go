package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/docs"
)

const playgroundPath = "/dashboard/playground"

const (
	// maxTyped is the maximum total size of the texts in a form of the playground, maxPlayLink the maximum size of
	// the values in a URL, in bytes.
	maxTyped    = 24 << 20
	maxPlayLink = 16 << 10
	// maxShownInput is the length of an input that is shown whole.
	maxShownInput = 64 << 10
	// uploadsPerMinute bounds the files that a user may upload here.
	uploadsPerMinute = 60
	// playHistory is the number of listed calls.
	playHistory = 5
)

// Values of the field response, which every operation has.
const (
	answerBytes   = "binary"
	answerAddress = "url"
	answerJob     = "async"
)

// playgroundPages returns the pages on which users try operations.
func (w *Web) playgroundPages() []pageRoute {
	return []pageRoute{
		{"GET", playgroundPath, signedIn, w.showPlaygrounds},
		{"GET", playgroundPath + "/{operation}", signedIn, w.showPlayground},
		{"POST", playgroundPath + "/{operation}", signedIn, w.changePlayground},
		{"POST", playgroundPath + "/{operation}/run", developerRole, w.runPlayground},
	}
}

// playground is one operation while it is tried.
type playground struct {
	*Web
	*pageRequest
	operation views.Operation
	row       *apiOperation
	input     *playInput
	keys      []store.Key // of the account; nil until they are read
	key       *store.Key  // that makes the call; nil is the member
	problem   string      // with the form as a whole
}

// openPlayground returns the operation that the address names, with nothing filled in.
func (w *Web) openPlayground(v *pageRequest) (*playground, error) {
	return w.playgroundOf(v, chi.URLParam(v.r, "operation"))
}

func (w *Web) playgroundOf(v *pageRequest, id string) (*playground, error) {
	o, ok := w.docs.Operation(id)
	row := w.rowOf(o)
	if !ok || row == nil {
		return nil, errNotFound
	}
	return &playground{Web: w, pageRequest: v, operation: o, row: row, input: newPlayInput(o)}, nil
}

// rowOf returns the operation in the table; nil if the playground does not offer it.
func (w *Web) rowOf(o views.Operation) *apiOperation {
	i := slices.IndexFunc(
		w.offered, func(row *apiOperation) bool { return o.Method == http.MethodPost && row.Path() == o.Path },
	)
	if i < 0 {
		return nil
	}
	return w.offered[i]
}

// showPlaygrounds shows the first operation, or redirects to the chosen one.
func (w *Web) showPlaygrounds(v *pageRequest) error {
	if chosen := v.value("operation"); chosen != "" {
		return v.redirect(playgroundPath + "/" + url.PathEscape(chosen))
	}

	groups := w.playable()
	if len(groups) == 0 {
		return errNotFound
	}

	p, err := w.playgroundOf(v, groups[0].List[0].ID)
	if err != nil {
		return err
	}
	p.fill("")
	return p.page(http.StatusOK, nil)
}

// playable are the operations that can be tried, by groups.
func (w *Web) playable() []views.ReferenceGroup {
	var groups []views.ReferenceGroup
	for _, group := range w.referenceGroups() {
		group.List = slices.DeleteFunc(group.List, func(o views.Operation) bool { return w.rowOf(o) == nil })
		if len(group.List) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// showPlayground shows the form with the values in the URL, or with the example.
func (w *Web) showPlayground(v *pageRequest) error {
	p, err := w.openPlayground(v)
	if err != nil {
		return err
	}
	p.fill(v.value("input"))
	return p.page(http.StatusOK, nil)
}

// fill puts an input into the form, or the example if there is none.
func (p *playground) fill(text string) {
	if len(text) > maxPlayLink && p.r.Method == http.MethodGet {
		p.problem = fmt.Sprintf("The input in the URL is too long; the maximum is %d KiB.", maxPlayLink>>10)
		text = ""
	}

	if text != "" {
		unknown, err := p.input.fill([]byte(text))
		switch {
		case err != nil:
			p.problem = "The input is not a JSON object (" + err.Error() + "). The form shows the example instead."
		case len(unknown) > 0:
			p.problem = "Ignored unknown or invalid fields: " + strings.Join(unknown, ", ") + "."
		}
		if err == nil {
			return
		}
	}

	if _, err := p.input.fill(p.operation.Example); err != nil {
		p.problem = cmp.Or(p.problem, "The example could not be loaded.")
	}
}

// changePlayground shows the request of the fields, and adds and removes list items. Nothing is run.
func (w *Web) changePlayground(v *pageRequest) error {
	p, err := w.openPlayground(v)
	if err != nil {
		return err
	}
	sent, err := p.receive()
	if err != nil {
		return err
	}

	does, path, _ := strings.Cut(sent["do"], ":")
	switch does {
	case "fill":
		p.input = newPlayInput(p.operation)
		p.fill(sent["input"])
	case "sample":
		err = p.fillSample(path)
	case "add":
		p.input.add(path)
	case "drop":
		p.input.drop(path)
	case "raise":
		p.input.raise(path)
	}

	if err != nil {
		return err
	}
	return p.page(http.StatusOK, nil)
}

// receive reads the form, and uploads the files in it.
func (p *playground) receive() (map[string]string, error) {
	sent := map[string]string{}
	form, err := p.r.MultipartReader()
	if err != nil { // It has no files.
		for name, values := range p.r.PostForm { //nolint:forbidigo // what was sent, which dials nothing
			sent[name] = values[0]
		}
		p.input.read(sent)
		return sent, p.useKey(sent["key"])
	}

	left := int64(maxTyped)
	var files []playUpload
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errForm
		}

		if path, ok := strings.CutPrefix(part.FormName(), "upload:"); ok && part.FileName() != "" {
			// The key comes before the files: a restricted key reads only its own uploads.
			if err := p.useKey(sent["key"]); err != nil {
				return nil, err
			}
			file, err := p.upload(path, part)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
			continue
		}

		text, err := io.ReadAll(io.LimitReader(part, left+1))
		left -= int64(len(text))
		if err != nil || left < 0 {
			return nil, errForm
		}
		sent[part.FormName()] = string(text)
	}

	p.input.read(sent)
	for _, file := range files {
		p.place(file)
	}
	return sent, p.useKey(sent["key"])
}

// useKey lets a key of the account make the call.
func (p *playground) useKey(id string) error {
	if id == "" || p.key != nil {
		return nil
	}

	keys, err := p.usableKeys()
	if i := slices.IndexFunc(keys, func(k store.Key) bool { return k.ID == id }); i >= 0 {
		p.key = &keys[i]
	} else {
		p.problem = "The chosen key cannot call this operation. Choose another key."
	}
	return err
}

// usableKeys returns the keys of the account that may call the operation.
func (p *playground) usableKeys() (usable []store.Key, err error) {
	if p.keys == nil {
		if p.keys, err = p.store.Keys(p.ctx(), p.account.ID); err != nil {
			return nil, err
		}
	}

	for _, k := range p.keys {
		ended := k.RevokedAt != nil || k.ExpiresAt != nil && !k.ExpiresAt.After(p.now())
		if p.may(developerRole) && !ended && !k.Grant && (len(k.Operations) == 0 || slices.Contains(k.Operations, p.row.Name)) {
			usable = append(usable, k)
		}
	}
	return usable, nil
}

// response is the API's response to the playground.
type response struct {
	middleware.Recorder

	request string
}

// send sends a request of the member to the API, or of a key unless that is nil, and returns its response, whatever it
// is.
func (v *pageRequest) send(key *store.Key, method, path string, body io.Reader, header http.Header) (*response, error) {
	r, err := http.NewRequestWithContext(v.ctx(), method, path, body)
	if err != nil {
		return nil, err
	}
	r.Header = header
	got := &response{request: method + " " + path}
	v.web.cfg.Host.MemberHandler(*v.account, key).ServeHTTP(got, r)
	return got, v.ctx().Err()
}

// read reads the JSON of a response into out. The error is an *wire.Error if the request was refused.
func (r *response) read(out any) error {
	refusal := wire.ErrorBody{}
	if r.Status >= http.StatusBadRequest {
		out = &refusal
	}

	if err := json.Unmarshal(r.Body.Bytes(), out); err != nil {
		return fmt.Errorf("%s: status %d: %w", r.request, r.Status, err)
	}

	if r.Status >= http.StatusBadRequest {
		e := refusal.Error
		return &wire.Error{Code: e.Code, Message: e.Message, Details: e.Details, Received: r.Status}
	}
	return nil
}

// playUpload is a file chosen in the form, or its error.
type playUpload struct {
	path, name, wrong string
	stored            wire.Upload
}

// upload passes a file to the API, as it arrives.
func (p *playground) upload(path string, part *multipart.Part) (playUpload, error) {
	u := playUpload{path: path, name: part.FileName()}
	if !p.may(developerRole) {
		return u, errForbidden
	}
	if _, ok := p.allow(p.ctx(), "upload:"+p.person.ID, uploadsPerMinute, time.Minute); !ok {
		return u, errTooMany
	}

	kind := cmp.Or(part.Header.Get("Content-Type"), "application/octet-stream")
	answer, err := p.send(p.key, http.MethodPost, "/v1/files", part, http.Header{
		"Content-Type": {kind}, wire.FilenameHeader: {url.PathEscape(u.name)},
	})
	if err != nil {
		return u, err
	}

	err = answer.read(&u.stored)
	if r := refused(err); r != nil {
		u.wrong = u.name + ": " + r.Error()
		return u, nil
	}
	return u, err
}

// place puts a file into its field, or several into a list.
func (p *playground) place(u playUpload) {
	path := u.path
	if list, ok := strings.CutSuffix(path, "[]"); ok {
		item, free := p.freeItem(list)
		if !free {
			p.input.wrong[list] = "The list is full; " + u.name + " was not added."
			return
		}
		path = item + "." + fileField(p.input.field(list))
	}

	if f := p.input.field(path); f == nil || f.Kind != views.InputFile {
		return
	}
	if u.wrong != "" {
		p.input.wrong[path] = u.wrong
		return
	}

	p.input.uploaded(path, u.stored.ID, u.name, u.name+uploadSeparator+views.Bytes(u.stored.SizeBytes))
}

// freeItem is a thing in a list that has no file yet: the first, or a new one.
func (p *playground) freeItem(list string) (string, bool) {
	f := p.input.field(list)
	if f == nil || f.Kind != views.InputList {
		return "", false
	}

	for i := range p.input.counts[list] {
		item := itemPath(list, i)
		if p.input.object(f.Fields, item+".") == nil {
			return item, true
		}
	}
	return p.input.add(list)
}

// fileField is the name of the field that holds the file of a thing.
func fileField(list *views.InputField) string {
	i := slices.IndexFunc(list.Fields, func(f views.InputField) bool { return f.Kind == views.InputFile })
	return list.Fields[i].Name
}

// runPlayground makes the call, which is paid for like any other.
func (w *Web) runPlayground(v *pageRequest) error {
	p, err := w.openPlayground(v)
	if err != nil {
		return err
	}
	if _, err := p.receive(); err != nil {
		return err
	}

	body := p.call()
	if len(p.input.wrong) > 0 || p.problem != "" {
		return p.page(http.StatusUnprocessableEntity, nil)
	}

	result, status, err := p.run(body)
	if err != nil {
		return err
	}
	return p.page(status, result)
}

// call returns the body of the call. The result is always stored, whatever the form contains, so it can be shown.
func (p *playground) call() []byte {
	mode := p.input.values["response"]
	store := p.input.values["store"]
	defer func() { p.input.values["response"], p.input.values["store"] = mode, store }()

	p.input.values["store"] = ""
	if mode == "" || mode == answerBytes {
		p.input.values["response"] = answerAddress
		if p.row.Bulk && p.input.values["quote"] != "true" {
			p.input.values["response"] = answerJob
		}
	}

	return p.input.JSON()
}

// run makes the call. The price is at most the one on the button.
func (p *playground) run(body []byte) (*views.PlayResult, int, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	if !p.row.Varies {
		header.Set(wire.MaxChargeHeader, strconv.FormatInt(int64(p.price()), 10))
	}

	began := time.Now()
	answer, err := p.send(p.key, http.MethodPost, p.operation.Path, bytes.NewReader(body), header)
	if err != nil {
		return nil, 0, err
	}

	m := &views.PlayResult{Took: time.Since(began)}
	var file wire.FileURL
	err = answer.read(&file)
	if r := refused(err); r != nil {
		p.showFieldErrors(m, r)
		return m, r.Status(), nil
	}
	if err != nil {
		return nil, 0, err
	}

	m.OK = true
	m.Async = answer.Status == http.StatusAccepted
	if id := answer.Header().Get(wire.ResultIDHeader); id != "" {
		m.CallID = store.CallID(id)
	}
	if charged, err := strconv.ParseInt(answer.Header().Get(wire.ChargedHeader), 10, 64); err == nil {
		m.Charged = true
		m.Price = credit.Amount(charged)
		m.Free = p.free()
	}

	if m.Async || file.URL == "" {
		if !m.Async {
			m.Text = docs.Own("Response", "json", jsonText(answer.Body.Bytes()))
		}
		return m, http.StatusOK, nil
	}

	m.ResultID = file.ID
	m.Filename = file.Filename
	m.Size = file.SizeBytes
	m.ExpiresAt = file.ExpiresAt
	for _, w := range file.Warnings {
		m.Warnings = append(m.Warnings, views.PlayWarning{Code: w.Code, Message: w.Message, URL: w.URL})
	}
	m.Download = downloadOf(store.CallID(file.ID))
	m.Link = file.URL

	look, err := p.filePreview(file.ID)
	if err != nil {
		return nil, 0, err
	}
	m.ResultPreview = previewOf(look, m.Filename, inline(look))
	return m, http.StatusOK, nil
}

// price returns the price of the call with its steps.
func (p *playground) price() credit.Amount {
	sum := p.cfg.Prices[p.row.Name]
	for _, field := range []string{"steps", "then"} {
		var steps []struct{ Op string }
		if json.Unmarshal([]byte(p.input.values[field]), &steps) == nil { // The API refuses anything else.
			for _, step := range steps {
				sum += p.cfg.Prices[step.Op]
			}
		}
	}
	return sum
}

// showFieldErrors shows the API's errors at their fields, and the other errors above the fields.
func (p *playground) showFieldErrors(m *views.PlayResult, r *wire.Error) {
	m.Code = string(r.Code)
	m.Message = r.Error()

	for _, detail := range r.Details {
		if name := p.input.fileName(detail.Field); name != "" {
			m.Message = strings.ReplaceAll(m.Message, detail.Field, name)
		}
		if p.input.fault(detail.Field, detail.Message) {
			m.AtFields = true
		}
	}
}

// free reports whether the call is free, because a test key makes it.
func (p *playground) free() bool { return p.key != nil && p.key.Test && !p.cfg.Dev }

// pageRoute shows the form, its request, and the result if there is one.
func (p *playground) page(status int, result *views.PlayResult) error {
	body := p.input.JSON() // it finds invalid JSON in the fields
	m := views.Playground{
		Operation: p.operation, Name: p.row.Name, Path: playgroundPath + "/" + p.operation.ID,
		Form: p.input.form(p.operation.Example), Problem: p.problem,
		Price: p.price(), Varies: p.row.Varies, Free: p.free(), Note: p.row.PriceNote,
		Result: result, MaxFile: p.cfg.MaxFile, Reference: operationPath(p.operation.ID),
	}

	for _, group := range p.playable() {
		for _, o := range group.List {
			m.Choices = append(m.Choices, views.Choice{Value: o.ID, Text: p.rowOf(o).Name})
		}
	}

	if err := p.offer(&m); err != nil {
		return err
	}
	p.showCall(&m, body)

	calls, err := p.store.Calls(p.ctx(), store.CallFilter{
		AccountID: p.account.ID,
		Operation: p.row.Name,
		List:      store.List{Limit: playHistory},
	})
	if err != nil {
		return err
	}
	if m.History, err = p.documentsOf(p.pageRequest, calls.Items, byID(p.keys)); err != nil {
		return err
	}

	p.allowStyles()
	return p.show(status, views.PlaygroundPage(p.pageRequest.page(p.row.Name, playgroundPath), m))
}

// templateField is the field that names a template of the account.
const templateField = "templateId"

// offer offers the keys and the templates of the account.
func (p *playground) offer(m *views.Playground) error {
	keys, err := p.usableKeys()
	if err != nil {
		return err
	}
	m.Keys = choicesOf(keys)
	if p.key != nil {
		m.Key = views.Choice{Value: p.key.ID, Text: keyName(*p.key)}
	}

	if p.input.field(templateField) == nil {
		return nil
	}

	f := store.TemplateFilter{AccountID: p.account.ID, List: store.List{Limit: store.MaxList}}
	if !strings.HasPrefix(p.row.Name, "templates.") {
		f.State = "published"
	}
	list, err := p.store.Templates(p.ctx(), f)
	for _, t := range list.Items {
		m.Templates = append(m.Templates, views.Choice{Value: t.Slug, Text: t.Name})
	}
	return err
}

// fillSample fills the data of a template, in the field of that path, with its sample data.
func (p *playground) fillSample(path string) error {
	ref := p.input.values[templateField]
	f := p.input.field(path)
	if ref == "" || f == nil || f.Kind != views.InputJSON {
		return nil
	}

	found, err := p.store.Template(p.ctx(), p.account.ID, ref)
	if errors.Is(err, store.ErrNotFound) {
		p.input.wrong[templateField] = "No template with this ID."
		return nil
	}
	if err == nil {
		p.input.values[path] = jsonText([]byte(found.Content.SampleData))
	}
	return err
}

// showCall shows the call of the fields, as JSON and in every language. Long texts are shortened.
func (p *playground) showCall(m *views.Playground, body []byte) {
	if len(body) <= maxPlayLink {
		m.Input = string(body)
	}
	file := p.operation.ResultFile
	if p.input.values["response"] == answerAddress || p.input.values["response"] == answerJob {
		file = ""
	}
	body, m.Shortened = shownInput(body)
	m.Samples = append(p.callSamples(p.operation.Path, string(body), file), docs.Own("JSON", "json", jsonText(body)))
}

// callSamples shows a user's call in every language.
func (w *Web) callSamples(path, body, file string) []views.Sample {
	return docs.Samples(docs.Request{
		Method:  http.MethodPost,
		URL:     w.cfg.BaseURL + path,
		Body:    body,
		File:    file,
		Private: true,
	})
}

// shownInput returns an input as it is shown: the long texts of a large one are cut.
func shownInput(body []byte) (shown []byte, cut bool) {
	if len(body) <= maxShownInput {
		return body, false
	}
	short, err := shorter(body)
	if err != nil {
		return body, false
	}
	return short, true
}

// shorter cuts the long texts of an input.
func shorter(body []byte) ([]byte, error) {
	var input any
	if err := json.Unmarshal(body, &input); err != nil {
		return nil, err
	}

	var out bytes.Buffer
	writer := json.NewEncoder(&out)
	writer.SetEscapeHTML(false)
	if err := writer.Encode(shortened(input)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
