package office

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/relaypdf/relaypdf/render/engine"
)

// htmlPage is an HTML document on its way to the printer.
type htmlPage struct {
	work  *engine.Work
	root  *html.Node
	base  *url.URL // that relative addresses are resolved with, or nil
	files map[string]string
	// missing lists the files that the document refers to and that were not fetched.
	missing  []Reference
	nowhere  []string // of PageResult
	scripts  bool
	headings []markedHeading
	// embedder is set if the document becomes one file.
	embedder *embedder
}

// markedHeading is a heading and the mark in it.
type markedHeading struct {
	mark  string
	title string
	level int
}

// pageStyle precedes the document's own styles.
//
//go:embed page.css
var pageStyle string

// readPage parses the document of a job.
func readPage(w *engine.Work, args PageArgs) (*htmlPage, error) {
	content, err := os.ReadFile(w.Path(PageInput))
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}

	contentType := args.ContentType
	if contentType == "" {
		contentType = "text/html"
	}
	root, err := html.Parse(bytes.NewReader(toUTF8(content, contentType)))
	if err != nil {
		return nil, &Error{Reason: Damaged, Detail: err.Error()}
	}

	p := &htmlPage{work: w, root: root, files: args.Files}
	if args.Office {
		p.simplify()
	}
	if args.Address != "" {
		if p.base, err = url.Parse(args.Address); err != nil {
			return nil, fmt.Errorf("address: %w", err)
		}
	}
	return p, nil
}

// readEmbedded is readPage for a document whose references become those to files.
func readEmbedded(w *engine.Work, args PageArgs) (*htmlPage, error) {
	p, err := readPage(w, args)
	if err != nil {
		return nil, err
	}
	err = p.embed()
	return p, err
}

// each calls f with every element, before its children. It follows no element
// that f takes out of the document.
func (p *htmlPage) each(f func(*html.Node)) {
	for _, n := range slices.Collect(p.root.Descendants()) {
		if n.Type == html.ElementNode {
			f(n)
		}
	}
}

// embed makes the document refer to files of the job's folder, and to nothing if there are none: it removes content
// that could not be printed anyway.
func (p *htmlPage) embed() error {
	p.each(func(n *html.Node) {
		if n.DataAtom == atom.Base {
			p.setBase(attribute(n, "href"))
			n.Parent.RemoveChild(n)
		}
	})

	p.each(func(n *html.Node) {
		if n.Parent == nil {
			return
		}

		switch n.DataAtom {
		case atom.Iframe, atom.Frame, atom.Object, atom.Embed, atom.Applet,
			atom.Video, atom.Audio, atom.Source, atom.Track:
			n.Parent.RemoveChild(n)
			return
		case atom.Meta:
			// A refresh, or an encoding that it no longer has.
			if attribute(n, "http-equiv") != "" || attribute(n, "charset") != "" {
				n.Parent.RemoveChild(n)
			}
			return
		case atom.Link:
			p.embedLink(n)
			return
		case atom.Style:
			if n.FirstChild != nil {
				n.FirstChild.Data = p.embedStyle(n.FirstChild.Data, p.base)
			}
		case atom.Script:
			p.scripts = true
			p.embedAttribute(n, "src")
		case atom.A, atom.Area:
			if p.embedder != nil {
				p.completeLink(n)
			}
			return // else mark sees to links
		}
		p.embedElement(n)
	})

	if p.embedder != nil {
		return p.embedder.failed
	}
	return p.embedSheets()
}

// setBase takes the first address that the document gives as its own.
func (p *htmlPage) setBase(address string) {
	if resolved := p.resolve(address, p.base); resolved != nil {
		p.base = resolved
	}
}

// embedElement sees to the attributes that any element may have.
func (p *htmlPage) embedElement(n *html.Node) {
	if n.DataAtom == atom.Img && attribute(n, "src") == "" {
		if first := strings.Fields(attribute(n, "srcset")); len(first) > 0 {
			n.Attr = append(n.Attr, html.Attribute{Key: "src", Val: strings.TrimSuffix(first[0], ",")})
		}
	}

	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "srcset" || a.Key == "ping" })
	for i, a := range n.Attr {
		switch {
		case a.Key == "style":
			n.Attr[i].Val = p.embedStyle(a.Val, p.base)
		case strings.HasPrefix(a.Key, "on"):
			p.scripts = true
		case a.Key == "src" && n.DataAtom != atom.Script, a.Key == "background", a.Key == "poster", a.Key == "data",
			a.Key == "href" && n.Namespace == "svg":
			n.Attr[i].Val = p.embedAddress(a.Val, p.base, false)
		}
	}
}

func (p *htmlPage) embedAttribute(n *html.Node, name string) {
	for i, a := range n.Attr {
		if a.Key == name {
			n.Attr[i].Val = p.embedAddress(a.Val, p.base, false)
		}
	}
}

// embedLink keeps style sheets of the links to other files.
func (p *htmlPage) embedLink(n *html.Node) {
	if !slices.Contains(strings.Fields(strings.ToLower(attribute(n, "rel"))), "stylesheet") {
		n.Parent.RemoveChild(n)
		return
	}
	if p.embedder != nil {
		p.inlineSheet(n)
		return
	}

	for i, a := range n.Attr {
		if a.Key == "href" {
			n.Attr[i].Val = p.embedAddress(a.Val, p.base, true)
		}
	}
}

// resolve returns the URL of a reference, or nil if it cannot be fetched.
func (p *htmlPage) resolve(reference string, base *url.URL) *url.URL {
	parsed, err := url.Parse(strings.TrimSpace(reference))
	if err != nil {
		return nil
	}
	if base != nil {
		parsed = base.ResolveReference(parsed)
	}
	if (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return nil
	}

	parsed.Fragment = ""
	parsed.RawFragment = ""
	return parsed
}

// maxNowhere bounds PageResult.Nowhere.
const maxNowhere = 50

// nothing is an address that leads nowhere without an error.
const nothing = "data:,"

// embedAddress returns the name of the file that was fetched from an address.
func (p *htmlPage) embedAddress(reference string, base *url.URL, style bool) string {
	trimmed := strings.TrimSpace(reference)
	if isData(trimmed) || strings.HasPrefix(trimmed, "#") {
		return trimmed
	}

	resolved := p.resolve(trimmed, base)
	if resolved == nil {
		if trimmed != "" && len(p.nowhere) < maxNowhere && !slices.Contains(p.nowhere, trimmed) {
			p.nowhere = append(p.nowhere, trimmed)
		}
		return nothing
	}

	address := resolved.String()
	if name, known := p.files[address]; known {
		switch {
		case name == "":
			return nothing
		case p.embedder != nil:
			return p.dataAddress(address, name)
		}
		return name
	}

	found := Reference{Address: address, Style: style}
	if !slices.Contains(p.missing, found) {
		p.missing = append(p.missing, found)
	}
	return nothing
}

// styleReference finds the addresses in style sheets.
var styleReference = regexp.MustCompile(
	`(?i)(@import\s+)?url\(\s*("[^"]*"|'[^']*'|[^)'"]*)\s*\)|@import\s+("[^"]*"|'[^']*')`)

// embedStyle is embedAddress for the references of a style sheet.
func (p *htmlPage) embedStyle(css string, base *url.URL) string {
	return styleReference.ReplaceAllStringFunc(css, func(found string) string {
		parts := styleReference.FindStringSubmatch(found)
		address := strings.Trim(parts[2]+parts[3], `"' `)
		imported := parts[1] != "" || parts[3] != ""
		name := p.embedAddress(address, base, imported)
		name = strings.NewReplacer(`"`, "%22", "\n", "", `\`, "%5C").Replace(name)
		if imported {
			return `@import url("` + name + `")`
		}
		return `url("` + name + `")`
	})
}

// embedSheets sees to the style sheets that were fetched.
func (p *htmlPage) embedSheets() error {
	for address, name := range p.files {
		if !strings.HasSuffix(name, StyleExtension) {
			continue
		}

		base, err := url.Parse(address)
		if err != nil {
			continue
		}
		content, err := os.ReadFile(p.work.Path(name))
		if err != nil {
			return fmt.Errorf("style sheet: %w", err)
		}

		text := p.embedStyle(string(toUTF8(content, "")), base)
		if err := os.WriteFile(p.work.Path(name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("style sheet: %w", err)
		}
	}
	return nil
}

// StyleExtension is the extension of style sheets, and of no other file.
const StyleExtension = ".css"

// write writes the document to a file of the job's folder.
func (p *htmlPage) write(name string) error {
	head := first(p.root, atom.Head)
	if head == nil {
		return errors.New("the parser made no head")
	}

	style := &html.Node{Type: html.ElementNode, Data: "style", DataAtom: atom.Style}
	style.AppendChild(&html.Node{Type: html.TextNode, Data: pageStyle})
	head.InsertBefore(style, head.FirstChild)

	content, err := p.render(head)
	if err != nil {
		return err
	}
	return os.WriteFile(p.work.Path(name), content, 0o600)
}

// render returns the document, with its encoding declared in the head.
func (p *htmlPage) render(head *html.Node) ([]byte, error) {
	charset := &html.Node{
		Type: html.ElementNode, Data: "meta", DataAtom: atom.Meta,
		Attr: []html.Attribute{{Key: "charset", Val: "utf-8"}},
	}
	head.InsertBefore(charset, head.FirstChild)
	var out bytes.Buffer
	if err := html.Render(&out, p.root); err != nil {
		return nil, &Error{Reason: Damaged, Detail: err.Error()}
	}
	return out.Bytes(), nil
}

// language returns the document's declared language, or "".
func (p *htmlPage) language() string {
	if root := first(p.root, atom.Html); root != nil {
		return attribute(root, "lang")
	}
	return ""
}

// first returns the first element of a kind, or nil.
func first(root *html.Node, kind atom.Atom) *html.Node {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == kind {
			return n
		}
	}
	return nil
}

// attribute returns the value of an attribute, or "".
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
