package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/web"
	"github.com/relaypdf/relaypdf/web/docs"
)

// TestCustomPages: the pages of the operator that are there are served and linked from public pages, the sign-up form
// and the sitemap; the others are not.
func TestCustomPages(t *testing.T) {
	h := sqliteHouse(t, func(cfg *web.Config) {
		cfg.CustomPages = []docs.CustomPage{{Path: "/terms", Name: "Terms", Title: "Terms & conditions", HTML: "<p>Pay.</p>"}, {Path: "/contact", Name: "Contact", Title: "Contact", HTML: "<p>Write.</p>"}}
	})
	v := h.visitor(t)
	if terms := v.get("/terms"); terms.status != http.StatusOK || !strings.Contains(terms.body, "<h1>Terms &amp; conditions</h1>") || !strings.Contains(terms.body, "<p>Pay.</p>") {
		t.Errorf("got %+v", terms)
	}
	for path, more := range map[string]string{"/pricing": `<a href="/contact">Contact</a>`, "/signup": "By signing up you accept the", "/sitemap.xml": "/contact</loc>"} {
		page := v.get(path).body
		if !strings.Contains(page, "/terms") || !strings.Contains(page, more) || strings.Contains(page, "/privacy") {
			t.Errorf("%s has not the links to the pages: %s", path, page)
		}
	}
	if privacy := v.get("/privacy"); privacy.status != http.StatusNotFound {
		t.Errorf("a page without a file: status %d", privacy.status)
	}
}

// TestNoCustomPages: without them, nothing refers to them.
func TestNoCustomPages(t *testing.T) {
	v := sqliteHouse(t, nil).visitor(t)
	for _, path := range []string{"/pricing", "/signup", "/sitemap.xml"} {
		if page := v.get(path).body; strings.Contains(page, "/terms") || strings.Contains(page, "/contact") || strings.Contains(page, "By signing up") {
			t.Errorf("%s has links to pages that are not there: %s", path, page)
		}
	}
	if terms := v.get("/terms"); terms.status != http.StatusNotFound {
		t.Errorf("status %d", terms.status)
	}
}
