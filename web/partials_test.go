package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/store"
)

const partialsPath = templatesPath + "/partials"

// TestPartials checks partials of templates: the templates that include them, missing ones, and the effect of
// deleting them.
func TestPartials(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		v.sees(partialsPath, "No partials yet", "Create partial")
		account := h.mayas(t).ID
		for name, html := range map[string]string{"head": "<h1>{{> mark}}</h1>", "mark": "<b>M</b>", "alone": "<hr>"} {
			if _, err := h.PutPartial(t.Context(), account, name, html); err != nil {
				t.Fatal(err)
			}
		}
		for name, html := range map[string]string{"Bill": "{{~> head}}{{!-- {{> alone}} --}}", "Letter": "{{> 'head'}}{{#> lost}}x{{/lost}}", "Plain": "<p>head</p>"} {
			if _, err := h.CreateTemplate(t.Context(), store.NewTemplate{AccountID: account, Slug: strings.ToLower(name), Name: name, Content: store.TemplateContent{HTML: html}}); err != nil {
				t.Fatal(err)
			}
		}
		a := v.sees(partialsPath, "head 2 templates", "mark 1 partial", "alone not used", "A partial is used but does not exist: lost")
		if strings.Contains(a.body, ">Plain<") {
			t.Error("a template that shows none is told of")
		}
		v.sees(partialsPath+"/head", "Bill", "Letter", "mark", "{{&gt; head}}")
		v.sees(partialsPath+"/alone", "No template or partial uses it.")
		v.sees(partialsPath+"/head/delete", "Bill", "Letter", "cannot be previewed or published without it")
		if a := v.get(partialsPath + "/nothing"); a.status != http.StatusNotFound {
			t.Errorf("a partial that is not there: got status %d", a.status)
		}
		for want, form := range map[string]url.Values{
			"A partial with this name already exists": {"name": {"head"}, "html": {"x"}},
			"Name is required":                        {"name": {""}, "html": {"kept &"}},
			"HTML is required":                        {"name": {"new"}, "html": {""}},
		} {
			if a := v.post(partialsPath, http.StatusUnprocessableEntity, form); !strings.Contains(textOf(a.body), want) {
				t.Errorf("%v: got %s", form, textOf(a.body))
			}
		}
		v.post(partialsPath+"/alone/delete", http.StatusSeeOther, url.Values{})
		v.sees(partialsPath, "Partial “alone” deleted.")
		if _, err := h.Partial(t.Context(), account, "alone"); err == nil {
			t.Error("it is still there")
		}
		if mallory := h.join(t, "mallory@example.com"); mallory.get(partialsPath+"/head").status != http.StatusNotFound ||
			mallory.do(http.MethodPost, partialsPath+"/head/delete", url.Values{}).status != http.StatusNotFound {
			t.Error("another account's member finds it")
		}
	})
}

// TestDescribeWithoutAProvider: the editor shows that, and so does its route.
func TestDescribeWithoutAProvider(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	path := v.newTemplate("Letter")
	v.sees(path, "Generate with AI", "No AI provider is configured on this server")
	if a := v.send(path+"/describe", `{"prompt":"a bill","quote":true}`); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "ai_unavailable") {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if a := v.send(path+"/describe", `{"prompt":`); a.status != http.StatusBadRequest {
		t.Errorf("no JSON: got %d %s", a.status, a.body)
	}
}
