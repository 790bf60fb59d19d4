package templates_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
)

// lab is the service, and a member of an account who calls it.
type lab struct {
	*templates.Service
	*apitest.Server

	member call.Caller
}

func newLab(t *testing.T) lab {
	t.Helper()
	t.Parallel()
	s := apitest.New(t, apitest.Options{Operations: operation.Rows})
	return lab{s.API.Templates, s, call.Caller{Account: s.Account, Kind: call.ByPerson}}
}

func letter(html string) templates.CreateInput {
	return templates.CreateInput{Name: "Letter", HTML: &html}
}

func (l lab) make(t *testing.T) templates.Record {
	t.Helper()
	made, err := templates.Submit(t.Context(), l.member, letter("<p>{{a}}</p>"), l.Create)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// refusedFor fails the test unless an error is the refusal of fields.
func refusedFor(t *testing.T, what string, err error, fields ...string) {
	t.Helper()
	var e *wire.Error
	if !errors.As(err, &e) || e.Code != wire.InvalidRequest {
		t.Errorf("%s: got %v, want it refused", what, err)
		return
	}
	var got []string
	for _, detail := range e.Details {
		got = append(got, detail.Field)
	}
	if !slices.Equal(got, fields) {
		t.Errorf("%s: refused for %v, want %v", what, got, fields)
	}
}

func TestSubmitHoldsPagesToTheRulesOfTheAPI(t *testing.T) {
	l := newLab(t)
	long, wrong := letter("x"), letter("x")
	long.Name, long.Slug = strings.Repeat("é", 201), "Not A Slug"
	wrong.Options = schema.Object{RawMessage: json.RawMessage(`{"formt":"A4"}`)}
	null := letter("x")
	null.SampleData = schema.Object{RawMessage: json.RawMessage(`{"a":"\u0000"}`)}
	for name, test := range map[string]struct {
		in     templates.CreateInput
		fields []string
	}{
		"nothing":           {templates.CreateInput{}, []string{"name", "html"}},
		"a long name":       {long, []string{"name", "slug"}},
		"an unknown option": {wrong, []string{"options.formt"}},
		"NUL in the data":   {null, []string{"sampleData"}},
		"no such layout":    {templates.CreateInput{FromGallery: "none"}, []string{"fromGallery"}},
	} {
		_, err := templates.Submit(t.Context(), l.member, test.in, l.Create)
		refusedFor(t, name, err, test.fields...)
	}
	_, err := templates.Submit(t.Context(), l.member, templates.RestoreInput{State: templates.State{Ref: templates.Ref{ID: "letter"}}}, l.Restore)
	refusedFor(t, "version 0", err, "version")
	_, err = templates.Check(t.Context(), templates.Query{State: "other"})
	refusedFor(t, "an unknown state", err, "state")
	if page, err := l.List(t.Context(), l.member, templates.Query{}); err != nil || len(page.Templates) > 0 {
		t.Errorf("the refused are there: %+v, %v", page, err)
	}
}

func TestReceiveReadsJSONAsTheAPIDoes(t *testing.T) {
	l := newLab(t)
	made := l.make(t)
	update := func(etag, body string) (templates.Record, error) {
		return templates.Receive(t.Context(), l.member, []schema.Value{{Name: "id", Text: made.ID}, {Name: "If-Match", Text: etag}}, strings.NewReader(body), l.Update)
	}
	_, err := update("", `{"html":"x","htm":"y"}`)
	refusedFor(t, "an unknown field", err, "htm")
	_, err = update("", `{"html":"x","html":"y"}`)
	refusedFor(t, "a field twice", err, "html")
	changed, err := update(made.ETag(), `{"html":"<p>new</p>","category":"bills","sampleData":{"n": 12345678901234567890}}`)
	if err != nil || *changed.HTML != "<p>new</p>" || changed.Category != "bills" || string(changed.SampleData) != `{"n": 12345678901234567890}` || changed.ETag() == made.ETag() {
		t.Fatalf("changed %+v, %v", changed, err)
	}
	for _, etag := range []string{made.ETag(), "of another kind"} {
		_, err := update(etag, `{"html":"late"}`)
		var e *wire.Error
		if !errors.Is(err, store.ErrChanged) || !errors.As(err, &e) || e.Code != wire.PreconditionFailed {
			t.Errorf("a late change with %s: got %v", etag, err)
		}
	}
	cleared, err := update("", `{"category":null}`)
	if err != nil || cleared.Category != "" || *cleared.HTML != "<p>new</p>" {
		t.Errorf("cleared %+v, %v", cleared, err)
	}
	named, err := templates.Submit(t.Context(), l.member, templates.UpdateInput{ID: made.ID, Name: new("Bill")}, l.Update)
	if err != nil || named.Name != "Bill" || *named.HTML != "<p>new</p>" {
		t.Errorf("named %+v, %v", named, err)
	}
}

// TestSuspendedAccountMayOnlyRead calls every method that changes or costs something.
func TestSuspendedAccountMayOnlyRead(t *testing.T) {
	l := newLab(t)
	made := l.make(t)
	suspended := l.member
	suspended.Account.Suspended = true
	state := templates.State{Ref: templates.Ref{ID: made.ID}}
	for name, try := range map[string]func(context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := templates.Submit(ctx, suspended, letter("x"), l.Create)
			return err
		},
		"discard": func(ctx context.Context) error {
			_, err := templates.Submit(ctx, suspended, state, l.Discard)
			return err
		},
		"update": func(ctx context.Context) error {
			_, err := templates.Receive(ctx, suspended, []schema.Value{{Name: "id", Text: made.ID}}, strings.NewReader(`{"html":"x"}`), l.Update)
			return err
		},
		"preview": func(ctx context.Context) error {
			_, err := l.Preview(ctx, call.PreviewRequest{Caller: suspended, Input: []byte(`{"html":"x"}`)})
			return err
		},
		"fill": func(ctx context.Context) error { _, err := l.Fill(ctx, suspended, []byte(`{"html":"x"}`)); return err },
		"run": func(ctx context.Context) error {
			return l.Run(ctx, "templates.preview", call.Request{Caller: suspended, Body: strings.NewReader(`{"html":"x"}`)}, func(*call.Outcome) error { return nil })
		},
	} {
		var e *wire.Error
		if err := try(t.Context()); !errors.As(err, &e) || e.Code != wire.AccountSuspended {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
	if found, err := l.Get(t.Context(), suspended, templates.Ref{ID: "letter"}); err != nil || !reflect.DeepEqual(found, made) {
		t.Errorf("reading: got %+v, %v", found, err)
	}
}

func TestAccountsDoNotSeeEachOther(t *testing.T) {
	l := newLab(t)
	made := l.make(t)
	if _, err := l.Server.Store.PutPartial(t.Context(), l.Account.ID, "head", "x"); err != nil {
		t.Fatal(err)
	}
	account, _, _ := l.NewAccount(t, "mallory@example.com")
	mallory := call.Caller{Account: account, Kind: call.ByPerson}
	ref := templates.Ref{ID: made.ID}
	state := templates.State{Ref: ref}
	for name, err := range map[string]error{
		"get":            second(l.Get(t.Context(), mallory, ref)),
		"versions":       second(l.Versions(t.Context(), mallory, ref)),
		"version":        second(l.Version(t.Context(), mallory, templates.VersionRef{Ref: ref, Version: 1})),
		"update":         second(l.Update(t.Context(), mallory, templates.UpdateInput{ID: made.ID, HTML: new("x")})),
		"discard":        second(l.Discard(t.Context(), mallory, state)),
		"restore":        second(l.Restore(t.Context(), mallory, templates.RestoreInput{State: state, Version: 1})),
		"duplicate":      second(l.Duplicate(t.Context(), mallory, templates.DuplicateInput{Ref: ref})),
		"publish":        second(l.Publish(t.Context(), mallory, templates.PublishInput{State: state})),
		"delete":         second(l.Delete(t.Context(), mallory, ref)),
		"partial":        second(l.Partial(t.Context(), mallory, templates.PartialRef{Name: "head"})),
		"delete partial": second(l.DeletePartial(t.Context(), mallory, templates.PartialRef{Name: "head"})),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: got %v, want store.ErrNotFound", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
