package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

func (f *fixture) newTemplate(t testing.TB, slug, html string) store.Template {
	t.Helper()
	made, err := f.CreateTemplate(t.Context(), store.NewTemplate{
		AccountID: f.acc.ID, Slug: slug, Name: "Template " + slug, Content: store.TemplateContent{HTML: html, SampleData: json.RawMessage(`{"a":1}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// model is the expected state of a template.
type model struct {
	id       string
	draft    string // empty is none
	versions []string
	revision int64
	deleted  bool
}

func (m *model) shown() string {
	if m.draft != "" || len(m.versions) == 0 {
		return m.draft
	}
	return m.versions[len(m.versions)-1]
}

// TestTemplatesAgainstModel changes templates at random and compares every answer
// with a model of a few lines.
func TestTemplatesAgainstModel(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		random := rand.New(rand.NewPCG(3, 14))
		var models []*model
		for step := range 400 {
			if len(models) < 3 || random.IntN(40) == 0 {
				html := fmt.Sprintf("html %d", step)
				made := f.newTemplate(t, fmt.Sprintf("t-%d", step), html)
				models = append(models, &model{id: made.ID, draft: html, revision: 1})
				continue
			}
			stepTemplate(t, f, models[random.IntN(len(models))], random, step)
		}
		for _, m := range models {
			checkTemplate(t, f, m)
		}
	})
}

// stepTemplate changes one template and its model alike.
func stepTemplate(t *testing.T, f *fixture, m *model, random *rand.Rand, step int) {
	t.Helper()
	expected := int64(0)
	stale := false
	switch random.IntN(4) {
	case 0:
		expected = m.revision
	case 1:
		expected, stale = m.revision+1+int64(random.IntN(3)), true
	}
	fails := func(want error, did func()) error {
		switch {
		case m.deleted:
			return store.ErrNotFound
		case stale:
			return store.ErrChanged
		case want == nil:
			m.revision++
			did()
		}
		return want
	}
	var got, want error
	ctx, account := t.Context(), f.acc.ID
	last := len(m.versions)
	switch random.IntN(7) {
	case 0, 1:
		html := fmt.Sprintf("html %d", step)
		want = fails(nil, func() { m.draft = html })
		_, got = f.UpdateTemplate(ctx, account, m.id, expected, store.TemplateChange{HTML: &html})
	case 2, 3:
		var none error
		if m.draft == "" {
			none = store.ErrNoDraft
		}
		want = fails(none, func() { m.versions, m.draft = append(m.versions, m.draft), "" })
		_, got = f.PublishTemplate(ctx, account, m.id, expected, "comment", map[string]string{"p": fmt.Sprint(step)})
	case 4:
		var refused error
		switch {
		case last == 0:
			refused = store.ErrNeverPublished
		case m.draft == "":
			refused = store.ErrNoDraft
		}
		want = fails(refused, func() { m.draft = "" })
		_, got = f.DiscardTemplate(ctx, account, m.id, expected)
	case 5:
		version := 1 + random.IntN(last+1)
		var missing error
		if version > last {
			missing = store.ErrNotFound
		}
		want = fails(missing, func() { m.draft = m.versions[version-1] })
		_, got = f.RestoreTemplate(ctx, account, m.id, expected, version)
	case 6:
		if random.IntN(4) != 0 {
			return
		}
		stale = false
		want = fails(nil, func() { m.deleted = true })
		got = f.DeleteTemplate(ctx, account, m.id)
	}
	if !errors.Is(got, want) {
		t.Fatalf("step %d: got %v, want %v (model %+v)", step, got, want, m)
	}
	checkTemplate(t, f, m)
}

func checkTemplate(t *testing.T, f *fixture, m *model) {
	t.Helper()
	got, err := f.Template(t.Context(), f.acc.ID, m.id)
	if m.deleted {
		if !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("a deleted template: got %v", err)
		}
	} else if err != nil || got.Content.HTML != m.shown() || got.HasDraft != (m.draft != "") || got.PublishedVersion != len(m.versions) || got.Revision != m.revision {
		t.Fatalf("got %+v (%v), want %+v", got, err, m)
	}
	for i, html := range m.versions {
		// A job that has the version keeps it, whatever becomes of the template.
		version, err := f.PinnedVersion(t.Context(), f.acc.ID, m.id, i+1)
		if err != nil || version.Content.HTML != html {
			t.Fatalf("version %d: got %+v (%v), want %q", i+1, version, err, html)
		}
	}
}

// TestTemplateChangesAtOnce changes and publishes one template concurrently: each success is a revision, and each
// version the content of one of them.
func TestTemplateChangesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		made := f.newTemplate(t, "busy", "first")
		var mu sync.Mutex
		written := map[string]bool{"first": true}
		var changes, published int64
		var lost int
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				for i := range 10 {
					seen, err := f.Template(t.Context(), f.acc.ID, "busy")
					if err != nil {
						t.Error(err)
						return
					}
					html := fmt.Sprintf("%d.%d", worker, i)
					publish := (worker+i)%3 == 0
					mu.Lock()
					written[html] = true
					mu.Unlock()
					if publish {
						_, err = f.PublishTemplate(t.Context(), f.acc.ID, made.ID, seen.Revision, "", nil)
					} else {
						_, err = f.UpdateTemplate(t.Context(), f.acc.ID, made.ID, seen.Revision, store.TemplateChange{HTML: &html})
					}
					mu.Lock()
					switch {
					case err == nil:
						changes++
						if publish {
							published++
						}
					case errors.Is(err, store.ErrChanged):
						lost++
					case !errors.Is(err, store.ErrNoDraft):
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		got, err := f.Template(t.Context(), f.acc.ID, made.ID)
		if err != nil || got.Revision != 1+changes || int64(got.PublishedVersion) != published {
			t.Errorf("revision %d and version %d (%v) after %d changes of which %d published; %d were refused", got.Revision, got.PublishedVersion, err, changes, published, lost)
		}
		for version := range published {
			found, err := f.PinnedVersion(t.Context(), f.acc.ID, made.ID, int(version)+1)
			if err != nil || !written[found.Content.HTML] {
				t.Errorf("version %d: %+v, %v", version+1, found, err)
			}
		}
	})
}

func TestTemplateSlugs(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first := f.newTemplate(t, "invoice", "x")
		again := store.NewTemplate{AccountID: f.acc.ID, Slug: "invoice", Name: "x", Content: store.TemplateContent{HTML: "y"}}
		if _, err := f.CreateTemplate(ctx, again); !errors.Is(err, store.ErrExists) {
			t.Errorf("a slug that is taken: got %v", err)
		}
		again.FreeSlug = true
		if got, err := f.CreateTemplate(ctx, again); err != nil || got.Slug != "invoice-2" {
			t.Errorf("another slug: got %q, %v", got.Slug, err)
		}
		taken := "invoice-2"
		if _, err := f.UpdateTemplate(ctx, f.acc.ID, first.ID, 0, store.TemplateChange{Slug: &taken}); !errors.Is(err, store.ErrExists) {
			t.Errorf("a change to a slug that is taken: got %v", err)
		}
		other, err := f.CreateAccount(ctx, "other@example.com", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Template(ctx, other.ID, first.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account's: got %v", err)
		}
		if _, err := f.PinnedVersion(ctx, other.ID, first.ID, 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account's version: got %v", err)
		}
		if err := f.DeleteTemplate(ctx, f.acc.ID, "invoice"); err != nil {
			t.Fatal(err)
		}
		again.FreeSlug = false
		if _, err := f.CreateTemplate(ctx, again); err != nil {
			t.Errorf("a slug of a deleted template: %v", err)
		}
	})
}

// TestTemplatesAreTakenBack deletes templates and takes them back: with their
// drafts, and only for a day.
func TestTemplatesAreTakenBack(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		draft, published := f.newTemplate(t, "draft", "only a draft"), f.newTemplate(t, "published", "first")
		if _, err := f.PublishTemplate(ctx, f.acc.ID, published.ID, 0, "", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := f.UndeleteTemplate(ctx, f.acc.ID, draft.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("one that was not deleted: got %v", err)
		}
		for _, id := range []string{draft.ID, published.ID} {
			if err := f.DeleteTemplate(ctx, f.acc.ID, id); err != nil {
				t.Fatal(err)
			}
		}
		other, err := f.CreateAccount(ctx, "other@example.com", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.UndeleteTemplate(ctx, other.ID, draft.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account's: got %v", err)
		}
		f.newTemplate(t, "draft", "took its slug")
		got, err := f.UndeleteTemplate(ctx, f.acc.ID, draft.ID)
		if err != nil || got.Slug != "draft-2" || got.Content.HTML != "only a draft" || !got.HasDraft {
			t.Errorf("got %+v, %v", got, err)
		}
		f.clock.Advance(store.UndeleteTime + time.Second)
		if _, err := f.UndeleteTemplate(ctx, f.acc.ID, published.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after a day: got %v", err)
		}
		if version, err := f.PinnedVersion(ctx, f.acc.ID, published.ID, 1); err != nil || version.Content.HTML != "first" {
			t.Errorf("its version: got %+v, %v", version, err)
		}
	})
}

func TestTemplatesAreListed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var slugs []string
		for i := range 5 {
			f.clock.Advance(time.Second)
			slug := fmt.Sprintf("list-%d", i)
			made := f.newTemplate(t, slug, "x")
			slugs = append([]string{slug}, slugs...)
			if i == 2 {
				if _, err := f.PublishTemplate(ctx, f.acc.ID, made.ID, 0, "", nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		var got []string
		filter := store.TemplateFilter{AccountID: f.acc.ID, List: store.List{Limit: 2}}
		for {
			page, err := f.Templates(ctx, filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				got = append(got, item.Slug)
				if string(item.Content.SampleData) != `{"a":1}` || item.Content.HTML != "" {
					t.Errorf("%s shows %+v", item.Slug, item.Content)
				}
			}
			if filter.Cursor = page.Next; filter.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, slugs) {
			t.Errorf("listed %v, want %v", got, slugs)
		}
		for _, test := range []struct {
			filter store.TemplateFilter
			want   int
		}{{store.TemplateFilter{State: "published"}, 1}, {store.TemplateFilter{State: "draft"}, 4}, {store.TemplateFilter{Search: "LIST-3"}, 1}, {store.TemplateFilter{Search: "template list_"}, 0}, {store.TemplateFilter{Category: "x"}, 0}} {
			test.filter.AccountID = f.acc.ID
			if page, err := f.Templates(ctx, test.filter); err != nil || len(page.Items) != test.want {
				t.Errorf("%+v: %d templates (%v), want %d", test.filter, len(page.Items), err, test.want)
			}
		}
	})
}

func TestPartials(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for _, html := range []string{"a", "b"} {
			if _, err := f.PutPartial(ctx, f.acc.ID, "head", html); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := f.Partial(ctx, f.acc.ID, "head"); err != nil || got.HTML != "b" {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := f.PutPartial(ctx, f.acc.ID, "large", string(make([]byte, store.MaxPartialBytes))); !errors.Is(err, store.ErrTooMany) {
			t.Errorf("too large: got %v", err)
		}
		if list, err := f.Partials(ctx, f.acc.ID); err != nil || len(list) != 1 {
			t.Errorf("got %+v, %v", list, err)
		}
		if err := f.DeletePartial(ctx, f.acc.ID, "head"); err != nil {
			t.Error(err)
		}
		if err := f.DeletePartial(ctx, f.acc.ID, "head"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a second time: got %v", err)
		}
	})
}
