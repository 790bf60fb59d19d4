package markup

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// blocks is an extension of GitHub's Markdown for documents on paper: alerts, a table of contents, and code in
// tables that breaks between words.
type blocks struct{}

func (blocks) Extend(md goldmark.Markdown) {
	const early, late = 100, 900
	md.Parser().AddOptions(parser.WithASTTransformers(util.Prioritized(blocks{}, late)))
	md.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, early)))
}

// alerts are GitHub's kinds, with the titles that it gives them.
var alerts = map[string]string{
	"NOTE": "Note", "TIP": "Tip", "IMPORTANT": "Important", "WARNING": "Warning", "CAUTION": "Caution",
}

// alertTitle is the first line of an alert.
type alertTitle struct {
	ast.BaseBlock
	title string
}

// contents is a table of contents.
type contents struct {
	ast.BaseBlock
	headings []contentsEntry
}

type contentsEntry struct {
	level    int
	id, text string
}

var (
	kindAlertTitle = ast.NewNodeKind("AlertTitle")
	kindContents   = ast.NewNodeKind("Contents")
)

func (*alertTitle) Kind() ast.NodeKind         { return kindAlertTitle }
func (n *alertTitle) Dump(src []byte, lvl int) { ast.DumpHelper(n, src, lvl, nil, nil) }
func (*contents) Kind() ast.NodeKind           { return kindContents }
func (n *contents) Dump(src []byte, lvl int)   { ast.DumpHelper(n, src, lvl, nil, nil) }

// Transform finds all three in a document that has been parsed.
func (blocks) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	src := reader.Source()
	var quotes []*ast.Blockquote
	var tables []*ast.Paragraph

	// The walker returns no error, so Walk returns none.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Blockquote:
			quotes = append(quotes, n)
		case *ast.Paragraph:
			if n.Parent() == doc && isContentsMark(n, src) {
				tables = append(tables, n)
			}
		case *ast.CodeSpan:
			if inCell(n) && wordsAreShort(plainText(n, src)) {
				n.SetAttributeString("class", []byte("words"))
			}
		}
		return ast.WalkContinue, nil
	})

	for _, quote := range quotes {
		makeAlert(quote, src)
	}
	for _, place := range tables {
		doc.ReplaceChild(doc, place, &contents{headings: headingsOf(doc, src)})
	}
}

// makeAlert turns a quotation that begins with a line such as [!NOTE] into an
// alert.
func makeAlert(quote *ast.Blockquote, src []byte) {
	paragraph, ok := quote.FirstChild().(*ast.Paragraph)
	if !ok || paragraph.Lines().Len() == 0 {
		return
	}

	first := paragraph.Lines().At(0)
	word := strings.TrimSpace(string(first.Value(src)))
	name, ok := strings.CutPrefix(word, "[!")
	name, closed := strings.CutSuffix(name, "]")
	kind := strings.ToUpper(name)
	if !ok || !closed || alerts[kind] == "" {
		return
	}

	for n := paragraph.FirstChild(); n != nil; {
		next := n.NextSibling()
		// The brackets are texts of their own.
		if t, ok := n.(*ast.Text); !ok || t.Segment.Start >= first.Stop {
			break
		}
		paragraph.RemoveChild(paragraph, n)
		n = next
	}

	if !paragraph.HasChildren() {
		quote.RemoveChild(quote, paragraph)
	}
	quote.SetAttributeString("class", []byte("alert alert-"+strings.ToLower(kind)))

	title := &alertTitle{title: alerts[kind]}
	if quote.FirstChild() == nil {
		quote.AppendChild(quote, title)
		return
	}
	quote.InsertBefore(quote, quote.FirstChild(), title)
}

// isContentsMark reports whether a paragraph is a placeholder for the table of contents.
func isContentsMark(paragraph *ast.Paragraph, src []byte) bool {
	if paragraph.Lines().Len() != 1 {
		return false
	}
	line := paragraph.Lines().At(0)
	switch strings.ToUpper(string(bytes.TrimSpace(line.Value(src)))) {
	case "[TOC]", "[[TOC]]", "[[_TOC_]]":
		return true
	}
	return false
}

// deepestContents is the deepest level of headings in a table of contents.
const deepestContents = 3

// headingsOf lists the headings of a document, without the one that is its title.
func headingsOf(doc *ast.Document, src []byte) (entries []contentsEntry) {
	tops := 0
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		heading, ok := n.(*ast.Heading)
		if !ok || heading.Level > deepestContents {
			continue
		}

		id, _ := heading.AttributeString("id")
		name, _ := id.([]byte)
		if heading.Level == 1 {
			tops++
		}
		words := strings.Fields(plainText(heading, src))
		entries = append(entries, contentsEntry{heading.Level, string(name), strings.Join(words, " ")})
	}
	return withoutTitle(entries, tops)
}

func inCell(n ast.Node) bool {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if n.Kind() == extast.KindTableCell {
			return true
		}
	}
	return false
}

// longestWord is the maximum number of letters of code that stay on one line in a table. A longer word breaks
// anywhere, so that it does not widen the table past the page.
const longestWord = 24

func wordsAreShort(code string) bool {
	for word := range strings.FieldsSeq(code) {
		if utf8.RuneCountInString(word) > longestWord {
			return false
		}
	}
	return true
}

// RegisterFuncs renders the nodes that Transform has added to the document.
func (blocks) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	renderAlert := func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if title, ok := n.(*alertTitle); ok && entering {
			fmt.Fprintf(w, "<p class=\"alert-title\">%s</p>\n", title.title)
		}
		return ast.WalkContinue, nil
	}
	renderContents := func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if table, ok := n.(*contents); ok && entering {
			writeContents(w, "contents", table.headings)
		}
		return ast.WalkContinue, nil
	}

	register.Register(kindAlertTitle, renderAlert)
	register.Register(kindContents, renderContents)
}

// writeContents writes a list in lists, however the levels of headings jump.
func writeContents(w util.BufWriter, class string, headings []contentsEntry) {
	_, _ = w.WriteString("<nav class=\"" + class + "\">\n") // Flush returns the error
	var open []int                                          // the levels of the lists

	for _, h := range headings {
		for len(open) > 0 && open[len(open)-1] > h.level {
			_, _ = w.WriteString("</li></ul>")
			open = open[:len(open)-1]
		}
		if len(open) == 0 || open[len(open)-1] < h.level {
			_, _ = w.WriteString("<ul>\n")
			open = append(open, h.level)
		} else {
			_, _ = w.WriteString("</li>\n")
		}
		fmt.Fprintf(w, "<li><a href=\"#%s\">%s</a>", html.EscapeString(h.id), html.EscapeString(h.text))
	}

	for range open {
		_, _ = w.WriteString("</li></ul>")
	}
	_, _ = w.WriteString("\n</nav>\n")
}
