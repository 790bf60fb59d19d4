package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

type statementsKey struct{}

// statements holds the statements that one request has run.
type statements struct {
	mu   sync.Mutex
	list []string
}

// watcher notes statements where their request is watched. The start and the end
// of a transaction count as none.
type watcher struct{}

func (watcher) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (watcher) AfterQuery(ctx context.Context, e *bun.QueryEvent) {
	noted, ok := ctx.Value(statementsKey{}).(*statements)
	switch word, _, _ := strings.Cut(strings.ToUpper(e.Query), " "); {
	case !ok, word == "BEGIN", word == "COMMIT", word == "ROLLBACK", word == "SAVEPOINT", word == "RELEASE", word == "SET":
		return
	}
	noted.mu.Lock()
	defer noted.mu.Unlock()
	noted.list = append(noted.list, e.Query)
}

// maxStatements is the maximum number of statements of a page, whatever its account holds. Session, user,
// memberships and account are four of them; saving the session and the side bar's count are two more. If a page
// changes the session, two statements store it.
var maxStatements = map[string]int{
	"/dashboard":                                     16,
	"/dashboard/deliveries":                          8,
	"/dashboard/documents":                           10,
	"/dashboard/keys":                                11,
	"/dashboard/keys/new":                            6,
	"/dashboard/playground":                          11,
	"/dashboard/playground/zip_create":               8,
	"/dashboard/requests":                            8,
	"/dashboard/settings":                            6,
	"/dashboard/settings/audit":                      7,
	"/dashboard/settings/data":                       6,
	"/dashboard/settings/members":                    8,
	"/dashboard/settings/security":                   8,
	"/dashboard/settings/factor":                     7,
	"/dashboard/templates":                           9,
	"/dashboard/templates/new":                       6,
	"/dashboard/templates/gallery":                   6,
	"/dashboard/templates/import":                    6,
	"/dashboard/templates/partials":                  8,
	"/dashboard/templates/partials/new":              6,
	"/dashboard/usage":                               11,
	"/dashboard/usage?by=key":                        12,
	"/dashboard/usage?by=template":                   10,
	"/dashboard/usage.csv":                           8,
	"/dashboard/wallet":                              17,
	"/dashboard/wallet/receipts":                     7,
	"/dashboard/connections":                         7,
	"/dashboard/connections/new":                     6,
	"/dashboard/signing":                             7,
	"/dashboard/signing/new":                         6,
	"/dashboard/webhooks":                            8,
	"/device":                                        6,
	"/dashboard/apps":                                7,
	"/dashboard/webhooks/new":                        6,
	"/dashboard/find":                                6,
	"/dashboard/find?q=Bill":                         9,
	"/dashboard/find?q=a.pdf":                        9,
	"/dashboard/find?q=call_0":                       9,
	"/dashboard/first":                               6,
	"/dashboard/deliveries?event=" + store.EventTest: 8,
	"/dashboard/documents?status=failed":             8,
}

// TestPagesRunFewStatements counts the statements of each page, with little and with more data in the account: the
// number must not grow.
func TestPagesRunFewStatements(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
		s, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir, Now: clock.Now, Watch: watcher{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		h := newHouse(t, s, clock, nil)
		v := h.join(t, "maya@example.com")
		lease := acquire(t, h)
		handler := h.handler
		count := func(path string) []string {
			t.Helper()
			noted := &statements{}
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), statementsKey{}, noted), http.MethodGet, path, nil)
			base, err := url.Parse(h.url)
			if err != nil {
				t.Fatal(err)
			}
			for _, cookie := range v.client.Jar.Cookies(base) {
				r.AddCookie(cookie)
			}
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Fatalf("%s: got status %d", path, w.Code)
			}
			return noted.list
		}
		grow := func() {
			t.Helper()
			account := h.mayas(t)
			for i := range 3 {
				result := h.NewID("file")
				key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: result})
				if err != nil {
					t.Fatal(err)
				}
				if err := h.Begin(t.Context(), store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: account.ID, KeyID: key.ID, Operation: "pdf.create", Mode: "binary", RequestID: "r", Quote: 2000, Lease: lease}); err != nil {
					t.Fatal(err)
				}
				if i < 2 {
					if err := h.Settle(t.Context(), store.Settlement{CallID: store.CallID(result), Charge: 2000, File: &store.File{ID: result, BlobKey: result, Filename: "a.pdf", ContentType: "application/pdf", ExpiresAt: clock.Now().Add(time.Hour)}}); err != nil {
						t.Fatal(err)
					}
				}
				hook, err := h.CreateWebhook(t.Context(), store.NewWebhook{ID: h.NewID("we"), AccountID: account.ID, URL: "https://hooks.example/in", Secret: []byte("sealed"), SecretPrefix: "whsec_x"})
				if err != nil {
					t.Fatal(err)
				}
				h.send(t, account.ID, hook.ID, 2, nil)
				v.newTemplate("Bill of " + result)
				if _, err := h.NewInvite(t.Context(), store.Invite{AccountID: account.ID, Email: result[:30] + "@example.com", Role: store.RoleViewer, InviterID: "per_x", ExpiresAt: clock.Now().Add(time.Hour)}); err != nil {
					t.Fatal(err)
				}
				clock.Advance(time.Second)
			}
		}
		grow()
		first := map[string]int{}
		for path := range maxStatements {
			first[path] = len(count(path))
		}
		grow()
		for path, maximum := range maxStatements {
			list := count(path)
			if len(list) > maximum || len(list) > first[path] {
				t.Errorf("%s runs %d statements, after %d with less in the account; want at most %d:\n%s", path, len(list), first[path], maximum, strings.Join(list, "\n"))
			}
			if len(list) < 5 {
				t.Errorf("%s runs %d statements: they are not counted", path, len(list))
			}
		}
		for _, page := range h.web.Pages() {
			if page.Method != http.MethodGet || strings.ContainsAny(page.Pattern, "{.") || pageAllows[page.Need] == nil || page.Need == "operates" {
				continue
			}
			if maxStatements[page.Pattern] == 0 && !uncounted[page.Pattern] {
				t.Errorf("nobody has said how many statements %s may run", page.Pattern)
			}
		}
	})
}

// uncounted are pages that ask for a password only, lead elsewhere, or write a
// file of everything.
var uncounted = map[string]bool{
	"/dashboard/settings/confirm": true, "/dashboard/settings/factor/off": true, "/dashboard/settings/factor/recovery": true, "/dashboard/settings/factor/codes": true, "/dashboard/deliveries/replay": true, "/dashboard/settings/export": true, "/dashboard/wallet/card": true,
	"/oauth/authorize": true, // which shows the errors of the request
}
