package markup

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"regexp"
	"strings"

	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/yuin/goldmark"
	highlighting "github.com/yuin/goldmark-highlighting/v2"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// printStyle is the style sheet of every Markdown document. It loads nothing.
//
//go:embed markdown.css
var printStyle string

// MarkdownOptions are the parts of a Markdown document that its source does
// not settle. The zero value is a good document.
type MarkdownOptions struct {
	// Title is the title of the document; empty means the front matter's, else the text of the first heading, else
	// "Document".
	Title string `json:"title,omitempty"`
	// Lang is the language as a BCP 47 tag; empty means the front matter's, else "en". A malformed tag counts as
	// empty.
	Lang string `json:"lang,omitempty"`
	// Own names the sides whose page margin the caller sets when printing. A
	// margin in a style sheet beats the printer's, so the document sets the
	// other sides only (18 mm above and below, 16 mm left and right).
	Own Sides `json:"own"`
	// AllowHTML keeps the tags that GitHub's tag filter makes text of.
	AllowHTML bool `json:"allowHTML,omitempty"`
	// Formulas is false if dollar signs and TeX's brackets are text. Nil means the front matter's options, else true.
	Formulas *bool `json:"formulas,omitempty"`
}

// Sides is a choice among the four sides of a page.
type Sides struct {
	Top    bool `json:"top,omitempty"`
	Right  bool `json:"right,omitempty"`
	Bottom bool `json:"bottom,omitempty"`
	Left   bool `json:"left,omitempty"`
}

// Markdown turns GitHub-flavoured Markdown (tables, task lists, strikethrough, autolinks, footnotes, definition
// lists, highlighted code, heading anchors, alerts, a table of contents at [TOC], formulas between dollars,
// mermaid's diagrams) into a complete HTML document with a style sheet for print. HTML in the source passes
// through, except the tags of GitHub's tag filter. Attributes such as onerror pass, so the result is as untrusted
// as the source. YAML front matter is removed; its title, author, date, description, keywords and lang are used.
//
// Some short inputs take very long: run it in a process that can be killed. An error means that the converter
// itself failed.
func Markdown(src []byte, opt MarkdownOptions) (MarkdownDocument, error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	meta, body, _ := cutFrontMatter(src) // ReadFrontMatter has returned its error
	above := bytes.Count(src[:len(src)-len(body)], []byte("\n"))
	src = body
	place := func(offset int) int { return above + bytes.Count(src[:min(offset, len(src))], []byte("\n")) + 1 }

	formulas := &math{place: place}
	drawings := &diagrams{place: place, formulas: opt.hasFormulas(meta)}
	filter := &tagFilter{place: place}
	more := []goldmark.Extender{drawings}
	if drawings.formulas {
		more = append(more, formulas)
	}
	if !opt.AllowHTML {
		more = append(more, filter)
	}

	md := newMarkdown(more...)
	ctx := parser.NewContext(parser.WithIDs(newAnchors()))
	doc := md.Parser().Parse(text.NewReader(src), parser.WithContext(ctx))
	opt = opt.withDefaults(meta, doc, src)

	var text, out bytes.Buffer
	text.Grow(2 * len(src))
	if err := md.Renderer().Render(&text, src, doc); err != nil {
		return MarkdownDocument{}, fmt.Errorf("render markdown: %w", err)
	}

	style, err := formulas.style()
	if err != nil {
		return MarkdownDocument{}, err
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == kindContents {
			style += contentsStyle(".contents a")
			break
		}
	}

	out.Grow(len(printStyle) + len(style) + text.Len())
	writeHead(&out, opt, meta, style)
	writeTitle(&out, meta, doc)
	out.Write(text.Bytes())
	out.WriteString("</body>\n</html>\n")
	return MarkdownDocument{
		HTML:     out.Bytes(),
		Faults:   formulas.faults,
		Filtered: filter.found,
		Diagrams: drawings.found,
	}, nil
}

// MarkdownDocument is the result of converting Markdown.
type MarkdownDocument struct {
	HTML []byte `json:"-"`
	// Faults are the errors of formulas, which show their source.
	Faults []Fault `json:"faults,omitempty"`
	// Filtered is about the tags that became text; nil where none did.
	Filtered *Fault `json:"filtered,omitempty"`
	// Diagrams is true if the document has diagrams, which a browser draws: see WithDiagrams.
	Diagrams bool `json:"diagrams,omitempty"`
}

// newMarkdown assembles the converter. Code is marked with classes, so that
// its colours live in the style sheet.
func newMarkdown(more ...goldmark.Extender) goldmark.Markdown {
	code := highlighting.NewHighlighting(
		highlighting.WithFormatOptions(chromahtml.WithClasses(true), chromahtml.TabWidth(4)),
	)
	return goldmark.New(
		goldmark.WithExtensions(append(more,
			extension.GFM, extension.Footnote, extension.DefinitionList, code, blocks{})...),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithAttribute()),
		goldmark.WithRendererOptions(gmhtml.WithUnsafe()),
	)
}

// hasFormulas reports whether formulas are set.
func (o MarkdownOptions) hasFormulas(meta FrontMatter) bool {
	if o.Formulas != nil {
		return *o.Formulas
	}
	on, chosen := meta.Options["formulas"].(bool)
	return on || !chosen
}

var langTag = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

// withDefaults fills the options that the caller left empty from the document.
func (o MarkdownOptions) withDefaults(meta FrontMatter, doc ast.Node, src []byte) MarkdownOptions {
	if o.Title == "" {
		o.Title = meta.Title
	}
	if o.Title == "" {
		o.Title = firstHeading(doc, src)
	}
	if o.Title == "" {
		o.Title = "Document"
	}

	for _, lang := range []string{o.Lang, meta.Lang, "en"} {
		if langTag.MatchString(lang) {
			o.Lang = lang
			break
		}
	}
	return o
}

// writeHead writes everything up to the start of the body. All values from outside are escaped.
func writeHead(out *bytes.Buffer, opt MarkdownOptions, meta FrontMatter, style string) {
	fmt.Fprintf(out, "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n",
		opt.Lang, html.EscapeString(opt.Title))
	for _, about := range [][2]string{
		{"author", meta.Author}, {"date", meta.Date}, {"description", meta.Description}, {"keywords", meta.Keywords},
	} {
		if about[1] != "" {
			fmt.Fprintf(out, "<meta name=\"%s\" content=\"%s\">\n", about[0], html.EscapeString(about[1]))
		}
	}
	fmt.Fprintf(out, "<style>\n%s%s%s</style>\n</head>\n<body>\n", style, pageRule(opt.Own), printStyle)
}

// writeTitle begins a document that has a title in front of it, and no heading of
// the first level that would be another.
func writeTitle(out *bytes.Buffer, meta FrontMatter, doc ast.Node) {
	title := meta.Title
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if heading, ok := n.(*ast.Heading); ok && heading.Level == 1 {
			return
		}
	}

	if title == "" {
		return
	}

	fmt.Fprintf(out, "<header class=\"title\">\n<h1>%s</h1>\n", html.EscapeString(title))
	var about []string
	for _, value := range []string{meta.Author, meta.Date} {
		if value != "" {
			about = append(about, html.EscapeString(value))
		}
	}
	if len(about) > 0 {
		fmt.Fprintf(out, "<p>%s</p>\n", strings.Join(about, " · "))
	}
	out.WriteString("</header>\n")
}

// pageRule sets the margins of the sides that the caller does not set.
func pageRule(own Sides) string {
	var rule strings.Builder
	for _, side := range []struct {
		own          bool
		name, margin string
	}{
		{own.Top, "top", "18mm"}, {own.Right, "right", "16mm"},
		{own.Bottom, "bottom", "18mm"}, {own.Left, "left", "16mm"},
	} {
		if !side.own {
			fmt.Fprintf(&rule, " margin-%s: %s;", side.name, side.margin)
		}
	}

	if rule.Len() == 0 {
		return ""
	}
	return "@page {" + rule.String() + " }\n"
}

// firstHeading returns the plain text of the first heading, or "".
func firstHeading(doc ast.Node, src []byte) string {
	var title string
	// The walker returns no error, so Walk returns none.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if heading, ok := n.(*ast.Heading); ok && entering {
			title = strings.Join(strings.Fields(plainText(heading, src)), " ")
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return title
}

// plainText collects the text below n, without any markup.
func plainText(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(src))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		case *formula:
			b.WriteString(n.tex)
		}
		return ast.WalkContinue, nil
	})

	return html.UnescapeString(b.String())
}

// MarkdownFragment turns Markdown into HTML for a place inside of a document.
// HTML in the source is left out, and links that run script with it, so that the
// result may be shown although the source is not trusted. Like Markdown it can
// take very long.
func MarkdownFragment(src []byte) ([]byte, error) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))
	var out bytes.Buffer
	if err := md.Convert(src, &out); err != nil {
		return nil, fmt.Errorf("render markdown: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
