package render

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// TestUntaggedTextIsNamed: text that Chromium leaves out of the structure prevents the claim, with its element and page.
func TestUntaggedTextIsNamed(t *testing.T) {
	t.Parallel()
	a := start(t, Config{}).For("untagged")
	const style = `.a::after{content:attr(data-x)}.b::before{content:"New \"offer\""}.c::before{content:"New" / ""}.d::before{content:counter(n) ". ★"}`
	const head = `<!doctype html><html lang=en><title>T</title><style>` + style + `.f::before{content:"Blurred";filter:blur(1px)}@media print{.e::after{content:"Printed"}}@page{@top-left{content:"Running head"}}</style><h1>T</h1>`
	const suffix = ` The file cannot claim ua-1, a-2a.`
	const generated = `: Screen readers cannot read text that CSS generates. Write the text in the HTML, or mark decoration with content: "…" / "".` + suffix
	const frame = `: Screen readers cannot read the content of a frame. Put the content into the document itself.` + suffix
	const canvas = `Screen readers cannot read a canvas. Describe it in aria-label, or mark decoration with aria-hidden="true".` + suffix
	const lacking = `The structure lacks the text, so screen readers cannot read it. Remove what hides it, such as inert, or simplify its style, in @media print.` + suffix
	const blurred = `its filter blur(1px) turns its text into an image, which cannot be searched, copied or redacted. Remove the filter in @media print`
	const draw = `<script>document.querySelector('canvas').getContext('2d').fillText('Lost', 9, 20)</script>`
	for body, want := range map[string][]string{
		`<p class=c>x<p class=d>y<p class=a aria-hidden=true data-x=Hidden>z<ol><li>one</ol><q>quote</q>`: nil,
		`<p class=a data-x=Amount>x`:                     {`page 1, p.a::after "Amount"` + generated},
		`<p style="break-after:page">x<p class=b id=i>y`: {`page 2, p#i::before "New \"offer\""` + generated},
		`<p class=e>x`: {`page 1, p.e::after "Printed"` + generated},
		`<iframe srcdoc="<p>In the frame</p>"></iframe>`:            {`page 1, iframe "In the frame"` + frame},
		`<div style="filter:drop-shadow(0 1px 2px red)">Text</div>`: nil,
		`<div style="color:red;filter:grayscale(1)">Lost</div>`: {
			`div: its filter grayscale(1) turns its text into an image, which cannot be searched, copied or redacted. Remove the filter in @media print, or apply it to images only`,
			`div "Lost": The browser turns the text into an image because of its filter grayscale(1). Remove the filter in @media print, or apply it to images only.` + suffix,
		},
		`<p inert>Not found`:                  {`p "Not found": ` + lacking},
		`<p><span inert>Part</span> of it`:    {`span "Part": ` + lacking},
		`<p style="display:none" inert>x<p>y`: nil,
		`<p class=f>x`:                        {`p.f::before: ` + blurred, `p.f::before: The browser turns the text into an image because of its filter blur(1px). Remove the filter in @media print.` + suffix, `p.f::before "Blurred"` + generated},
		`<canvas class=c></canvas>` + draw:    {`canvas.c: ` + canvas},
		`<canvas id=c></canvas>` + draw: { // Chromium has a figure for it.
			`page 1, Figure 1: An image has no alternative text. Set alt (aria-label for SVG), or alt="" for decoration. The file cannot claim ua-1.`, `canvas#c: ` + canvas,
		},
		`<canvas id=c>fallback</canvas>` + draw:                 {`canvas#c: ` + canvas},
		`<canvas aria-label="A chart"></canvas>` + draw:         nil,
		`<canvas aria-hidden=true></canvas>` + draw:             nil,
		`<canvas role=presentation></canvas>` + draw:            nil,
		`<canvas hidden></canvas>` + draw:                       nil,
		`<canvas></canvas><script>1</script><p>x`:               nil,
		`<iframe srcdoc=""></iframe><p>x`:                       nil,
		`<iframe hidden srcdoc="<p>In the frame</p>"></iframe>`: nil,
	} {
		opt := PDF{Standards: []pdffile.Standard{pdffile.UA1, pdffile.A2A}}
		doc, err := a.PDF(t.Context(), Source{HTML: head + body}, PageSettings{}, opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := doc.Body.Close(); err != nil {
			t.Error(err)
		}
		var got []string
		for _, w := range doc.Warnings {
			got = append(got, w.Message)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: warnings %q, want %q", body, got, want)
		}
		opt.StandardsStrict = true
		doc, err = a.PDF(t.Context(), Source{HTML: head + body}, PageSettings{}, opt)
		if refused := (*StandardError)(nil); errors.As(err, &refused) != (want != nil) {
			t.Errorf("%s: strict: %v", body, err)
		}
		if err == nil {
			if err := doc.Body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestTextsThatAreDrawnTwiceAreReadOnce: shadows and outlines are in the content twice, and in the structure once.
func TestTextsThatAreDrawnTwiceAreReadOnce(t *testing.T) {
	t.Parallel()
	a := start(t, Config{}).For("twice")
	const head = `<!doctype html><html lang=en><title>T</title><h1>T</h1>`
	for body, want := range map[string]string{
		`<p style="text-shadow:1px 1px 0 red">Sharp shadow`:                                            "Sharp shadow",
		`<p style="text-shadow:1px 1px 3px red">Blurred shadow`:                                        "Blurred shadow",
		`<p style="text-shadow:1px 1px red,2px 2px blue">Two shadows, fine office`:                     "Two shadows, fine office",
		`<p style="text-shadow:1px 1px red">Some <b>bold</b> text`:                                     "Some bold text",
		`<p style="text-shadow:1px 1px red"><a href="https://site.test/">Linked text</a>`:              "Linked text",
		`<p style="text-shadow:1px 1px red;text-decoration:underline">Underlined`:                      "Underlined",
		`<p style="text-shadow:1px 1px red;transform:rotate(3deg);opacity:.9">Turned`:                  "Turned",
		`<p style="text-shadow:1px 1px red;columns:2">again<br>again<br>again<br>again`:                "again again again again",
		`<p style="text-shadow:1px 1px red">日本 text`:                                                   "",
		`<p style="text-shadow:1px 1px red,2px 2px 3px red">日本 text Ω 日本`:                              "",
		`<p style="filter:drop-shadow(1px 1px 2px red)">Dropped shadow`:                                "Dropped shadow",
		`<p style="-webkit-text-stroke:1px red">Outlined`:                                              "Outlined",
		`<p style="-webkit-text-stroke:2px red;color:transparent">Only the outline`:                    "Only the outline",
		`<p style="-webkit-text-stroke:1px red;text-shadow:1px 1px red">Outline and shadow`:            "Outline and shadow",
		`<p style="text-shadow:1px 1px red;width:9em">A longer text that is broken into several lines`: "A longer text that is broken into several lines",
		`<p style="text-shadow:1px 1px red">go go go`:                                                  "go go go",
		`<p>go go<br>go go`: "go go go go",
		`<table style="text-shadow:1px 1px red"><thead><tr><th>Head<tbody><tr><td>Cell</table>`:          "Head Cell",
		`<style>p::first-letter{font-size:3em}</style><p style="text-shadow:1px 1px red">Initial letter`: "Initial letter",
	} {
		doc, err := a.PDF(t.Context(), Source{HTML: head + body}, PageSettings{}, PDF{Standards: []pdffile.Standard{pdffile.UA1}, StandardsStrict: true})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		got := strings.TrimPrefix(structureText(t, doc.Body), "T")
		// poppler reads only the first text of the structure that replaces others.
		if want != "" && got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: the structure reads %q, want %q", body, got, want)
		}
	}
}

// structureText returns the text of a file's structure as poppler reads it, without spaces, and closes the file.
func structureText(t *testing.T, body *spool.File) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.pdf")
	data, err := io.ReadAll(body.Open())
	if err := errors.Join(err, body.Close(), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("pdfinfo", "-struct-text", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(strings.TrimSpace(line), "\n")
		if quoted, found := strings.CutPrefix(line, `"`); found {
			text.WriteString(strings.TrimSuffix(quoted, `"`))
		}
	}
	return strings.Join(strings.Fields(text.String()), "")
}

// TestLongDocumentsAreComparedWithTheirStructure: their texts are larger than the arguments of a job may be.
func TestLongDocumentsAreComparedWithTheirStructure(t *testing.T) {
	t.Parallel()
	a := start(t, Config{}).For("long")
	rows := strings.Repeat("<tr><td>an item<td>a longer text of a row<td>12.00<td>24.00", 3000)
	// Their names alone are larger than a message of the browser.
	names := strings.Repeat(`<p id=`+strings.Repeat("x", 100_000)+`>text`, 100)
	for name, html := range map[string]string{"rows": "<table>" + rows + "</table>", "names": names} {
		html = `<!doctype html><html lang=en><title>T</title><h1>T</h1>` + html + `<p inert>Not found`
		doc, err := a.PDF(t.Context(), Source{HTML: html}, PageSettings{}, PDF{Standards: []pdffile.Standard{pdffile.UA1}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := doc.Body.Close(); err != nil {
			t.Error(err)
		}
		if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0].Message, `"Not found"`) {
			t.Errorf("%s: warnings %v, want one about the last text", name, doc.Warnings)
		}
	}
}
