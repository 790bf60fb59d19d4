package web

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const requestsPath = "/dashboard/requests"

// showRequests shows the log of the account's requests.
func (w *Web) showRequests(v *pageRequest) error {
	shown := views.RequestFilter{
		Text:   v.value("q"),
		Status: v.value("status"),
		Code:   v.value("code"),
		Key:    v.value("key"),
		Period: v.value("period"),
	}
	f := store.RequestFilter{
		AccountID: v.account.ID, Outcome: shown.Status, Code: shown.Code, KeyID: shown.Key, Text: shown.Text,
		List: store.List{Cursor: v.value("cursor")},
	}

	if method, path, _ := strings.Cut(shown.Text, " "); slices.Contains(middleware.Methods(), method) {
		f.Method = method
		f.Text = strings.TrimSpace(path)
	}
	if hours, err := strconv.Atoi(shown.Period); err == nil && hours > 0 {
		f.After = w.now().Add(-time.Duration(hours) * time.Hour)
	}

	list, err := w.store.Keys(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	keys := byID(list)
	shown.Keys = choicesOf(list)
	for _, code := range wire.Codes() {
		shown.Codes = append(shown.Codes, views.Choice{Value: string(code), Text: string(code)})
	}

	page, err := w.store.Requests(v.ctx(), f)
	if err != nil {
		return err
	}

	m := views.Requests{Filter: shown}
	for _, r := range page.Items {
		m.List = append(m.List, requestOf(r, keys[r.KeyID]))
	}
	m.Pager = pager(v, requestsPath, page.Next, views.Plural(len(m.List), "request", "requests"))
	return v.show(http.StatusOK, views.RequestsPage(v.page("Requests", requestsPath), m))
}

func requestOf(r store.Request, key store.Key) views.Request {
	name := ""
	if key.ID != "" {
		name = keyName(key)
	}
	return views.Request{
		ID: r.ID, Method: r.Method, Path: r.Path, Status: r.Status, ErrorCode: r.Code, Key: cmp.Or(name, "unknown"),
		Free: key.Test && r.CallID != "" && r.Code == "", Took: r.Duration, Price: r.Price, At: r.At,
	}
}

func (w *Web) showRequest(v *pageRequest) error {
	r, err := w.store.Request(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}
	keys, err := w.keysOf(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	key, known := keys[r.KeyID]
	m := views.RequestDetail{
		Request:   requestOf(r, key),
		RequestID: r.RequestID,
		Message:   r.Message,
		Body:      jsonText([]byte(r.Body)),
	}

	if known {
		m.KeyLink = keyLink(key)
	}
	if r.CallID != "" {
		m.Document = views.Link{URL: documentsPath + "/" + r.CallID, Text: r.CallID}
	}
	return v.show(http.StatusOK, views.RequestPage(v.page(m.Method+" "+m.Path, requestsPath), m))
}
