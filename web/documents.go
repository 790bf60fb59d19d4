package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const documentsPath = "/dashboard/documents"

// Words of the filter for the statuses of calls.
var callStatuses = map[string]string{
	"completed":  store.CallDone,
	"processing": store.CallRunning,
	"failed":     store.CallFailed,
	"canceled":   store.CallFailed,
}

// callFilter reads the filters of the list.
func (w *Web) callFilter(v *pageRequest) (views.DocumentFilter, store.CallFilter) {
	shown := views.DocumentFilter{
		Text:      v.value("q"),
		Operation: v.value("operation"),
		Status:    v.value("status"),
		Key:       v.value("key"),
		Period:    v.value("period"),
	}

	days, err := strconv.Atoi(shown.Period)
	if err != nil || days < 1 || days > 30 {
		days = 30
	}

	f := store.CallFilter{
		AccountID: v.account.ID, Operation: shown.Operation,
		Status: callStatuses[shown.Status], KeyID: shown.Key, Text: shown.Text,
		List: store.List{Cursor: v.value("cursor"), After: w.now().Add(-time.Duration(days) * 24 * time.Hour)},
	}
	if f.Status == store.CallFailed {
		f.Canceled = new(shown.Status == "canceled")
	}
	return shown, f
}

// shownStatus returns the status of a call as tables have it.
func shownStatus(c store.Call) string {
	if c.Canceled() {
		return "canceled"
	}
	return c.Status
}

func (w *Web) showDocuments(v *pageRequest) error {
	shown, f := w.callFilter(v)
	list, err := w.store.Keys(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	keys := byID(list)
	shown.Keys = choicesOf(list)
	for _, o := range w.cfg.Table.All() {
		shown.Operations = append(shown.Operations, views.Choice{Value: o.Name, Text: o.Name})
	}

	calls, err := w.store.Calls(v.ctx(), f)
	if err != nil {
		return err
	}

	m := views.Documents{Filter: shown, Export: documentsPath + ".csv?" + v.r.URL.Query().Encode()}
	if m.List, err = w.documentsOf(v, calls.Items, keys); err != nil {
		return err
	}
	m.Pager = pager(v, documentsPath, calls.Next, views.Plural(len(m.List), "document", "documents"))

	switch {
	case slices.ContainsFunc(calls.Items, func(c store.Call) bool { return c.Status == store.CallRunning }):
		m.Live = "2"
	case f.Cursor == "":
		m.Live = "10" // new calls come first
	}

	return v.show(http.StatusOK, views.DocumentsPage(v.page("Documents", documentsPath), m))
}

// pager returns the links of a page of a list, with the filters preserved.
func pager(v *pageRequest, path, next, shown string) views.Pager {
	p := views.Pager{Shown: shown}
	with := func(cursor string) string {
		query := url.Values{}
		for name, values := range v.r.URL.Query() {
			if name != "cursor" && values[0] != "" {
				query.Set(name, values[0])
			}
		}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if len(query) == 0 {
			return path
		}
		return path + "?" + query.Encode()
	}

	if v.value("cursor") != "" {
		p.Newer = with("")
	}
	if next != "" {
		p.Older = with(next)
	}

	return p
}

// documentsOf shows calls of the account, with their titles, and with their results while these are stored. One
// statement reads the titles of all, another the results.
func (w *Web) documentsOf(v *pageRequest, calls []store.Call, keys accountKeys) ([]views.Document, error) {
	var results []string
	for _, call := range calls {
		if call.ResultID != "" {
			results = append(results, call.ResultID)
		}
	}

	byID := map[string]store.File{}
	if len(results) > 0 {
		files, err := w.store.Files(v.ctx(), store.FileFilter{
			AccountID: v.account.ID,
			IDs:       results,
			List:      store.List{Limit: len(results)},
		})
		if err != nil {
			return nil, err
		}
		for _, file := range files.Items {
			byID[file.ID] = file
		}
	}

	titles, err := w.titlesOf(v, calls)
	if err != nil {
		return nil, err
	}

	list := make([]views.Document, 0, len(calls))
	for _, call := range calls {
		d := documentOf(call, keys)
		d.Name = cmp.Or(titles[call.ID], d.Name)
		if file, lives := byID[call.ResultID]; lives {
			withResult(&d, file)
		}
		list = append(list, d)
	}
	return list, nil
}

// titlesOf returns the titles of calls of the account that have one, by the calls' IDs.
func (w *Web) titlesOf(v *pageRequest, calls []store.Call) (map[string]string, error) {
	ids := make([]string, len(calls))
	for i, call := range calls {
		ids[i] = call.ID
	}
	return w.store.Titles(v.ctx(), v.account.ID, ids)
}

// documentOf shows a call.
func documentOf(call store.Call, keys accountKeys) views.Document {
	d := views.Document{
		ID: call.ID, Name: call.Operation, Operation: call.Operation, Mode: call.Mode,
		Key: cmp.Or(keys.name(call.KeyID), "dashboard"), Test: keys[call.KeyID].Test, At: call.CreatedAt,
		Status: views.Status{Is: views.StateRun, Word: "Processing"}, Price: call.Quote, Charged: true,
	}

	if call.Status == store.CallRunning {
		return d
	}

	d.Took = &call.Duration
	d.Price = call.Charge
	d.Status = views.Status{Is: views.StateOK, Word: "Completed"}
	if call.Status == store.CallFailed {
		// The run of a failed call is not measured, its life is.
		if call.EndedAt != nil {
			took := call.EndedAt.Sub(call.CreatedAt)
			d.Took = &took
		}
		d.Status = views.Status{Is: views.StateBad, Word: "Failed"}
		d.Charged = false
		d.ErrorCode = call.Failure.Code
	}

	if call.Canceled() {
		d.Status = views.Status{Is: views.StateOff, Word: "Cancelled"}
	}
	return d
}

// withResult sets the URL and the image of a call's result, and the title if there is no other.
func withResult(d *views.Document, file store.File) {
	d.Download = downloadOf(d.ID)
	if d.Name == d.Operation {
		d.Name = file.Filename
	}
	if schema.HasThumbnail(file.ContentType) {
		d.Image = documentsPath + "/" + d.ID + "/page.png"
	}
}

// downloadOf is the URL at which members download the result of a call: this does not count as a download by its link.
func downloadOf(callID string) string { return documentsPath + "/" + callID + "/file" }

// downloadResult sends the result of a call.
func (w *Web) downloadResult(v *pageRequest) error {
	document, err := v.document()
	if err == nil && v.account.Suspended {
		err = store.ErrNotFound
	}

	if err == nil {
		_, err = w.store.AccountFile(v.ctx(), v.account.ID, document.ResultID)
	}
	if err != nil {
		return err
	}

	r := v.r.Clone(v.ctx())
	r.URL.Path = strings.Replace(wire.FilePattern, "{id}", document.ResultID, 1)
	r.URL.RawPath = ""
	r.URL.RawQuery = ""

	w.cfg.Host.MemberHandler(*v.account, nil).ServeHTTP(v.w, r)
	return nil
}

// stepWords describe the steps of a call.
var stepWords = map[string]string{
	"wait":      "Job queue",
	"limit":     "Rate limit",
	"decode":    "Request parsing",
	"authorize": "Permissions",
	"quote":     "Price",
	"pin":       "Template version",
	"admit":     "Admission",
	"hold":      "Price reservation",
	"standing":  "Account and key check",
	"load":      "Page load",
	"queue":     "Queue",
	"page":      "Browser page",
	"selector":  "Wait for selector",
	"pause":     "Requested delay",
	"settle":    "Fonts and images",
	"print":     "Layout and print",
	"number":    "Page numbers",
	"capture":   "Capture",
	"start":     "Tool start",
	"template":  "Template",
	"markdown":  "Markdown",
	"work":      "Processing",
	"store":     "Result storage",
	"deliver":   "Delivery",
}

// document returns the call that a page is about.
func (v *pageRequest) document() (store.Call, error) {
	id := chi.URLParam(v.r, "id")
	found, err := v.web.store.Call(v.ctx(), id)
	if err == nil && found.AccountID != v.account.ID {
		err = store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) && v.web.store.Removed(id) {
		err = errRemoved
	}
	return found, err
}

// showFirstPage sends an image of page 1 of a document, while its result is stored.
func (w *Web) showFirstPage(v *pageRequest) error {
	document, err := v.document()
	if err != nil {
		return err
	}

	image, _ := w.calls.Thumbnail(v.ctx(), *v.account, document.ResultID)
	return v.image(image)
}

func (w *Web) showDocument(v *pageRequest) error {
	call, err := v.document()
	if err != nil {
		return err
	}
	keys, err := w.keysOf(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	m := views.DocumentDetail{Document: documentOf(call, keys), RequestID: call.RequestID}
	if w.now().Sub(call.CreatedAt) < store.RequestRetention {
		m.RequestURL = requestsPath + "?q=" + url.QueryEscape(call.RequestID)
	}

	titles, err := w.titlesOf(v, []store.Call{call})
	if err != nil {
		return err
	}
	m.Name = cmp.Or(titles[call.ID], m.Name)
	if err := w.addProgress(v, call, &m); err != nil {
		return err
	}

	for _, step := range call.Steps.List() {
		m.Steps = append(m.Steps, views.DocumentStep{Name: cmp.Or(stepWords[step.Name], step.Name), Took: step.Took})
	}
	if call.Status == store.CallFailed {
		m.Error = &views.DocumentError{Code: call.Failure.Code, Message: call.Failure.Message}
	}
	if err := w.addStoredInput(v, &m); err != nil {
		return err
	}

	file, err := w.store.AccountFile(v.ctx(), v.account.ID, call.ResultID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil {
		withResult(&m.Document, file)
		m.ResultID = file.ID
		m.SizeBytes = file.Size
		m.ExpiresAt = &file.ExpiresAt
		m.MaxDownloads = file.MaxDownloads
		m.DownloadsLeft = file.MaxDownloads - file.LinkDownloads
		if m.MaxDownloads == 0 || m.DownloadsLeft > 0 {
			m.Link = w.cfg.BaseURL + "/v1/files/" + url.PathEscape(file.ID)
		}

		if err := v.addPreview(&m); err != nil {
			return err
		}
	}

	return v.show(http.StatusOK, views.DocumentPage(v.page(m.Name, documentsPath), m))
}

// addProgress fills in how far a job has come, and whether it can be cancelled.
func (w *Web) addProgress(v *pageRequest, of store.Call, m *views.DocumentDetail) error {
	if of.Mode != schema.Async {
		return nil
	}

	status := wire.JobStatus{Status: wire.JobProcessing}
	if m.Took != nil {
		status.Status = wire.JobCompleted
	}
	if err := w.calls.AddProgress(v.ctx(), w.store, of, &status); err != nil {
		return err
	}

	m.Cancels = of.Status == store.CallRunning && (status.BulkStatus == nil || !status.Canceled)
	if status.BulkStatus == nil {
		return nil
	}

	m.Bulk = &views.BulkProgress{
		Total:     status.Total,
		Processed: status.Processed,
		Failed:    status.BulkStatus.Failed,
		Canceled:  status.Canceled,
		Charge:    of.Charge,
	}
	if status.ETASeconds != nil {
		m.Bulk.Left = new(time.Duration(*status.ETASeconds) * time.Second)
	}
	for _, e := range status.Errors {
		m.Bulk.Errors = append(m.Bulk.Errors, views.RecordError(e))
	}
	return nil
}

// showCancelJob asks before a job is cancelled. One that cannot be cancelled is shown instead.
func (w *Web) showCancelJob(v *pageRequest) error {
	call, err := v.document()
	if err != nil {
		return err
	}

	m := views.DocumentDetail{Document: documentOf(call, nil)}
	if err := w.addProgress(v, call, &m); err != nil {
		return err
	}
	if !m.Cancels {
		return v.redirect(documentsPath + "/" + call.ID)
	}

	return v.show(http.StatusOK, views.CancelJobPage(v.page("Cancel job", documentsPath), m))
}

func (w *Web) cancelJob(v *pageRequest) error {
	call, err := v.document()
	if err != nil {
		return err
	}

	if call.Mode == schema.Async && call.Status == store.CallRunning {
		if err := w.calls.Cancel(v.ctx(), call); err != nil {
			return err
		}
	}
	return v.redirect(documentsPath + "/" + call.ID)
}

// addPreview adds the preview of the result, or, until it exists, the URL of the page with it: the page itself does not
// wait for the preview.
func (v *pageRequest) addPreview(m *views.DocumentDetail) error {
	look, made := v.web.previews.find(m.ResultID)
	switch {
	case !made && v.value("preview") == "":
		m.LookURL = documentsPath + "/" + m.ID + "?preview=1"
		return nil
	case !made:
		var err error
		if look, err = v.filePreview(m.ResultID); err != nil {
			return err
		}
	}

	shown := previewOf(look, m.Name, imageOf(m.ID))
	if len(look.Images) == 0 && look.Text == "" && look.Note == "" && m.Image != "" {
		shown.Images = []string{m.Image} // browsers do not show the image itself
	}

	m.Look = &shown
	return nil
}

// shownText is the maximum length that is shown of a text within an input.
const shownText = 4000

// addStoredInput fills in the input of the call, if it was stored.
func (w *Web) addStoredInput(v *pageRequest, m *views.DocumentDetail) error {
	text, err := w.calls.Input(v.ctx(), w.store, v.account.ID, m.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}

	var input any
	if err := json.Unmarshal(text, &input); err != nil {
		return err
	}

	var out bytes.Buffer
	writer := json.NewEncoder(&out)
	writer.SetIndent("", "  ")
	writer.SetEscapeHTML(false)
	if err := writer.Encode(shortened(input)); err != nil {
		return err
	}

	m.Input = out.String()
	m.AgainPrice = w.cfg.Prices[m.Operation]
	return nil
}

// shortened cuts the long texts of an input, such as files as Base64.
func shortened(input any) any {
	switch input := input.(type) {
	case string:
		if len(input) > shownText {
			return strings.ToValidUTF8(input[:shownText], "") + "… (" + views.Bytes(int64(len(input))) + ")"
		}
	case map[string]any:
		for name, value := range input {
			input[name] = shortened(value)
		}
	case []any:
		for i, value := range input {
			input[i] = shortened(value)
		}
	}

	return input
}

// runAgain repeats a call from its stored input.
func (w *Web) runAgain(v *pageRequest) error {
	document, err := v.document()
	if err != nil {
		return err
	}

	again, err := w.calls.Repeat(v.ctx(), *v.account, document.ID, middleware.RequestID(v.ctx()))
	if err == nil {
		return v.redirect(documentsPath + "/" + again)
	}

	refused := call.APIError(err)
	if errors.Is(err, store.ErrNotFound) || refused.Code == wire.InternalError {
		return err
	}
	return v.redirectWith(documentsPath+"/"+document.ID, "Rerun failed: "+refused.Error())
}

func (w *Web) exportDocuments(v *pageRequest) error {
	_, f := w.callFilter(v)
	keys, err := w.keysOf(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	read := func(l store.List) (store.Page[store.Call], error) {
		f.Limit = l.Limit
		f.Cursor = l.Cursor
		return w.store.Calls(v.ctx(), f)
	}

	columns := []string{
		"id", "created_at", "operation", "mode", "status", "key", "milliseconds", "charge_usd", "error", "request_id",
	}
	return v.sendTable("documents.csv", columns, exported(read, func(c store.Call) []string {
		return []string{
			c.ID, c.CreatedAt.UTC().Format(time.RFC3339), c.Operation, c.Mode, shownStatus(c), keys.name(c.KeyID),
			strconv.FormatInt(c.Duration.Milliseconds(), 10), decimal(c.Charge), c.Failure.Code, c.RequestID,
		}
	}))
}
