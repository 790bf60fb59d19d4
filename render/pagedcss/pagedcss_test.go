package pagedcss

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

func TestSheet(t *testing.T) {
	for _, c := range []struct {
		sheet string
		want  string   // empty if it stays
		found []string // name@line
	}{
		{sheet: `a::after { content: target-counter(attr(href), page) }`, want: `a::after { content: var(--relay-t0,"[t0]") }`},
		{sheet: "a::after { content: 'p. ' target\\-counter(attr(href url),\n page, lower-roman) / \"\" }", want: `a::after { content: 'p. ' var(--relay-t0,"[t0]") / "" }`},
		{sheet: `a::after{content:TARGET-TEXT(url(#x), before) target-counter(url("#y"), page)}`, want: `a::after{content:var(--relay-x0,"[x0]") var(--relay-t1,"[t1]")}`},
		{sheet: `a::after { content: leader('. ') target-counter(attr(href), page) !important }`, want: `a::after { content:var(--relay-b0,"") var(--relay-t0,"[t0]")  var(--relay-l0,"[l0]")!important }`},
		{sheet: `a::after { content: " " leader(dotted) "p. " target-counter(attr(href), page) }`, want: `a::after { content:var(--relay-b0,"") "p. " var(--relay-t0,"[t0]")  var(--relay-l0,"[l0]")}`},
		{sheet: `a::after { content: "x" leader(dotted) }`, found: []string{"leader(dotted)@1"}},
		{sheet: "a::after { content: target-counter(attr(href),\nchapter) }", found: []string{"target-counter(attr(href), chapter)@1"}},
		{sheet: `a::after { content: target-counter(attr(href), page, hebrew) }`, found: []string{"target-counter(attr(href), page, hebrew)@1"}},
		{sheet: `a::after { content: target-counters(attr(href), s, ".") target-counter(attr(href), page) }`, found: []string{`target-counters(attr(href), s, ".")@1`}},
		{sheet: "h1 { string-set: title content() }\n@media print {\n h2 { STRING-SET: x attr(y) 'z', title content(first-letter) !important } }", want: "h1 { --relay-string-set:0}\n@media print {\n h2 { --relay-string-set:1!important} }"},
		{sheet: "h1 { string-set: title counter(x) }", found: []string{"string-set: title counter(x)@1"}},
		{sheet: "@page { @top-left { content: string(title) string(title, last) ' ' counter(page) } }", want: "@page { @top-left { content: counter(relay-page,relay-s0) counter(relay-page,relay-s1) ' ' counter(page) } }"},
		{sheet: "@page { @top-left { content: element(head) string(title) } }", found: []string{"element(head)@1"}},
		{sheet: "h1 { counter-reset: a 2 page 5 b; } @page { counter-increment: page 2; @top-left { content: counter(page, upper-roman) counter(pages) } }", want: "h1 { counter-reset: a 2 b;--relay-page:5; } @page { counter-increment: page 2 relay-page; @top-left { content: counter(relay-page,relay-p0) counter(pages) } }"},
		{sheet: ".c { counter-reset: page } .d { counter-reset: pageless } @page:first { counter-reset: page 5 }", want: ".c { counter-reset: none;--relay-page:1} .d { counter-reset: pageless } @page:first { counter-reset: page 5 }"},
		{sheet: "p { counter-reset: page 99999999 } h1 { counter-reset: page -1 }", found: []string{"counter-reset: page 99999999@1", "counter-reset: page -1@1"}},
		{sheet: "p { counter-increment: page 2 }", found: []string{"counter-increment: page on an element@1"}},
		{sheet: "h1 { bookmark-level: 1; bookmark-label: attr(title) ': ' content(); bookmark-state: closed }", want: "h1 { --relay-bookmark-level:1; --relay-bookmark-label:0; --relay-bookmark-state:closed}"},
		{sheet: "h1 { bookmark-label: counter(x) }", found: []string{"bookmark-label: counter(x)@1"}},
		{sheet: "@page { size: A4; marks: crop cross; bleed: 3mm; @footnote { float: bottom } }", found: []string{"marks@1", "bleed@1", "@footnote@1"}},
		{sheet: "@page :blank { margin: 0 } @page x:nth(2n) {} @page:first{} @page :left{}", found: []string{"@page :blank@1", "@page :nth()@1"}},
		{sheet: "span { float: footnote; footnote-display: block } span::footnote-call { color: red } p { float: left }", found: []string{"float: footnote@1", "footnote-display@1", "::footnote-call@1"}},
		{sheet: "header { position: running(head) } div { position: relative }", found: []string{"position: running()@1"}},
		{sheet: "p::before { content: counter(page) } @page { @top-left { content: counter(page) counter(pages) } }", found: []string{"counter(page) outside of a margin box@1"}},
		{sheet: "a { color: red; b:hover & { bleed: 0 } span:hover { bleed: 0 } }", found: []string{"bleed@1", "bleed@1"}},
		{sheet: "a { --x: { string-set: y 'z' }; --y: target-counter(attr(href), page); content: 'string(x)' } /* string-set: x */"},
		{sheet: "@font-face { string-set: x } @keyframes a { from { string-set: x } }"},
		{sheet: "a { background: element(x); content: url(string-set) }"},
		{sheet: "} h1 { bleed: 0 }", found: []string{"bleed@1"}},
		{sheet: "a { content: (; string-set: x 'y' } b { string-set: x 'y' }"},
		{sheet: `a { string-set: x "`, want: "a { --relay-string-set:0"},
	} {
		var doc Features
		text, found := doc.Sheet(c.sheet)
		if doc.Numbered() {
			text, found = doc.Sheet(c.sheet)
		}
		text = strings.NewReplacer(markStart, "[", markEnd, "]").Replace(text)
		if want := cmp.Or(c.want, c.sheet); text != want {
			t.Errorf("%s:\n got %s\nwant %s", c.sheet, text, want)
		}
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s@%d", f.Name, f.Line))
		}
		if !slices.Equal(got, c.found) {
			t.Errorf("%s:\n got %q\nwant %q", c.sheet, got, c.found)
		}
		if doc.Empty() != (c.want == "") {
			t.Errorf("%s: empty is %v", c.sheet, doc.Empty())
		}
		if len(c.want)+len(c.found) > 0 && !Mentions(strings.ToLower(strings.ReplaceAll(c.sheet, "\\", ""))) && !strings.Contains(c.sheet, "counter(page)") {
			t.Errorf("%s: is not mentioned", c.sheet)
		}
	}
	var doc Features
	if text, _ := doc.Attribute("string-set: x 'y'; color: red"); text != "--relay-string-set:0; color: red" {
		t.Errorf("attribute: %v", text)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		n           int
		style, want string
	}{
		{12, "decimal", "12"}, {7, "decimal-leading-zero", "07"}, {1994, "upper-roman", "MCMXCIV"}, {9, "lower-roman", "ix"}, {0, "lower-roman", "0"}, {4000, "upper-roman", "4000"}, {0, "lower-alpha", "0"},
		{1, "lower-alpha", "a"}, {26, "upper-latin", "Z"}, {27, "lower-latin", "aa"}, {703, "upper-alpha", "AAA"}, {25, "lower-greek", "αα"}, {5, "hebrew", ""},
	} {
		if got, ok := Format(c.n, c.style); got != c.want || ok != (c.want != "") {
			t.Errorf("%d in %s is %q, %v; want %q", c.n, c.style, got, ok, c.want)
		}
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

// TestHostileSheets reads hostile sheets of 1 MiB, which would take hours if that were not linear.
func TestHostileSheets(t *testing.T) {
	sharedtest.Slow(t)
	for _, part := range []string{"{", "(", "a{", "a{b:", "@page{", "string-set:", "a{content:target-counter(", "\\", "[", "}", "/*", `"`, "-", "a:", "@media{a{content:leader("} {
		text := strings.Repeat(part, 1<<20/len(part))
		var doc Features
		doc.Sheet(text)
		doc.Attribute(text)
		Mentions(text)
	}
}

// TestListsAreBounded checks that a sheet with more different constructs than a list takes names the others.
func TestListsAreBounded(t *testing.T) {
	sharedtest.Slow(t)
	for _, c := range []string{
		`a::after { content: target-counter("#x%d", page) }`, `a::after { content: target-text("#x%d") }`, `a::after { content: leader("%d") }`,
		`@page { @top-left { content: string(s%d) } }`, `a { string-set: s%d content() }`, `a { bookmark-label: "%d" }`,
	} {
		var text strings.Builder
		for n := range 20_000 {
			fmt.Fprintf(&text, c+"\n", n)
		}
		var doc Features
		if _, found := doc.Sheet(text.String()); len(found) != 20_000-maxList || found[0].Line != maxList+1 {
			t.Errorf("%s: %d constructs without effect", c, len(found))
		}
	}
}

// BenchmarkMentions measures the cost for documents without such CSS: an invoice of 5 KB takes 12 ms to print.
func BenchmarkMentions(b *testing.B) {
	text := strings.Repeat(`<tr><td style="color: red; padding: 0">Lantern (brass) - large</td><td class="n">24.00</td></tr>`+"\n", 5000/98)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Mentions(text) {
			b.Fatal("mentioned")
		}
	}
}

func FuzzSheet(f *testing.F) {
	f.Add(`@page :blank { @top-left { content: string(x, "\41 ") } } a { content: target-counter(attr(href), page) }`)
	f.Fuzz(func(_ *testing.T, text string) {
		var doc Features
		doc.Sheet(text)
		doc.Attribute(text)
		Mentions(text)
	})
}
