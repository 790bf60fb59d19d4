package office

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/relaypdf/relaypdf/render/engine"
)

// EmbedJob makes one file of an HTML document, for engine.Job: fetched files are embedded as data: URLs. Its result
// is an EmbedResult as JSON, its output the document.
const EmbedJob = "office.embed"

// EmbedResult is the report of an EmbedJob.
type EmbedResult struct {
	// Nowhere are PageResult's.
	Nowhere []string
	// Omitted are the addresses for which there was no room.
	Omitted []string
	// Images is the number of images that the document refers to.
	Images int
}

// maxEmbedded is the maximum growth of a document. It may contain a reference many times.
const maxEmbedded = 100 << 20

// embedder is a document that becomes one file.
type embedder struct {
	office   bool
	host     string // of PageArgs.Address, unless that is public
	embedded int64
	depth    int
	data     map[dataKey]string // data: URLs that were made
	omitted  []string
	failed   error
}

// dataKey is a file in a style sheet at a depth of imports.
type dataKey struct {
	name  string
	depth int
}

// embedWhole makes one file of a document.
func embedWhole(_ context.Context, w *engine.Work, args PageArgs) ([]byte, error) {
	p, err := readPage(w, args)
	if err != nil {
		return nil, err
	}

	p.embedder = &embedder{office: args.Office, data: map[dataKey]string{}}
	if p.base != nil && !args.Public {
		p.embedder.host = p.base.Host
	}

	result := EmbedResult{}
	p.each(func(n *html.Node) {
		if n.DataAtom == atom.Img {
			result.Images++
		}
	})

	if err := p.embed(); err != nil {
		return nil, err
	}
	if args.Office {
		p.each(p.finishImage)
	}

	content, err := p.render(first(p.root, atom.Head)) // The parser makes one.
	if err != nil {
		return nil, err
	}
	const output = "whole.html"
	if err := os.WriteFile(w.Path(output), content, 0o600); err != nil {
		return nil, err
	}

	w.Output(output)
	result.Nowhere = p.nowhere
	result.Omitted = p.embedder.omitted
	return json.Marshal(result)
}

// simplify removes elements that LibreOffice does not read.
func (p *htmlPage) simplify() {
	p.each(func(n *html.Node) {
		if n.DataAtom == atom.Script && n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
			return strings.HasPrefix(a.Key, "on") || a.Key == "action" || a.Key == "formaction" ||
				a.Key == "cite" || a.Key == "longdesc"
		})
	})
}

// completeLink gives a link its whole URL if the document has a base. Links that only work on the document's own
// machine lose their URL.
func (p *htmlPage) completeLink(n *html.Node) {
	for i := range n.Attr {
		a := &n.Attr[i]
		if a.Key != "href" || strings.HasPrefix(a.Val, "#") {
			continue
		}

		if resolved := p.resolve(a.Val, p.base); resolved != nil && resolved.Host != p.embedder.host {
			if parsed, err := url.Parse(strings.TrimSpace(a.Val)); err == nil {
				resolved.Fragment = parsed.Fragment
			}
			a.Val = resolved.String()
			continue
		}

		lower := strings.ToLower(strings.TrimSpace(a.Val))
		local := strings.HasPrefix(lower, "file:") || strings.HasPrefix(lower, "/") ||
			strings.HasPrefix(lower, "../../..")
		if p.embedder.office && local {
			n.Attr = slices.Delete(n.Attr, i, i+1)
			return
		}
	}
}

// inlineSheet replaces a link to a style sheet with the style sheet.
func (p *htmlPage) inlineSheet(n *html.Node) {
	address := p.embedAddress(attribute(n, "href"), p.base, true)
	media := attribute(n, "media")

	if content, ok := dataContent(address); ok && len(content) > 0 {
		style := &html.Node{Type: html.ElementNode, Data: "style", DataAtom: atom.Style}
		if media != "" {
			style.Attr = []html.Attribute{{Key: "media", Val: media}}
		}

		// In an element, the end tag of a style would end the element.
		text := strings.ReplaceAll(string(content), "</", `<\/`)
		style.AppendChild(&html.Node{Type: html.TextNode, Data: text})
		n.Parent.InsertBefore(style, n)
	}
	n.Parent.RemoveChild(n)
}

// dataAddress returns a fetched file as a data: URL. address is its original URL.
func (p *htmlPage) dataAddress(address, name string) string {
	w := p.embedder
	key := dataKey{name, w.depth}
	data, known := w.data[key]

	if !known && w.embedded <= maxEmbedded {
		content, err := os.ReadFile(p.work.Path(name))
		if err != nil {
			w.failed = fmt.Errorf("reference: %w", err)
			return nothing
		}
		kind := mediaType(content)
		if strings.HasSuffix(name, StyleExtension) {
			kind = "text/css"
			content = p.wholeSheet(content, address)
		}
		data = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(content)
		w.data[key] = data
	}

	if w.embedded += int64(len(data)); w.embedded > maxEmbedded {
		if len(w.omitted) < maxNowhere && !slices.Contains(w.omitted, address) {
			w.omitted = append(w.omitted, address)
		}
		return nothing
	}
	return data
}

// maxImports is the maximum nesting depth of style sheet imports.
const maxImports = 4

// wholeSheet returns a style sheet with its references embedded.
func (p *htmlPage) wholeSheet(content []byte, address string) []byte {
	base, err := url.Parse(address)
	if err != nil || p.embedder.depth >= maxImports {
		return nil
	}
	p.embedder.depth++
	defer func() { p.embedder.depth-- }()
	return []byte(p.embedStyle(string(toUTF8(content, "")), base))
}

// mediaType returns the media type of a file, by its content.
func mediaType(content []byte) string {
	kind := http.DetectContentType(content)
	if strings.HasPrefix(kind, "text/") && bytes.Contains(content[:min(len(content), 4096)], []byte("<svg")) {
		return "image/svg+xml"
	}
	return kind
}

// finishImage changes an image into a form that LibreOffice embeds: LibreOffice accepts Base64 only, and shows the
// text of a missing image.
func (p *htmlPage) finishImage(n *html.Node) {
	for i, a := range n.Attr {
		if a.Key != "src" && a.Key != "background" {
			continue
		}
		content, ok := dataContent(a.Val)
		if ok && len(content) > 0 {
			head, _, _ := strings.Cut(a.Val, ",")
			if !strings.HasSuffix(strings.ToLower(strings.TrimSpace(head)), ";base64") {
				n.Attr[i].Val = "data:" + mediaType(content) + ";base64," + base64.StdEncoding.EncodeToString(content)
			}
			return
		}
		n.Attr = slices.Delete(n.Attr, i, i+1)
		break
	}

	if n.DataAtom == atom.Img && n.Parent != nil && attribute(n, "src") == "" {
		n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: attribute(n, "alt")}, n)
		n.Parent.RemoveChild(n)
	}
}

func isData(address string) bool {
	const scheme = "data:"
	return len(address) >= len(scheme) && strings.EqualFold(address[:len(scheme)], scheme)
}

// dataContent returns the content of a data: URL.
func dataContent(address string) (content []byte, ok bool) {
	if !isData(address) {
		return nil, false
	}

	head, body, ok := strings.Cut(address[len("data:"):], ",")
	if !ok {
		return nil, false
	}
	if text, err := url.PathUnescape(body); err == nil {
		body = text
	}

	if strings.HasSuffix(strings.ToLower(strings.TrimSpace(head)), ";base64") {
		body = strings.Join(strings.Fields(body), "")
		content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
		return content, err == nil
	}
	return []byte(body), true
}
