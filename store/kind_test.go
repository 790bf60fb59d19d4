package store_test

import (
	"errors"
	"testing"

	"github.com/relaypdf/relaypdf/store"
)

// TestUnknownKindsAreLeft: a worker claims the kinds that it knows,
// also of an account whose first jobs are of another kind, and leaves the rest.
func TestUnknownKindsAreLeft(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		queue := func(account store.Account, kind string) string {
			c := f.newJob(t)
			c.AccountID, c.KeyID, c.Job.Kind = account.ID, "", kind
			return f.begin(t, c).ID
		}
		other := f.newAccount(t, "bob@example.com", trial)
		first := queue(f.acc, "pdf.create/2")
		second := queue(f.acc, "pdf.redact/1")
		third := queue(f.acc, "pdf.create/1")
		fourth := queue(other, "pdf.create/1")
		anyKind := queue(other, "")
		claim := func(known ...string) string {
			t.Helper()
			job, err := f.ClaimJob(t.Context(), f.lease, known...)
			if errors.Is(err, store.ErrNotFound) {
				return ""
			}
			if err != nil {
				t.Fatal(err)
			}
			return job.Call.ID
		}
		got := map[string]bool{claim("pdf.create/1"): true, claim("pdf.create/1"): true, claim("pdf.create/1"): true}
		if !got[third] || !got[fourth] || !got[anyKind] {
			t.Errorf("the worker of version 1 claimed %v, want %s, %s and %s", got, third, fourth, anyKind)
		}
		if id := claim("pdf.create/1"); id != "" {
			t.Errorf("the worker of version 1 claimed %s, which it does not know", id)
		}
		if got := []string{claim("pdf.create/2", "pdf.redact/1"), claim("pdf.create/2", "pdf.redact/1")}; got[0] != first || got[1] != second {
			t.Errorf("the worker of version 2 claimed %v, want %s and %s", got, first, second)
		}
		for _, id := range []string{first, second, third, fourth, anyKind} {
			f.release(t, id)
		}
	})
}
