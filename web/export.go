package web

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// The export of an account: a ZIP archive of JSON files, streamed while they are read, so that memory does not grow
// with the account. The files contain no secrets.

// Contents of the files.
type (
	exportedAccount struct {
		ID        string        `json:"id"`
		Name      string        `json:"name"`
		Email     string        `json:"email"`
		Plan      string        `json:"plan"`
		Region    string        `json:"region"`
		Balance   credit.Amount `json:"balanceMicrodollars"`
		Held      credit.Amount `json:"heldMicrodollars"`
		Owed      credit.Amount `json:"owedMicrodollars"`
		CreatedAt time.Time     `json:"createdAt"`
	}
	exportedMember struct {
		Email    string    `json:"email"`
		Name     string    `json:"name"`
		Role     string    `json:"role"`
		JoinedAt time.Time `json:"joinedAt"`
	}
	exportedKey struct {
		ID         string         `json:"id"`
		Name       string         `json:"name"`
		Prefix     string         `json:"prefix"`
		Operations []string       `json:"operations"`
		SpendLimit *credit.Amount `json:"spendLimitMicrodollars"`
		CreatedAt  time.Time      `json:"createdAt"`
		ExpiresAt  *time.Time     `json:"expiresAt"`
		RevokedAt  *time.Time     `json:"revokedAt"`
		LastUsedAt *time.Time     `json:"lastUsedAt"`
	}
	exportedEndpoint struct {
		ID        string    `json:"id"`
		URL       string    `json:"url"`
		Events    []string  `json:"events"`
		Enabled   bool      `json:"enabled"`
		CreatedAt time.Time `json:"createdAt"`
	}
	exportedCall struct {
		ID        string        `json:"id"`
		Title     string        `json:"title,omitempty"`
		ResultID  string        `json:"resultId"`
		Operation string        `json:"operation"`
		Mode      string        `json:"mode"`
		Status    string        `json:"status"`
		KeyID     string        `json:"keyId"`
		RequestID string        `json:"requestId"`
		Charge    credit.Amount `json:"chargeMicrodollars"`
		Error     string        `json:"error"`
		Duration  float64       `json:"durationMs"`
		CreatedAt time.Time     `json:"createdAt"`
		EndedAt   *time.Time    `json:"endedAt"`
	}
	exportedRequest struct {
		ID        string        `json:"id"`
		RequestID string        `json:"requestId"`
		Method    string        `json:"method"`
		Path      string        `json:"path"`
		Status    int           `json:"status"`
		Error     string        `json:"error"`
		Message   string        `json:"message"`
		KeyID     string        `json:"keyId"`
		CallID    string        `json:"callId"`
		Charge    credit.Amount `json:"chargeMicrodollars"`
		Duration  float64       `json:"durationMs"`
		CreatedAt time.Time     `json:"createdAt"`
	}
	exportedPosting struct {
		ID        string        `json:"id"`
		Kind      string        `json:"kind"`
		Wallet    credit.Amount `json:"walletMicrodollars"`
		Held      credit.Amount `json:"heldMicrodollars"`
		CallID    string        `json:"callId"`
		Reference string        `json:"reference"`
		Reason    string        `json:"reason"`
		CreatedAt time.Time     `json:"createdAt"`
	}
	exportedDelivery struct {
		ID        string    `json:"id"`
		EventID   string    `json:"eventId"`
		Event     string    `json:"event"`
		URL       string    `json:"url"`
		Status    string    `json:"status"`
		Attempts  int       `json:"attempts"`
		CreatedAt time.Time `json:"createdAt"`
	}
	exportedTemplate struct {
		ID         string          `json:"id"`
		Slug       string          `json:"slug"`
		Name       string          `json:"name"`
		HTML       string          `json:"html"`
		SampleData json.RawMessage `json:"sampleData"`
		Options    json.RawMessage `json:"options"`
		Published  int             `json:"publishedVersion"`
		CreatedAt  time.Time       `json:"createdAt"`
	}
	exportedAudit struct {
		At      time.Time `json:"at"`
		Who     string    `json:"who"`
		Action  string    `json:"action"`
		Object  string    `json:"object"`
		Note    string    `json:"note"`
		Address string    `json:"address"`
	}
)

// exportAccount responds with all data of an account. An error on the way cuts the connection, so a partial export
// cannot pass for a whole one.
func (w *Web) exportAccount(v *pageRequest) error {
	if _, ok := w.allow(v.ctx(), "export:account:"+v.account.ID, exportsPerHour, time.Hour); !ok {
		return errTooMany
	}
	if err := v.record("account.exported", "", ""); err != nil {
		return err
	}

	h := v.w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="relaypdf-account.zip"`)

	archive := zip.NewWriter(v.w)
	for _, part := range []struct {
		name  string
		write func(*pageRequest, *jsonList) error
	}{
		{"account.json", w.exportFacts}, {"members.json", w.exportMembers},
		{"keys.json", w.exportKeys}, {"endpoints.json", w.exportEndpoints},
		{"connections.json", w.exportConnections}, {"signing-identities.json", w.exportSigning},
		{"templates.json", w.exportTemplates}, {"calls.json", w.exportCalls},
		{"requests.json", w.exportRequests}, {"ledger.json", w.exportPostings},
		{"deliveries.json", w.exportDeliveries}, {"audit.json", w.exportEntries},
	} {
		file, err := archive.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Deflate, Modified: w.now()})
		if err == nil {
			list := &jsonList{w: file}
			err = errors.Join(part.write(v, list), list.end())
		}
		if err != nil {
			w.log.ErrorContext(v.ctx(), "account not exported", "file", part.name, "error", err)
			panic(http.ErrAbortHandler)
		}
	}

	return archive.Close()
}

// exportsPerHour bounds how often an account reads all it has.
const exportsPerHour = 10

// jsonList writes an array of JSON, one entry a line.
type jsonList struct {
	w       io.Writer
	started bool
}

func (l *jsonList) add(entry any) error {
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}

	before := ",\n"
	if !l.started {
		before = "[\n"
		l.started = true
	}

	_, err = l.w.Write(append([]byte(before), text...))
	return err
}

func (l *jsonList) end() error {
	text := "\n]\n"
	if !l.started {
		text = "[]\n"
	}
	_, err := io.WriteString(l.w, text)
	return err
}

func (w *Web) exportFacts(v *pageRequest, out *jsonList) error {
	a := v.account
	return out.add(exportedAccount{a.ID, a.Name, a.Email, a.Plan, a.Region, a.Balance, a.Held, a.Owed, a.CreatedAt})
}

func (w *Web) exportMembers(v *pageRequest, out *jsonList) error {
	members, err := w.store.AccountMembers(v.ctx(), v.account.ID)
	for _, m := range members {
		err = errors.Join(err, out.add(exportedMember{m.Person.Email, m.Person.Name, m.Role, m.JoinedAt}))
	}
	return err
}

func (w *Web) exportKeys(v *pageRequest, out *jsonList) error {
	list, err := w.store.Keys(v.ctx(), v.account.ID)
	for _, k := range list {
		err = errors.Join(err, out.add(exportedKey{
			k.ID, k.Name, k.Prefix, k.Operations, k.SpendLimit, k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt,
		}))
	}
	return err
}

func (w *Web) exportEndpoints(v *pageRequest, out *jsonList) error {
	list, err := w.store.Webhooks(v.ctx(), v.account.ID)
	for _, e := range list {
		err = errors.Join(err, out.add(exportedEndpoint{e.ID, e.URL, e.Events, e.Enabled, e.CreatedAt}))
	}
	return err
}

func (w *Web) exportConnections(v *pageRequest, out *jsonList) error {
	list, err := w.cfg.Connections.List(v.ctx(), v.account.ID)
	for _, c := range list {
		err = errors.Join(err, out.add(c))
	}
	return err
}

func (w *Web) exportSigning(v *pageRequest, out *jsonList) error {
	list, err := w.cfg.Signing.List(v.ctx(), v.account.ID)
	for _, i := range list {
		err = errors.Join(err, out.add(i))
	}
	return err
}

func (w *Web) exportTemplates(v *pageRequest, out *jsonList) error {
	return eachPage(func(l store.List) (store.Page[store.Template], error) {
		return w.store.Templates(v.ctx(), store.TemplateFilter{AccountID: v.account.ID, List: l})
	}, func(t store.Template) error {
		t, err := w.store.Template(v.ctx(), v.account.ID, t.ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil // It was deleted meanwhile.
		}

		return errors.Join(err, out.add(exportedTemplate{
			t.ID, t.Slug, t.Name, t.Content.HTML, t.Content.SampleData,
			t.Content.Options, t.PublishedVersion, t.CreatedAt,
		}))
	})
}

func (w *Web) exportCalls(v *pageRequest, out *jsonList) error {
	var titles map[string]string

	return eachPage(func(l store.List) (store.Page[store.Call], error) {
		page, err := w.store.Calls(v.ctx(), store.CallFilter{AccountID: v.account.ID, List: l})
		if err == nil {
			titles, err = w.titlesOf(v, page.Items)
		}
		return page, err
	}, func(c store.Call) error {
		return out.add(exportedCall{
			c.ID, titles[c.ID], c.ResultID, c.Operation, c.Mode,
			shownStatus(c), c.KeyID, c.RequestID, c.Charge, c.Failure.Code,
			float64(c.Duration.Microseconds()) / 1000, c.CreatedAt, c.EndedAt,
		})
	})
}

func (w *Web) exportRequests(v *pageRequest, out *jsonList) error {
	return eachPage(func(l store.List) (store.Page[store.Request], error) {
		return w.store.Requests(v.ctx(), store.RequestFilter{AccountID: v.account.ID, List: l})
	}, func(r store.Request) error {
		return out.add(exportedRequest{
			r.ID, r.RequestID, r.Method, r.Path, r.Status, r.Code, r.Message, r.KeyID,
			r.CallID, r.Price, float64(r.Duration.Microseconds()) / 1000, r.At,
		})
	})
}

func (w *Web) exportPostings(v *pageRequest, out *jsonList) error {
	return eachPage(func(l store.List) (store.Page[store.JournalEntry], error) {
		return w.store.Postings(v.ctx(), store.PostingFilter{AccountID: v.account.ID, List: l})
	}, func(p store.JournalEntry) error {
		return out.add(exportedPosting{p.ID, p.Kind, p.Wallet, p.Held, p.CallID, p.Reference, p.Reason, p.CreatedAt})
	})
}

func (w *Web) exportDeliveries(v *pageRequest, out *jsonList) error {
	return eachPage(func(l store.List) (store.Page[store.Delivery], error) {
		return w.store.Deliveries(v.ctx(), store.DeliveryFilter{AccountID: v.account.ID, List: l})
	}, func(d store.Delivery) error {
		return out.add(exportedDelivery{d.ID, d.EventID, d.EventType, d.URL, d.Status, d.Attempts, d.CreatedAt})
	})
}

func (w *Web) exportEntries(v *pageRequest, out *jsonList) error {
	return eachPage(w.auditPages(v), func(e store.AuditEntry) error {
		return out.add(exportedAudit{e.At, e.Who, e.Action, e.Object, e.Note, e.Address})
	})
}

// auditPages reads the audit log of the account as its members see it, for eachPage.
func (w *Web) auditPages(v *pageRequest) func(store.List) (store.Page[store.AuditEntry], error) {
	return func(l store.List) (page store.Page[store.AuditEntry], err error) {
		entries, err := w.store.AuditEntries(v.ctx(), v.account.ID, l.Cursor, l.Limit)
		if len(entries) == l.Limit {
			page.Next = entries[len(entries)-1].ID
		}

		for _, e := range entries {
			page.Items = append(page.Items, forMembers(e))
		}
		return page, err
	}
}

// eachPage reads a list to its end, and hands on its items.
func eachPage[Item any](read func(store.List) (store.Page[Item], error), each func(Item) error) error {
	for list := (store.List{Limit: store.MaxList}); ; {
		page, err := read(list)
		if err != nil {
			return err
		}

		for _, item := range page.Items {
			if err := each(item); err != nil {
				return err
			}
		}

		if page.Next == "" {
			return nil
		}
		list.Cursor = page.Next
	}
}
