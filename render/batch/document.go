package batch

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Document is a document that can be a part of a joined one.
type Document struct {
	Title string

	key       string // equal for documents that can be joined
	root      string // the attributes of the root element, without its variables
	variables []declaration
	body      string // the element, as bodyName
	style     *style
}

const (
	// Prefix begins the names of the elements of a joined document. Documents with such elements are not joined.
	Prefix   = "rp-"
	bodyName = Prefix + "body"
	rootName = Prefix + "root"
	headName = Prefix + "head"
	endName  = Prefix + "end"
	// numberStyle is the counter style of the numbers of pages, which are 1.
	numberStyle = Prefix + "number"
)

// Read reads a document. It returns nil unless each of its pages can be a page of a joined document: see the package.
func Read(source string) *Document {
	if strings.Contains(source, "\x00") || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(source[:min(len(source), maxBlank)])), "<!doctype html>") {
		return nil
	}
	tree, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return nil
	}
	d := &Document{}
	var root *html.Node
	for n := tree.FirstChild; n != nil; n = n.NextSibling {
		if n.Type == html.ElementNode {
			root = n
		}
	}
	if root == nil || !d.readRoot(root) {
		return nil
	}
	return d
}

// maxBlank is the number of bytes in which the document type must begin.
const maxBlank = 200

func (d *Document) readRoot(root *html.Node) bool {
	for _, a := range root.Attr {
		switch a.Key {
		case "lang", "dir", "class":
			d.root += " " + a.Key + `="` + html.EscapeString(a.Val) + `"`
		case "style":
			if !d.readVariables(a.Val) {
				return false
			}
		default:
			return false
		}
	}
	var css strings.Builder
	var body *html.Node
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		switch {
		case n.Type == html.ElementNode && n.DataAtom == atom.Head:
			if !d.readHead(n, &css) {
				return false
			}
		case n.Type == html.ElementNode && n.DataAtom == atom.Body && body == nil:
			body = n
		case n.Type == html.ElementNode:
			return false
		}
	}
	var ok bool
	if d.style, ok = readStyle(css.String()); !ok || body == nil || !d.readBody(body) {
		return false
	}
	names := ""
	for _, v := range d.variables {
		names += v.name + ";"
		// The records' values differ, and the root element is that of all.
		if strings.Contains(d.style.shared, v.name) {
			return false
		}
	}
	d.key = strings.Join([]string{d.root, names, d.style.shared, d.style.tall, d.style.skeleton}, "\x00")
	return true
}

// readVariables reads the style of the root element.
func (d *Document) readVariables(css string) bool {
	list, ok := tokens(css)
	if ok {
		d.variables, ok = declarations(list)
	}
	return ok && !slices.ContainsFunc(d.variables, func(v declaration) bool {
		return !strings.HasPrefix(v.name, "--") || slices.ContainsFunc(v.value, func(t token) bool { return t.is("{") || t.is("!") || t.kind == call })
	})
}

// readHead collects the style sheets.
func (d *Document) readHead(head *html.Node, css *strings.Builder) bool {
	for n := head.FirstChild; n != nil; n = n.NextSibling {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Title:
			d.Title = strings.Join(strings.Fields(content(n)), " ")
		case atom.Style:
			if len(n.Attr) > 0 || strings.Contains(content(n), "</") {
				return false
			}
			css.WriteString(content(n) + "\n")
		case atom.Meta:
			for _, a := range n.Attr {
				known := a.Key == "charset" || a.Key == "content" ||
					a.Key == "name" && slices.Contains([]string{"viewport", "author", "description", "generator", "keywords"}, strings.ToLower(a.Val)) ||
					a.Key == "http-equiv" && strings.EqualFold(a.Val, "content-type")
				if !known {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

func content(n *html.Node) string {
	var text strings.Builder
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.TextNode {
			text.WriteString(child.Data)
		}
	}
	return text.String()
}

// elements are the names of the elements that a joined document can have. Others change the parsing of what follows,
// refer to other parts of the document, or have content of their own.
var elements = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(`a abbr address article aside b bdi bdo blockquote br caption cite code col colgroup data dd del dfn div dl dt em
		figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd label li main mark nav ol p pre q s samp section small span strong sub sup
		table tbody td tfoot th thead time tr u ul var wbr rp rt ruby
		svg g path circle rect line polyline polygon ellipse text tspan`) {
		names[name] = true
	}
	return names
}()

// readBody checks the content of the body and writes it.
func (d *Document) readBody(body *html.Node) bool {
	if !acceptable(body, true) {
		return false
	}
	for _, a := range body.Attr {
		if a.Key != "class" && a.Key != "style" && a.Key != "id" && !strings.HasPrefix(a.Key, "data-") {
			return false
		}
	}
	body.Data, body.DataAtom = bodyName, 0
	var out strings.Builder
	if err := html.Render(&out, body); err != nil {
		return false
	}
	d.body = out.String()
	return true
}

// acceptable checks an element and those in it, and removes comments.
func acceptable(n *html.Node, top bool) bool {
	if n.Namespace == "svg" && (n.Data == "title" || n.Data == "desc") && len(n.Attr) == 0 && n.FirstChild != nil && n.FirstChild == n.LastChild && n.FirstChild.Type == html.TextNode {
		return true // A description, which is not shown.
	}
	if !top && !elements[n.Data] || !slices.Contains([]string{"", "svg"}, n.Namespace) {
		return false
	}
	for _, a := range n.Attr {
		if !acceptableAttribute(n, a) {
			return false
		}
	}
	var following *html.Node
	for child := n.FirstChild; child != nil; child = following {
		following = child.NextSibling
		switch child.Type {
		case html.CommentNode:
			n.RemoveChild(child)
		case html.TextNode:
		case html.ElementNode:
			if !acceptable(child, false) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func acceptableAttribute(n *html.Node, a html.Attribute) bool {
	switch {
	case a.Namespace != "" || strings.HasPrefix(a.Key, "on") || strings.ContainsAny(a.Key, `"'<>/=& `):
		return false
	case a.Key == "style":
		list, ok := tokens(a.Val)
		if !ok {
			return false
		}
		declared, ok := declarations(list)
		return ok && harmless(declared)
	case a.Key == "href":
		return !strings.HasPrefix(strings.TrimSpace(a.Val), "#") && strings.TrimSpace(a.Val) != ""
	case a.Key == "name", a.Key == "usemap", a.Key == "ismap", a.Key == "popover", a.Key == "anchor", a.Key == "slot", a.Key == "is", a.Key == "loading", a.Key == "srcset", a.Key == "contenteditable", a.Key == "inert":
		return false
	case n.Namespace == "svg" && (strings.Contains(a.Val, "url(") || strings.Contains(a.Val, `\`)):
		return false
	}
	return true
}
