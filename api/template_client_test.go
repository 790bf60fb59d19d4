package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestTemplateMethodsOfPublishedClients sends the template requests of the published PHP and Java clients: PHP
// writes an empty map as an empty array and names the engine, Java writes every field without a value as null.
func TestTemplateMethodsOfPublishedClients(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]struct{ create, patch, validate, preview, generate, pdf, empty string }{
		"php": {
			create:   `{"name":"Client","html":"<p>{{name}}</p>","engine":"handlebars","sampleData":[],"options":[]}`,
			patch:    `{"html":"<p>two {{name}}</p>","engine":"handlebars","options":[]}`,
			validate: `{"html":"<p>{{name}}</p>","engine":"handlebars","sampleData":[]}`,
			preview:  `{"templateId":"client","engine":"handlebars","sampleData":{"name":"Ada"},"options":[],"response":"binary"}`,
			generate: `{"prompt":"a bill","sampleData":[],"options":[],"response":"binary"}`,
			pdf:      `{"templateId":"client","templateVersion":1,"templateData":{"name":"Ada"},"options":[],"response":"binary"}`,
			empty:    `[]`,
		},
		"java": {
			create:   `{"name":"Client","slug":null,"html":"<p>{{name}}</p>","description":null,"category":null,"engine":"handlebars","sampleData":null,"options":null,"fromGallery":null}`,
			patch:    `{"html":"<p>two {{name}}</p>","engine":"handlebars","description":null,"category":null}`,
			validate: `{"html":"<p>{{name}}</p>","engine":"handlebars","sampleData":null,"strict":null}`,
			preview:  `{"templateId":"client","html":null,"engine":"handlebars","sampleData":null,"templateData":{"name":"Ada"},"options":null,"strict":null,"filename":null,"response":null,"callbackUrl":null}`,
			generate: `{"prompt":"a bill","sampleData":null,"options":null,"quote":null,"quoteId":null,"filename":null,"response":null,"callbackUrl":null}`,
			pdf:      `{"templateId":"client","templateVersion":1,"templateData":{"name":"Ada"},"strict":false,"html":null,"url":null,"markdown":null,"options":null,"filename":null,"response":null,"callbackUrl":null}`,
			empty:    `{}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newGenerateLab(t, storetest.SQLite(t), llm.OpenAI, generatePatience)
			send := func(want int, method, path, body string) apitest.Response {
				t.Helper()
				got := l.Send(t, apitest.Request{Method: method, Path: templatesPath + path, Body: body})
				if got.Status != want {
					t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, got.Status, got.Body, want)
				}
				return got
			}
			made := decode[wire.Template](t, send(http.StatusCreated, "POST", "", client.create))
			if made.Slug != "client" || string(made.SampleData) != "{}" || string(made.Options) != "{}" || made.Engine != "handlebars" {
				t.Errorf("made %+v", made)
			}
			send(200, "GET", "/client", "")
			send(200, "GET", "?limit=10", "")
			send(200, "POST", "/client/publish", client.empty)
			changed := decode[wire.Template](t, send(200, "PATCH", "/client", client.patch))
			if !changed.HasDraft || changed.Description != "" {
				t.Errorf("changed %+v", changed)
			}
			valid := decode[wire.TemplateValidation](t, send(200, "POST", "/validate", client.validate))
			if !valid.Valid || strings.Join(valid.Variables, " ") != "name" {
				t.Errorf("validated %+v", valid)
			}
			for path, want := range map[string]string{templatesPath + "/preview": "two Ada", "/v1/pdf": "Ada"} {
				body := client.preview
				if path == "/v1/pdf" {
					body = client.pdf
				}
				pdf := l.Send(t, apitest.Request{Path: path, Body: body}).OK(t)
				if got := strings.Join(strings.Fields(pdfText(t, []byte(pdf.Body))), " "); got != want {
					t.Errorf("%s says %q, want %q", path, got, want)
				}
			}
			if got := send(200, "POST", "/generate", client.generate); !strings.Contains(got.Body, `"html":"`) || !strings.Contains(got.Body, `"Ada"`) {
				t.Errorf("generated %s", got.Body)
			}
			copied := decode[wire.Template](t, send(http.StatusCreated, "POST", "/client/duplicate", client.empty))
			send(200, "POST", "/client/discard", client.empty)
			send(200, "GET", "/client/versions", "")
			send(200, "GET", "/client/versions/1", "")
			send(200, "POST", "/client/restore", `{"version":1}`)
			for _, id := range []string{copied.ID, made.ID} {
				send(200, "DELETE", "/"+id, "")
			}
			l.Send(t, apitest.Request{Path: "/v1/pdf", Body: client.pdf}).Refused(t, wire.NotFound)
		})
	}
}
