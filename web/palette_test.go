package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// TestPaletteFindsPlaces: the palette gets the pages that a user may open and the documentation, and for a text what the
// account has, and nothing of other accounts.
func TestPaletteFindsPlaces(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		owner := h.join(t, "maya@example.com")
		account := h.mayas(t)
		lease := acquire(t, h)
		result := h.NewID("file")
		call := store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "url", RequestID: h.NewID("req"), Quote: 2000, Lease: lease}
		if err := h.Begin(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		file := &store.File{ID: result, BlobKey: result, Filename: "Invoice 42.pdf", ContentType: "application/pdf", ExpiresAt: h.clock.Now().Add(time.Hour)}
		if err := h.Settle(t.Context(), store.Settlement{CallID: call.ID, Charge: 2000, File: file}); err != nil {
			t.Fatal(err)
		}
		for range 7 {
			owner.newTemplate("Invoice")
			owner.once("/dashboard/keys", url.Values{"name": {"invoices"}})
		}
		owner.post("/dashboard/settings/invites", http.StatusSeeOther, url.Values{"email": {"tom@example.com"}, "role": {"viewer"}})
		viewer, stranger := h.visitor(t), h.join(t, "nina@example.com")
		viewer.post(h.link(t, "tom@example.com"), http.StatusSeeOther, url.Values{"password": {password}})

		pages := owner.finds("")
		for _, want := range []string{"Pages: Documents /dashboard/documents", "Pages: Security /dashboard/settings/security", "Pages: Create API key /dashboard/keys/new", "Guides: Webhooks /docs/webhooks"} {
			if !slices.Contains(pages, want) {
				t.Errorf("%q is not among the places %q", want, pages)
			}
		}
		if slices.ContainsFunc(pages, func(p string) bool { return strings.Contains(p, "/admin") }) || slices.ContainsFunc(viewer.finds(""), func(p string) bool { return strings.Contains(p, "/keys/new") }) {
			t.Error("a page is listed for those who may not open it")
		}
		if slices.Contains(pages, "Guides: Runbook /docs/runbook") {
			t.Error("a page for operators is listed for others")
		}
		person, err := h.UserByEmail(t.Context(), "maya@example.com")
		if err == nil {
			err = h.SetOperator(t.Context(), person.ID, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		if operator := h.signedIn(t, person).finds(""); !slices.Contains(operator, "Pages: Jobs /admin/jobs") || !slices.Contains(operator, "Guides: Runbook /docs/runbook") {
			t.Errorf("an operator finds %q", operator)
		}
		count := map[string]int{}
		for _, p := range owner.finds("invoice") {
			group, _, _ := strings.Cut(p, ":")
			count[group]++
		}
		if count["Templates"] != 5 || count["Keys"] != 5 || count["Documents"] != 1 {
			t.Errorf("it finds %v", count)
		}
		want := []string{"Documents: Invoice 42.pdf /dashboard/documents/" + call.ID}
		if got := owner.finds("INVOICE 42"); !slices.Equal(got, want) {
			t.Errorf("a name finds %q, want %q", got, want)
		}
		want = []string{"Documents: pdf.create /dashboard/documents/" + call.ID}
		for _, id := range []string{call.ID, result, call.RequestID} {
			if got := owner.finds(id); !slices.Equal(got, want) {
				t.Errorf("%s finds %q, want %q", id, got, want)
			}
			if got := stranger.finds(id); len(got) > 0 {
				t.Errorf("another account finds %q", got)
			}
		}
		if got := stranger.finds("invoice"); len(got) > 0 {
			t.Errorf("another account finds %q", got)
		}
		if a := h.visitor(t).get("/dashboard/find?q=invoice"); a.status != http.StatusSeeOther {
			t.Errorf("without a login: got status %d", a.status)
		}
	})
}

// finds returns what the palette gets for a text.
func (v *visitor) finds(text string) (lines []string) {
	v.t.Helper()
	a := v.sees("/dashboard/find?q=" + url.QueryEscape(text))
	var list []struct{ Group, Title, URL string }
	if err := json.Unmarshal([]byte(a.body), &list); err != nil {
		v.t.Fatalf("%v: %s", err, a.body)
	}
	for _, p := range list {
		lines = append(lines, p.Group+": "+p.Title+" "+p.URL)
	}
	return lines
}
