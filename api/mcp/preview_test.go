package mcp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

type paperInput struct {
	schema.Common
	Kind string `json:"kind,omitempty" jsonschema:"enum=application/pdf,enum=text/plain" jsonschema_description:"What the result says that it is."`
}

// paper is an operation whose results have the type of PDFs, on a server that renders nothing.
func paper() schema.Definition[*operation.Deps] {
	return schema.TypedDefinition[*operation.Deps, paperInput]{
		Info:    schema.Info{Name: "test.paper", Summary: "Answer with a paper", Price: apitest.EchoPrice, Produces: []string{"application/pdf", "text/plain"}},
		Example: paperInput{},
		Run: func(_ context.Context, _ *operation.Deps, in *paperInput) (schema.Result, error) {
			if in.Kind == "" {
				in.Kind = "application/pdf"
			}
			return schema.Result{Stem: "paper", Extension: ".pdf", ContentType: in.Kind, Body: spool.FromBytes([]byte("%PDF-1.7"))}, nil
		},
	}
}

// TestPreviewsFailAlone shows that a call does not fail, and costs no more, if its image cannot be rendered.
func TestPreviewsFailAlone(t *testing.T) {
	t.Parallel()
	plain, s := newServer(t, open, apitest.Echo(nil), paper()), newServer(t, open, apitest.Echo(nil), paper())
	use(t, plain, "test_paper", `{}`)
	for arguments, want := range map[string]string{
		`{"preview":true}`:                     "No preview. Previews are unavailable on this server. Retry in 5 seconds.",
		`{"preview":true,"kind":"text/plain"}`: "No preview. Results of type text/plain have no preview.",
		`{"preview":false}`:                    "",
		`{"preview":null}`:                     "",
	} {
		s := newServer(t, open, apitest.Echo(nil), paper())
		got := use(t, s, "test_paper", arguments)
		var notes []string
		for _, content := range got.Content {
			if content.Type == "text" && !strings.HasPrefix(content.Text, "{") {
				notes = append(notes, content.Text)
			}
			if content.Type == "image" {
				t.Errorf("%s: a server that draws nothing shows a picture", arguments)
			}
		}
		if note := strings.Join(notes, "\n"); got.IsError || note != want {
			t.Errorf("%s: %+v, want %q", arguments, got, want)
		}
		if last := got.Content[len(got.Content)-1]; last.Text != string(got.StructuredContent) {
			t.Errorf("%s: the last content is %+v", arguments, last)
		}
		if effects, want := s.Effects(t), plain.Effects(t); !strings.Contains(arguments, "async") && !slices.Equal(effects, want) {
			t.Errorf("%s leaves %q, without it %q", arguments, effects, want)
		}
	}
	for tool, want := range map[string]string{"test_paper": "must be true or false", "test_echo": "known field"} {
		f := use(t, s, tool, `{"text":"a","preview":"yes"}`).failure(t)
		if f.Code != wire.InvalidRequest || len(f.Details) == 0 || !slices.ContainsFunc(f.Details, func(d wire.Detail) bool { return d.Field == "preview" && strings.Contains(d.Message, want) }) {
			t.Errorf("%s: a preview that is no boolean gets %+v", tool, f)
		}
	}
	if left := s.Effects(t); len(left) > 0 {
		t.Errorf("refused calls leave %q", left)
	}
}

// TestPreviewsOfJobs waits for a job that has an image of its result.
func TestPreviewsOfJobs(t *testing.T) {
	t.Parallel()
	s := newServer(t, open, apitest.Echo(nil), paper())
	s.Work(t)
	var job struct{ ID, Status string }
	begun := use(t, s, "test_paper", `{"async":true,"preview":true}`)
	begun.into(t, &job)
	if len(begun.Content) != 2 || begun.Content[0].Text != "The preview is not ready. Send preview: true to jobs_wait." {
		t.Errorf("it begins with %+v", begun.Content)
	}
	for job.Status == "processing" {
		got := use(t, s, "jobs_wait", `{"id":"`+job.ID+`","preview":true}`)
		got.into(t, &job)
		if job.Status == "completed" && (len(got.Content) != 3 || got.Content[1].Text != "No preview. Previews are unavailable on this server. Retry in 5 seconds.") {
			t.Errorf("it ends with %+v", got.Content)
		}
	}
	if job.Status != "completed" {
		t.Errorf("the job is %+v", job)
	}
	if f := use(t, s, "jobs_wait", `{"id":"`+job.ID+`","preview":1}`).failure(t); len(f.Details) != 1 || f.Details[0].Field != "preview" {
		t.Errorf("a preview that is no boolean gets %+v", f)
	}
}

// TestPicturesOfResults are read by the id of a result of the account's own, and of
// nothing else.
func TestPicturesOfResults(t *testing.T) {
	t.Parallel()
	s := newServer(t, open, paper())
	var made, sent struct{ ID string }
	use(t, s, "test_paper", `{}`).into(t, &made)
	use(t, s, "files_upload", `{"file":"JVBERi0xLjc=","filename":"a.pdf"}`).into(t, &sent)
	why := func(id string) string {
		a := ask(t, s, "resources/read", `{"uri":"relaypdf://files/`+id+`/preview"}`)
		if a.Error == nil || a.Error.Code != -32602 {
			t.Fatalf("a server that draws nothing shows %s, %+v", a.Result, a.Error)
		}
		return a.Error.Message
	}
	const none = "The resource does not exist, or belongs to another account."
	before := s.Effects(t)
	if got := why(made.ID); got != "Previews are unavailable on this server. Retry in 5 seconds." {
		t.Errorf("a result: %q", got)
	}
	if got := why(sent.ID); got != none {
		t.Errorf("an upload: %q", got)
	}
	_, _, s.Secret = s.NewAccount(t, "other@example.com")
	if got := why(made.ID); got != none {
		t.Errorf("a result of others: %q", got)
	}
	if got := s.Effects(t); !slices.Equal(got, before) {
		t.Errorf("they leave %q, before it was %q", got, before)
	}
}

// TestPreviewsAreOffered by both transports, for PDFs and images.
func TestPreviewsAreOffered(t *testing.T) {
	t.Parallel()
	l, s := startLocal(t, nil, operation.Rows...)
	offering := func(list json.RawMessage) (names []string) {
		var answer struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Properties map[string]json.RawMessage }
			}
		}
		if err := json.Unmarshal(list, &answer); err != nil || len(answer.Tools) == 0 {
			t.Fatalf("%v in %s", err, list)
		}
		for _, tool := range answer.Tools {
			if tool.InputSchema.Properties["preview"] != nil {
				names = append(names, tool.Name)
			}
		}
		return names
	}
	there := offering(ask(t, s, "tools/list", "").Result)
	for name, want := range map[string]bool{
		"pdf_create": true, "images_create": true, "pdf_merge": true, "barcodes_create": true, "convert_create": true, "jobs_wait": true,
		"pdf_text": false, "pdf_info": false, "zip_create": false, "templates_generate": false, "account_get": false, "jobs_list": false,
	} {
		if slices.Contains(there, name) != want {
			t.Errorf("%s offers a preview is %v, want %v", name, !want, want)
		}
	}
	if here := offering(l.ask(t, "tools/list", `{}`).Result); !slices.Equal(here, there) {
		t.Errorf("on this machine %v offer previews, over HTTP %v", here, there)
	}
}

// TestLocalPreviews requests them from the service, which returns the reason why there are none.
func TestLocalPreviews(t *testing.T) {
	t.Parallel()
	l, s := startLocal(t, nil, apitest.Echo(nil), paper())
	plain := newServer(t, open, apitest.Echo(nil), paper())
	use(t, plain, "test_paper", `{}`)
	got := l.use(t, "test_paper", `{"preview":true}`)
	if got.IsError || len(got.Content) != 3 || got.Content[1].Text != "No preview. Previews are unavailable on this server. Retry in 5 seconds." {
		t.Errorf("got %+v", got)
	}
	if effects, want := s.Effects(t), plain.Effects(t); !slices.Equal(effects, want) {
		t.Errorf("it leaves %q, without a preview %q", effects, want)
	}
}
