package chrome

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestWithoutLoads(t *testing.T) {
	for template, want := range map[string]string{
		`<p class="title">a &lt; b</p>`:                                       `<p class="title">a &lt; b</p>`,
		`<link rel=stylesheet href="https://x.test/a.css"><b>x</b>`:           `<b>x</b>`,
		`<style>@import "https://x.test/a.css"; p > b { color: red }</style>`: `<style> p > b { color: red }</style>`,
		`<style>@font-face { src: url( 'https://x.test/a.woff2' ) }</style>`:  `<style>@font-face { src: url(data:,) }</style>`,
		`<style>@font-face { src: url(data:font/woff2;base64,AA==) }</style>`: `<style>@font-face { src: url(data:font/woff2;base64,AA==) }</style>`,
		`<rect fill="url(#g)"/><rect fill="url(https://x.test/#g)"/>`:         `<rect fill="url(#g)"/><rect fill="url(data:,)"/>`,
		`<p>the function url(x) in text</p>`:                                  `<p>the function url(x) in text</p>`,
		`<img src="data:image/png;base64,AA=="><!-- @import -->`:              `<img src="data:image/png;base64,AA=="><!-- @import -->`,
	} {
		if got := withoutLoads(template); got != want {
			t.Errorf("withoutLoads(%s)\n got %s\nwant %s", template, got, want)
		}
	}
}

// TestHiddenLoads holds spellings that only a browser reads as loads, and texts
// that look like them.
func TestHiddenLoads(t *testing.T) {
	for template, want := range map[string]bool{
		`<style>@\69mport "https://x.test/a.css";</style>`:                                 true,
		`<style>@\000069 mport "https://x.test/a.css";</style>`:                            true,
		`<style>@font-face { src: u\72l(https://x.test/a.woff2) }</style>`:                 true,
		`<style>@font-face { src: \55\52\4c('https://x.test/a.woff2') }</style>`:           true,
		`<style>@font-face { src: ur\l(https://x.test/a.woff2) }</style>`:                  true,
		`<rect fill="u&#114;l(https://x.test/#g)"/>`:                                       true,
		`<b style="background:u\72l(//x.test/a)">x</b>`:                                    true,
		`<b style="background:u&#92;72l(//x.test/a)">x</b>`:                                true,
		`<style>@font-face { src: u\72l(data:font/woff2;base64,AA==) }</style>`:            false,
		`<p>in text, u\72l(x) and @\69mport and &#64;import load nothing &amp; are ok</p>`: false,
		`<style>b::before { content: "\201C" } i::after { content: "\110000" }</style>`:    false,
		`<rect fill="url(#g)" data-a="&amp;"/>`:                                            false,
		`<style>b { content: "\\" }</style><b>&copy;</b>`:                                  false,
	} {
		if got := loads(withoutLoads(template)); got != want {
			t.Errorf("loads(%s) is %v, want %v", template, got, want)
		}
		var fault *HeaderError
		if _, err := (PDF{Footer: template}).normalized(); errors.As(err, &fault) != want || want && fault.Name != "footer" {
			t.Errorf("%s: a footer's error is %v", template, err)
		}
	}
}

// Chromium's renderer crashes on a header that loads a style sheet or a font.
func TestHeaderThatLoads(t *testing.T) {
	p := startPool(t, nil)
	for _, template := range []string{
		`<link rel=stylesheet href="https://x.test/a.css"><b>Head</b>`,
		`<style>@import url(https://x.test/a.css);</style><b>Head</b>`,
		`<style>@font-face { font-family: f; src: url(https://x.test/a.woff2) } b { font-family: f, serif }</style><b>Head</b>`,
		`<svg width=9 height=9><rect width=9 height=9 fill="url(https://x.test/a.svg#g)"/></svg><b>Head</b>`,
	} {
		doc, err := p.PDF(context.Background(), Job{Account: "a", HTML: "<p>Body"}, PDF{MarginTop: 1, Header: template})
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if text := pdfText(t, doc); !strings.Contains(text, "Head") {
			t.Errorf("%s: text %q", template, text)
		}
	}
	if got := p.Stats().Crashes; got != 0 {
		t.Errorf("%d crashes, want none", got)
	}
}
