package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// TestTemplateApprovals approves the pages of drafts. An approval stores the content and the partials, and ends with
// the draft.
func TestTemplateApprovals(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		none := func(when string) {
			t.Helper()
			if _, err := f.TemplateApproval(ctx, f.acc.ID, "letter"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v, want %v", when, err, store.ErrNotFound)
			}
		}
		made := f.newTemplate(t, "letter", "first")
		none("before")
		_, err := f.PutPartial(ctx, f.acc.ID, "head", "<h1>")
		must(err)
		if err := f.ApproveTemplate(ctx, f.acc.ID, "letter", made.Revision+1, "maya@example.com"); !errors.Is(err, store.ErrChanged) {
			t.Errorf("another revision: %v, want %v", err, store.ErrChanged)
		}
		must(f.ApproveTemplate(ctx, f.acc.ID, "letter", made.Revision, "maya@example.com"))
		changed, err := f.UpdateTemplate(ctx, f.acc.ID, "letter", 0, store.TemplateChange{HTML: new("second")})
		must(err)
		got, err := f.TemplateApproval(ctx, f.acc.ID, "letter")
		must(err)
		if got.Content.HTML != "first" || string(got.Content.SampleData) != `{"a":1}` || got.By != "maya@example.com" || !reflect.DeepEqual(got.Partials, map[string]string{"head": "<h1>"}) {
			t.Errorf("the approval is %+v", got)
		}
		must(f.ApproveTemplate(ctx, f.acc.ID, made.ID, changed.Revision, "lena@example.com"))
		if got, err := f.TemplateApproval(ctx, f.acc.ID, made.ID); err != nil || got.Content.HTML != "second" || got.By != "lena@example.com" {
			t.Errorf("the second approval is %+v, %v", got, err)
		}
		other, err := f.CreateAccount(ctx, "other@example.com", 0)
		must(err)
		if err := f.ApproveTemplate(ctx, other.ID, made.ID, changed.Revision, "x"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account's: %v, want %v", err, store.ErrNotFound)
		}
		if _, err := f.TemplateApproval(ctx, other.ID, made.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account's: %v, want %v", err, store.ErrNotFound)
		}

		published, err := f.PublishTemplate(ctx, f.acc.ID, made.ID, 0, "", nil)
		must(err)
		none("after publication")
		if err := f.ApproveTemplate(ctx, f.acc.ID, made.ID, published.Revision, "x"); !errors.Is(err, store.ErrNoDraft) {
			t.Errorf("without a draft: %v, want %v", err, store.ErrNoDraft)
		}
		f.clock.Advance(time.Second)
		changed, err = f.UpdateTemplate(ctx, f.acc.ID, made.ID, 0, store.TemplateChange{HTML: new("third")})
		must(err)
		must(f.ApproveTemplate(ctx, f.acc.ID, made.ID, changed.Revision, "maya@example.com"))
		_, err = f.DiscardTemplate(ctx, f.acc.ID, made.ID, 0)
		must(err)
		none("after the draft was discarded")
	})
}
