package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	pages "github.com/relaypdf/relaypdf/docs"
	"github.com/relaypdf/relaypdf/views"
)

// Book holds the documentation of a server.
type Book struct {
	Guides   []Guide // the listed pages, in the order of the table of contents
	unlisted []Guide // decision records and the list of licences
	// Operations returns the operations, read once when they are first needed. Their samples are without HTML, which
	// takes long to make of all: Operation has it.
	Operations func() []views.Operation
	// Changelog renders the changelog once, when it is first needed.
	Changelog func() (views.Changelog, error)
}

// Guide is one page of Markdown: a heading, a sentence on its topic, and the rest.
type Guide struct {
	Slug, Title, Description string
	Group                    string // title of its group, empty for an unlisted page
	Internal                 bool   // for operators and developers
	Source                   string // the Markdown
	// Content renders the page once, when it is first needed: a server starts without rendering any.
	Content func() (GuideContent, error)
}

// GuideContent is the content of a guide.
type GuideContent struct {
	HTML     string // without the heading and the sentence
	Sections []Section
	Examples []Example
}

// Section is a part of a guide with its own heading.
type Section struct{ ID, Title, Text string }

// Example is a piece of code in a guide.
type Example struct {
	Language, Code string
	Fails          bool // on purpose: it shows an error
}

// New reads the pages. openAPI returns the OpenAPI document. Examples call the server at baseURL.
func New(baseURL string, openAPI func() ([]byte, error)) (*Book, error) {
	b := &Book{Changelog: sync.OnceValues(changelog), Operations: sync.OnceValue(func() []views.Operation {
		list, err := operations(baseURL, openAPI)
		if err != nil {
			panic(err) // The document is our own.
		}
		return list
	})}

	var err error
	if b.Guides, err = Read(baseURL); err != nil {
		return nil, err
	}

	for _, page := range pages.Unlisted() {
		g, err := readPage(page, baseURL)
		if err != nil {
			return nil, err
		}
		b.unlisted = append(b.unlisted, g)
	}
	return b, nil
}

// Read reads the listed pages. Examples call the server at baseURL.
func Read(baseURL string) ([]Guide, error) {
	var all []Guide
	for _, group := range pages.Groups {
		for _, page := range group.Pages {
			g, err := readPage(page, baseURL)
			if err != nil {
				return nil, err
			}
			g.Group = group.Title
			g.Internal = group.Internal
			all = append(all, g)
		}
	}

	return all, nil
}

func readPage(page, baseURL string) (Guide, error) {
	source, err := pages.Read(page, baseURL)
	if err != nil {
		return Guide{}, fmt.Errorf("docs: %w", err)
	}
	g, err := parse(page, source)
	if err != nil {
		return Guide{}, fmt.Errorf("docs: %s: %w", page, err)
	}
	return g, nil
}

// Guide returns the page with a slug.
func (b *Book) Guide(slug string) (Guide, bool) {
	for _, list := range [][]Guide{b.Guides, b.unlisted} {
		for _, g := range list {
			if g.Slug == slug {
				return g, true
			}
		}
	}
	return Guide{}, false
}

// Operation returns the operation with an id, the parts of its samples coloured.
func (b *Book) Operation(id string) (views.Operation, bool) {
	for _, o := range b.Operations() {
		if o.ID == id {
			o.Samples = coloured(o.Samples, Sample)
			o.Responses = coloured(o.Responses, Sample)
			return o, true
		}
	}
	return views.Operation{}, false
}

func parse(page, source string) (Guide, error) {
	title, rest, ok := strings.Cut(source, "\n\n")
	if !ok || !strings.HasPrefix(title, "# ") {
		return Guide{}, errors.New("begins without a heading")
	}

	description, body, _ := strings.Cut(rest, "\n\n")
	g := Guide{
		Slug:        pages.Slug(page),
		Title:       strings.TrimPrefix(title, "# "),
		Source:      source,
		Description: plainText(description),
	}
	g.Content = sync.OnceValues(func() (GuideContent, error) {
		return render(page, g.Title, g.Description, []byte(body))
	})
	return g, nil
}

// render renders the Markdown below the title and the description of a page.
func render(page, title, description string, src []byte) (GuideContent, error) {
	html, doc, err := toHTML(src, func(doc ast.Node, src []byte) {
		nameHeadings(doc, src)
		rewriteLinks(doc, page)
	})
	if err != nil {
		return GuideContent{}, fmt.Errorf("docs: %s: %w", page, err)
	}

	p := GuideContent{HTML: html, Sections: []Section{{Title: title, Text: description}}}
	p.collect(doc, src)
	return p, nil
}

// tableStart begins a numbered table that scrolls by itself.
const tableStart = `<div class="list-wrap" tabindex="0" role="region" aria-label="Table %d"><table class="list">`

// toHTML turns Markdown into HTML, after a change of the document. HTML in the source is left out.
func toHTML(src []byte, change func(doc ast.Node, src []byte)) (html string, doc ast.Node, err error) {
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&codeBlocks{}, 100))),
	)
	doc = md.Parser().Parse(text.NewReader(src))
	change(doc, src)

	var out bytes.Buffer
	if err := md.Renderer().Render(&out, src, doc); err != nil {
		return "", nil, err
	}

	// A table that is wider than the page scrolls by itself.
	html = strings.ReplaceAll(out.String(), "</table>", "</table></div>")
	for n := 1; strings.Contains(html, "<table>"); n++ {
		html = strings.Replace(html, "<table>", fmt.Sprintf(tableStart, n), 1)
	}

	return html, doc, nil
}

// nameHeadings gives headings that are one code span, such as an error code, that text as ID.
func nameHeadings(doc ast.Node, src []byte) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading && n.ChildCount() == 1 && n.FirstChild().Kind() == ast.KindCodeSpan {
			n.SetAttributeString("id", []byte(plain(n, src)))
		}
	}
}

// rewriteLinks turns links between Markdown files into URLs of the website.
// Links to other files of the repository lose their target.
func rewriteLinks(doc ast.Node, page string) {
	var files []*ast.Link
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if ok && entering && !bytes.Contains(link.Destination, []byte("://")) &&
			!bytes.HasPrefix(link.Destination, []byte("#")) {
			files = append(files, link)
		}
		return ast.WalkContinue, nil
	})

	for _, link := range files {
		file, anchor, _ := strings.Cut(string(link.Destination), "#")
		target, markdown := strings.CutSuffix(path.Join(path.Dir(page), file), ".md")
		if markdown && !strings.HasPrefix(target, "..") {
			link.Destination = []byte("/docs/" + pages.Slug(target))
			if anchor != "" {
				link.Destination = append(link.Destination, "#"+anchor...)
			}
			continue
		}

		parent := link.Parent()
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			parent.InsertBefore(parent, link, child)
		}
		parent.RemoveChild(parent, link)
	}
}

// collect adds the sections and examples of a page, after the section for its top.
func (p *GuideContent) collect(doc ast.Node, src []byte) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			name, _ := id.([]byte)
			p.Sections = append(p.Sections, Section{ID: string(name), Title: plain(n, src)})
			continue
		case *ast.FencedCodeBlock:
			fails := n.Info != nil && strings.HasSuffix(string(n.Info.Segment.Value(src)), " fails")
			p.Examples = append(p.Examples, Example{string(n.Language(src)), lines(n, src), fails})
		}

		last := &p.Sections[len(p.Sections)-1]
		last.Text += " " + plain(n, src)
	}
}

// plainText is the text of one paragraph of Markdown.
func plainText(paragraph string) string {
	src := []byte(paragraph)
	return plain(goldmark.DefaultParser().Parse(text.NewReader(src)), src)
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

// captions maps a language to its caption above the code. Plain text has none.
var captions = map[string]string{
	"sh": "Shell", "json": "JSON", "html": "HTML", "css": "CSS", "go": "Go",
	"js": "JavaScript", "python": "Python", "php": "PHP", "handlebars": "Template", "text": "",
}

// codeBlocks renders code as every page does, and counts the blocks, so that each has its own name.
type codeBlocks struct{ count int }

// RegisterFuncs makes it the one that draws code.
func (c *codeBlocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	render := func(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		block, ok := node.(*ast.FencedCodeBlock)
		if !entering || !ok {
			return ast.WalkContinue, nil
		}

		language := string(block.Language(src))
		code := lines(block, src)
		c.count++
		caption := fmt.Sprintf("Example %d", c.count)

		name, known := captions[language]
		if !known {
			name = language
		}
		if name != "" {
			caption += " · " + name
		}

		err := views.Marked(caption, Mark(language, code), code).Render(context.Background(), w)
		return ast.WalkSkipChildren, err
	}
	r.Register(ast.KindFencedCodeBlock, render)
}

// LLMs writes the list of pages for language models, one line each.
func (b *Book) LLMs(w io.Writer, baseURL string, more []views.Link) error {
	var s strings.Builder
	s.WriteString("# relaypdf\n\n> An open document API: HTML, URLs, Markdown and templates become PDFs and images; " +
		"merge, stamp, fill and convert with the same key.\n")

	group := ""
	for _, g := range b.Guides {
		if g.Group != group {
			group = g.Group
			fmt.Fprintf(&s, "\n## %s\n\n", group)
		}
		fmt.Fprintf(&s, "- [%s](%s/docs/%s): %s\n", g.Title, baseURL, g.Slug, g.Description)
	}

	s.WriteString("\n## API\n\n")
	fmt.Fprintf(&s, "- [OpenAPI document](%s/openapi.json): every operation, field, limit and error\n", baseURL)
	for _, o := range b.Operations() {
		here := ""
		if o.Off {
			here = " (unavailable on this server)"
		}
		fmt.Fprintf(&s, "- [%s %s](%s/docs/api/%s): %s%s\n", o.Method, o.Path, baseURL, o.ID, o.Summary, here)
	}

	s.WriteString("\n## More\n\n")
	for _, link := range more {
		fmt.Fprintf(&s, "- [%s](%s%s)\n", link.Text, baseURL, link.URL)
	}

	_, err := io.WriteString(w, s.String())
	return err
}

// Full writes the pages for users in one text, and a summary of each operation.
func (b *Book) Full(w io.Writer) error {
	var s strings.Builder
	for _, g := range b.Guides {
		if !g.Internal {
			s.WriteString(strings.TrimSpace(g.Source) + "\n\n")
		}
	}

	s.WriteString("# Operations\n")
	described := map[string]bool{} // lines of fields, which many operations share
	for _, o := range b.Operations() {
		fmt.Fprintf(&s, "\n## %s %s\n\n%s. %s\n", o.Method, o.Path, o.Summary, o.Description)
		var again []string
		for f := range o.Accepts() {
			line := "- `" + f.Name + "` " + fmt.Sprintf("(%s): %s %s\n", f.Type, f.Description, f.Limits)
			if described[line] {
				again = append(again, "`"+f.Name+"`")
				continue
			}
			described[line] = true
			s.WriteString(line)
		}

		if len(again) > 0 {
			fmt.Fprintf(&s, "- As above: %s\n", strings.Join(again, ", "))
		}
	}

	_, err := io.WriteString(w, s.String())
	return err
}
