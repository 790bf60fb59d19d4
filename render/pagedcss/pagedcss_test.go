package pagedcss

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSheet(t *testing.T) {
	for _, c := range []struct {
		sheet string
		want  []string // name@line
	}{
		{`a::after { content: target-counter(attr(href), page) }`, []string{"target-counter(attr(href), page)@1"}},
		{"a::after {\n content: leader('.') target\\-counter(attr(href url),\n page, lower-roman) }", []string{"leader('.')@2", "target\\-counter(attr(href url), page, lower-roman)@2"}},
		{`a::after{content:target-text(attr(href)) target-counters(attr(href), s, ".")}`, []string{"target-text(attr(href))@1", `target-counters(attr(href), s, ".")@1`}},
		{"h1 { string-set: title content() }\n@media print {\n h2 { STRING-SET: x attr(y) } }", []string{"string-set@1", "string-set@3"}},
		{"@page { @top-left { content: string(title) element(head) counter(page) } }", []string{"string(title)@1", "element(head)@1"}},
		{"@page { size: A4; marks: crop cross; bleed: 3mm; @footnote { float: bottom } }", []string{"marks@1", "bleed@1", "@footnote@1"}},
		{"@page :blank { margin: 0 } @page x:nth(2n) {} @page:first{} @page :left{}", []string{"@page :blank@1", "@page :nth()@1"}},
		{"span { float: footnote; footnote-display: block } span::footnote-call { color: red } p { float: left }", []string{"float: footnote@1", "footnote-display@1", "::footnote-call@1"}},
		{"header { position: running(head) } div { position: relative }", []string{"position: running()@1"}},
		{"h1 { bookmark-level: 1; bookmark-label: content() }", []string{"bookmark-level@1", "bookmark-label@1"}},
		{".c { counter-reset: section page 1 } .d { counter-reset: pageless } @page:first { counter-reset: page 5 }", []string{"counter-reset: page on an element@1"}},
		{"p::before { content: counter(page) } @page { @top-left { content: counter(page) counter(pages) } }", []string{"counter(page) outside of a margin box@1"}},
		{"a { color: red; b:hover & { string-set: x 'y' } span:hover { string-set: z 'y' } }", []string{"string-set@1", "string-set@1"}},
		{"a { --x: { string-set: y 'z' }; --y: target-counter(attr(href), page); content: 'string(x)' } /* string-set: x */", nil},
		{"@font-face { string-set: x } @keyframes a { from { string-set: x } }", nil},
		{"a { background: element(x); content: url(string-set) }", nil},
		{"} h1 { string-set: a 'b' }", []string{"string-set@1"}},
		{"a { content: (; string-set: x 'y' } b { string-set: x 'y' }", nil},
	} {
		var got []string
		for _, found := range Sheet(c.sheet) {
			got = append(got, fmt.Sprintf("%s@%d", found.Name, found.Line))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.sheet, got, c.want)
		}
		if len(c.want) > 0 && !Mentions(strings.ToLower(c.sheet)) && !strings.Contains(c.sheet, "counter(page)") {
			t.Errorf("%s: is not mentioned", c.sheet)
		}
	}
	if got := Attribute("string-set: x 'y'; color: red"); len(got) != 1 {
		t.Errorf("attribute: %v", got)
	}
}

func TestMentions(t *testing.T) {
	for _, text := range []string{
		"", "<p>Watermarks and a string (of text)</p>", "<script>x.toString(); document.createElement('p'); getContent()</script>",
		"h1 { counter-increment: chapter } .list { counter-reset: section; page: x }", "@page { @top-left { content: counter(page) } }",
		"<a href=x:y>footnotes</a> p { float: left; margin: 0 } a:nth-child(2)",
	} {
		if Mentions(text) {
			t.Errorf("%q mentions a construct", text)
		}
	}
}

// TestHostileSheets checks that hostile sheets take linear time.
func TestHostileSheets(t *testing.T) {
	for _, part := range []string{"{", "(", "a{", "a{b:", "@page{", "string-set:", "a{content:target-counter(", "\\", "[", "}", "/*", `"`, "-", "a:", "@media{a{content:leader("} {
		text := strings.Repeat(part, 1<<20/len(part))
		start := time.Now()
		Sheet(text)
		Attribute(text)
		Mentions(text)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q took %v", part, took)
		}
	}
}

func FuzzSheet(f *testing.F) {
	f.Add(`@page :blank { @top-left { content: string(x, "\41 ") } } a { content: target-counter(attr(href), page) }`)
	f.Fuzz(func(_ *testing.T, text string) {
		Sheet(text)
		Attribute(text)
		Mentions(text)
	})
}
