package docs

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"relaypdf/views"
)

//go:embed *.md
var written embed.FS

// order is the order of the guides.
var order = []string{
	"quick-start", "headers-and-footers", "page-breaks", "fonts", "markdown", "charts", "templates", "jobs-and-webhooks", "command-line", "agents", "errors", "limits", "self-hosting", "security",
}

// base is the placeholder for the service's URL in the guides.
const base = "https://relaypdf.example"

// Book is all that is written for those who use the service.
type Book struct {
	Guides []Guide
	// Operations have samples without HTML, which takes long to make for all: Operation has it.
	Operations []views.Operation
}

// Guide is one page of Markdown: a heading, a sentence on its topic, and the rest.
type Guide struct {
	Slug, Title, Description string
	Source                   string // the Markdown
	HTML                     string // without the heading and the sentence
	Sections                 []Section
	Examples                 []Example
}

// Section is a part of a guide with its own heading.
type Section struct{ ID, Title, Text string }

// Example is a piece of code in a guide.
type Example struct {
	Language, Code string
	Fails          bool // on purpose: it shows an error
}

// New reads the guides and the OpenAPI document. Examples call the service at an
// address.
func New(address string, openAPI []byte) (*Book, error) {
	b := &Book{}
	var err error
	if b.Guides, err = Read(address); err != nil {
		return nil, err
	}
	b.Operations, err = operations(address, openAPI)
	return b, err
}

// Read reads the guides. Examples call the service at an address.
func Read(address string) ([]Guide, error) {
	var all []Guide
	for _, slug := range order {
		source, err := written.ReadFile(slug + ".md")
		if err != nil {
			return nil, fmt.Errorf("docs: %w", err)
		}
		g, err := read(slug, strings.ReplaceAll(string(source), base, address))
		if err != nil {
			return nil, fmt.Errorf("docs: %s: %w", slug, err)
		}
		all = append(all, g)
	}
	return all, nil
}

// Guide returns the guide with a slug.
func (b *Book) Guide(slug string) (Guide, bool) {
	for _, g := range b.Guides {
		if g.Slug == slug {
			return g, true
		}
	}
	return Guide{}, false
}

// Operation returns the operation with an id, the parts of its samples coloured.
func (b *Book) Operation(id string) (views.Operation, bool) {
	for _, o := range b.Operations {
		if o.ID == id {
			o.Samples = coloured(o.Samples, Sample)
			return o, true
		}
	}
	return views.Operation{}, false
}

// plainly makes a line of text of a paragraph in Markdown.
var plainly = strings.NewReplacer("\n", " ", "`", "")

func read(slug, source string) (Guide, error) {
	title, rest, ok := strings.Cut(source, "\n\n")
	if !ok || !strings.HasPrefix(title, "# ") {
		return Guide{}, errors.New("begins without a heading")
	}
	description, body, _ := strings.Cut(rest, "\n\n")
	g := Guide{Slug: slug, Title: strings.TrimPrefix(title, "# "), Description: plainly.Replace(description), Source: source}
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&codeBlocks{}, 100))),
	)
	src := []byte(body)
	doc := md.Parser().Parse(text.NewReader(src))
	nameHeadings(doc, src)
	g.collect(doc, src)
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, src, doc); err != nil {
		return Guide{}, err
	}
	// A table that is wider than the page scrolls by itself.
	g.HTML = strings.ReplaceAll(out.String(), "</table>", "</table></div>")
	for n := 1; strings.Contains(g.HTML, "<table>"); n++ {
		g.HTML = strings.Replace(g.HTML, "<table>", fmt.Sprintf(`<div class="list-wrap" tabindex="0" role="region" aria-label="Table %d"><table class="list">`, n), 1)
	}
	return g, nil
}

// nameHeadings gives headings that are one code span, such as an error code, that text as ID.
func nameHeadings(doc ast.Node, src []byte) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading && n.ChildCount() == 1 && n.FirstChild().Kind() == ast.KindCodeSpan {
			n.SetAttributeString("id", []byte(plain(n, src)))
		}
	}
}

// collect notes the sections and examples of a guide.
func (g *Guide) collect(doc ast.Node, src []byte) {
	g.Sections = []Section{{Title: g.Title, Text: g.Description}}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			name, _ := id.([]byte)
			g.Sections = append(g.Sections, Section{ID: string(name), Title: plain(n, src)})
			continue
		case *ast.FencedCodeBlock:
			fails := n.Info != nil && strings.HasSuffix(string(n.Info.Segment.Value(src)), " fails")
			g.Examples = append(g.Examples, Example{string(n.Language(src)), lines(n, src), fails})
		}
		last := &g.Sections[len(g.Sections)-1]
		last.Text += " " + plain(n, src)
	}
}

// plain is the text of a node.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(src))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.FencedCodeBlock:
			if entering {
				b.WriteString(lines(n, src))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// lines returns the lines of a code block.
func lines(n ast.Node, src []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(src))
	}
	return strings.TrimRight(b.String(), "\n")
}

// captions maps a language to its caption above the code.
var captions = map[string]string{
	"sh": "Shell", "json": "JSON", "html": "HTML", "css": "CSS", "go": "Go", "js": "JavaScript", "python": "Python", "php": "PHP", "handlebars": "Template", "text": "Text",
}

// codeBlocks renders code as every page does, and counts the blocks, so that each has its own name.
type codeBlocks struct{ count int }

// RegisterFuncs makes it the one that draws code.
func (c *codeBlocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		block, ok := node.(*ast.FencedCodeBlock)
		if !entering || !ok {
			return ast.WalkContinue, nil
		}
		language := string(block.Language(src))
		code := lines(block, src)
		caption := captions[language]
		if caption == "" {
			caption = language
		}
		c.count++
		caption = fmt.Sprintf("Example %d · %s", c.count, caption)
		err := views.Marked(caption, Mark(language, code), code).Render(context.Background(), w)
		return ast.WalkSkipChildren, err
	})
}

// LLMs lists the pages for programs that read: one line each.
func (b *Book) LLMs(w io.Writer, address string, more []views.Link) error {
	var s strings.Builder
	s.WriteString("# relaypdf\n\n> An open document API: HTML, addresses, Markdown and templates become PDFs and images; merge, stamp, fill and convert with the same key.\n\n## Guides\n\n")
	for _, g := range b.Guides {
		fmt.Fprintf(&s, "- [%s](%s/docs/%s): %s\n", g.Title, address, g.Slug, g.Description)
	}
	s.WriteString("\n## Reference\n\n")
	fmt.Fprintf(&s, "- [OpenAPI document](%s/openapi.json): every operation, field, limit and error\n", address)
	for _, o := range b.Operations {
		here := ""
		if o.Off {
			here = " (not offered here)"
		}
		fmt.Fprintf(&s, "- [%s %s](%s/docs/api/%s): %s%s\n", o.Method, o.Path, address, o.ID, o.Summary, here)
	}
	s.WriteString("\n## More\n\n")
	for _, link := range more {
		fmt.Fprintf(&s, "- [%s](%s%s)\n", link.Text, address, link.URL)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// Full is all guides in one text, and the operations in short.
func (b *Book) Full(w io.Writer) error {
	var s strings.Builder
	for _, g := range b.Guides {
		s.WriteString(strings.TrimSpace(g.Source) + "\n\n")
	}
	s.WriteString("# Operations\n")
	for _, o := range b.Operations {
		fmt.Fprintf(&s, "\n## %s %s\n\n%s. %s\n", o.Method, o.Path, o.Summary, o.Description)
		for _, f := range append(append([]views.FieldDoc{}, o.Params...), o.Fields...) {
			fmt.Fprintf(&s, "- `%s` (%s): %s %s\n", f.Name, f.Type, f.Description, f.Limits)
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}
