package chrome

import (
	"net/http"
	"strings"
	"testing"
)

// TestImagesThatCannotBeShown: an image that loads and cannot be drawn is missing from the page, so there is a warning.
func TestImagesThatCannotBeShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("site.test/login", "<h1>Log in</h1>")
	s.page("site.test/page", `<p>PAGE<img src="/login"><img src="/none"><img src="/logo.svg">`)
	s.mux.HandleFunc("site.test/logo.svg", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><path d="M0 0h4v4z"/></svg>`))
	})
	p := startWithSite(t, s)
	warnings, _ := printedWith(t, p, Job{URL: "http://site.test/page"})
	warned(t, warnings, ResourceFailed, "http://site.test/login", "is not an image")
	if len(warnings) != 2 { // the missing one is told once
		t.Errorf("warnings %v, want 2", warnings)
	}

	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for html, broken := range map[string]bool{
		`<img src="data:image/png;base64,AAAA">`:                                   true,
		`<img src="data:image/png;base64,` + pixel[:40] + `">`:                     true,
		`<img src="data:image/jpeg,text">`:                                         true,
		`<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`:                   true, // announces a frame that is not there
		`<img src="data:image/svg+xml,<svg><text>x</text></svg>">`:                 true, // has no namespace
		`<img src="data:image/webp;base64,` + pixel + `">`:                         false,
		`<img src="data:image/png;base64,` + pixel + `">`:                          false,
		`<img hidden src="data:image/png;base64,AAAA">`:                            false,
		`<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>">`: false,
	} {
		for _, mode := range []RenderMode{ModeInline, ModeRealm, ModeOnce} {
			warnings, _ := printedWith(t, p, Job{HTML: "<p>x" + html, RenderMode: mode})
			if broken {
				warned(t, warnings, ResourceFailed, "is not an image")
			} else if len(warnings) > 0 {
				t.Errorf("%s: warnings %v, want none", html, warnings)
			}
		}
	}
}

// TestAlternativesOfBrokenImages: the browser draws the alternative text of an image that it cannot show, outside of
// the structure.
func TestAlternativesOfBrokenImages(t *testing.T) {
	t.Parallel()
	p := startPool(t, func(*Config) {})
	for html, want := range map[string]string{
		`<img alt="Our logo" src="data:image/png;base64,AAAA">`:         "Our logo",
		`<p>x<img alt="Our logo" src="https://site.test/none">`:         "Our logo",
		`<img alt="" src="data:image/png;base64,AAAA">`:                 "",
		`<img aria-hidden=true alt=x src="data:image/png;base64,AAAA">`: "",
	} {
		for _, mode := range []RenderMode{ModeInline, ModeOnce} {
			doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: html, RenderMode: mode}, PDF{Tagged: true, Untagged: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := doc.Body.Close(); err != nil {
				t.Error(err)
			}
			if want == "" && len(doc.Untagged) == 0 {
				continue
			}
			if len(doc.Untagged) != 1 || doc.Untagged[0].Text != want || !strings.Contains(doc.Untagged[0].Problem, "alternative text") {
				t.Errorf("%s: untagged %+v, want %q", html, doc.Untagged, want)
			}
		}
	}
}
