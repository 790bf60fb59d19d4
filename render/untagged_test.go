package render

import (
	"errors"
	"slices"
	"testing"

	"relaypdf/render/pdffile"
)

// TestUntaggedTextIsNamed: text that Chromium leaves out of the structure prevents the claim, with its element and page.
func TestUntaggedTextIsNamed(t *testing.T) {
	t.Parallel()
	a := start(t, Config{}).For("untagged")
	const style = `.a::after{content:attr(data-x)}.b::before{content:"New \"offer\""}.c::before{content:"New" / ""}.d::before{content:counter(n) ". ★"}`
	const head = `<!doctype html><html lang=en><title>T</title><style>` + style + `@media print{.e::after{content:"Printed"}}@page{@top-left{content:"Running head"}}</style><h1>T</h1>`
	const suffix = ` The file cannot claim ua-1, a-2a.`
	const generated = `: Screen readers cannot read text that CSS generates. Write the text in the HTML, or mark decoration with content: "…" / "".` + suffix
	const frame = `: Screen readers cannot read the content of a frame. Put the content into the document itself.` + suffix
	const canvas = `Screen readers cannot read a canvas. Describe it in aria-label, or mark decoration with aria-hidden="true".` + suffix
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
		`<div style="-webkit-text-stroke:1px red">Twice</div>`: {
			`div "Twice": The browser writes the text twice because of its outline. Remove -webkit-text-stroke in @media print.` + suffix,
		},
		`<canvas class=c></canvas>` + draw: {`canvas.c: ` + canvas},
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
		doc, err := a.PDF(t.Context(), Source{HTML: head + body}, Page{}, opt)
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
		doc, err = a.PDF(t.Context(), Source{HTML: head + body}, Page{}, opt)
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
