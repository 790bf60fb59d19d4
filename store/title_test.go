package store_test

import (
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestTitlesOfCalls: a title is that of the template, or the name of the file, of the account only. Calls are found by
// it, until it is deleted after 30 days or with its account.
func TestTitlesOfCalls(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		template, err := f.CreateTemplate(t.Context(), store.NewTemplate{AccountID: f.acc.ID, Slug: "invoice", Name: "Invoice of May", Content: store.TemplateContent{HTML: "<p>"}})
		if err != nil {
			t.Fatal(err)
		}
		file, made, gone := f.begin(t, f.newCall(2000)), f.begin(t, f.newCall(2000)), f.begin(t, f.newCall(2000))
		calls := []string{file.ID, made.ID, gone.ID, "call_unknown"}
		writer, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir, Now: f.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		writer.LogTitle(store.Title{CallID: file.ID, AccountID: f.acc.ID, Filename: "Report 7%.pdf"})
		writer.LogTitle(store.Title{CallID: file.ID, AccountID: f.acc.ID, Filename: "again.pdf"})
		writer.LogTitle(store.Title{CallID: made.ID, AccountID: f.acc.ID, Filename: "document.pdf", TemplateID: template.ID})
		writer.LogTitle(store.Title{CallID: gone.ID, AccountID: f.acc.ID, Filename: "document.pdf", TemplateID: "00000000-0000-4000-8000-000000000000"})
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		titles, err := f.Titles(t.Context(), f.acc.ID, calls)
		if err != nil || len(titles) != 3 || titles[file.ID] != "Report 7%.pdf" || titles[made.ID] != "Invoice of May" || titles[gone.ID] != "document.pdf" {
			t.Errorf("got %v, %v", titles, err)
		}
		other := f.newAccount(t, "other@example.com", 0)
		if titles, err := f.Titles(t.Context(), other.ID, calls); err != nil || len(titles) != 0 {
			t.Errorf("another account has the titles %v, %v", titles, err)
		}
		for text, want := range map[string]string{"report 7%": file.ID, "INVOICE OF": made.ID, "7_": ""} {
			found, err := f.Calls(t.Context(), store.CallFilter{AccountID: f.acc.ID, Text: text})
			if err != nil || len(found.Items) != min(len(want), 1) || want != "" && found.Items[0].ID != want {
				t.Errorf("%q finds %+v, %v", text, found.Items, err)
			}
		}
		count := func() (n int) {
			if err := f.DB().NewRaw("SELECT COUNT(*) FROM titles").Scan(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, age := range []time.Duration{store.JobRetention - time.Hour, 2 * time.Hour} {
			f.clock.Advance(age)
			if err := f.DeleteExpired(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			if n := count(); (n == 3) != (age > 2*time.Hour) {
				t.Errorf("%d titles are there %v later", n, age)
			}
		}
	})
}
