package chrome

import (
	"net/http"
	"testing"
)

// TestUnsupportedCSSIsReported prints documents with constructs of paged media that have no effect, from each kind of
// source.
func TestUnsupportedCSSIsReported(t *testing.T) {
	s := newSite(t)
	const head = `<!doctype html><title>T</title>` + "\n"
	s.page("linked.test/", head+`<link rel=stylesheet href=http://other.test/a.css><p>x`)
	s.page("inline.test/", head+"<style>\np { float: footnote }</style><p>x")
	sheet := func(path, text string) {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/css")
			w.Write([]byte(text))
		})
	}
	sheet("other.test/a.css", `@import "b.css"; p { color: red }`)
	sheet("other.test/b.css", "p {}\n\np { position: running(x) }")
	p := startWithSite(t, s)
	for _, c := range []struct {
		name string
		job  Job
		want []string
	}{
		{"inline", Job{HTML: head + "<style>p{}</style>\n<style>p { color: red;\nfloat: footnote }</style><p style='string-set: \"x\"'>x"}, []string{"float: footnote has no effect (line 4)"}},
		{"generated", Job{HTML: "<style>p { float: footnote }</style><p>x", Generated: true}, []string{"float: footnote has no effect"}},
		{"script", Job{RenderMode: ModeRealm, HTML: `<p>x<script>document.head.append(Object.assign(document.createElement('style'), {textContent: 'p { bookmark-state: open; float: footnote }'}))</script>`}, []string{"float: footnote"}},
		{"page", Job{URL: "http://inline.test/"}, []string{"float: footnote has no effect (line 3)"}},
		{"linked", Job{URL: "http://linked.test/"}, []string{"http://other.test/b.css position: running() has no effect (line 3)"}},
		{"attribute", Job{HTML: `<p style="float: footnote">x`}, []string{"float: footnote in a style attribute"}},
		{"data URL", Job{RenderMode: ModeOnce, HTML: `<link rel=stylesheet href="data:text/css,p%7Bfloat%3Afootnote%7D"><p>x`}, []string{"float: footnote"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.job.Account = "a"
			doc, err := p.PDF(t.Context(), c.job, PDF{})
			if err != nil {
				t.Fatal(err)
			}
			defer doc.Body.Close()
			for _, text := range c.want {
				warned(t, doc.Warnings, CSSUnsupported, text)
			}
		})
	}
	doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: `<style>@page { @top-left { content: counter(page) } } h1 { counter-reset: x }</style><h1>Strings and bookmarks</h1>`}, PDF{})
	if err != nil {
		t.Fatal(err)
	}
	doc.Body.Close()
	if len(doc.Warnings) > 0 {
		t.Errorf("warnings of a document without such constructs: %v", doc.Warnings)
	}
}
