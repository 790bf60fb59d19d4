package office

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// wkhtmltopdf writes a link as a rectangle with a URL, and has no destinations within the
// document. So destinations get a link too: of one pixel, and with a URL that encodes the
// destination. Links to a destination get another such URL. (*pdfFile).link turns them into
// real destinations and links.
const (
	markScheme = "relaypdf-mark:"
	gotoScheme = "relaypdf-goto:"
	// markStyle makes a mark part of its line, so that it is on the same page, without taking space.
	markStyle = "display:inline-block!important;position:static!important;float:none!important;" +
		"visibility:visible!important;" +
		"width:1px!important;height:1px!important;margin:0 -1px 0 0!important;" +
		"padding:0!important;border:0!important;background:none!important"
	// maxHeadings bounds a table of contents.
	maxHeadings = 5000
	// longestTitle bounds the title of a heading in characters.
	longestTitle = 300
)

// mark marks the headings, and the places that links within the document lead
// to. Links to files of the job's folder go.
func (p *htmlPage) mark(headings bool) {
	// The document's own links first, which may not have our addresses.
	targets := map[string]string{}
	p.each(func(n *html.Node) {
		if n.DataAtom == atom.A || n.DataAtom == atom.Area {
			p.rewriteLink(n, targets)
		}
	})

	if headings {
		p.each(p.markHeading)
	}
	if len(targets) == 0 {
		return
	}

	p.each(func(n *html.Node) {
		for _, name := range []string{attribute(n, "id"), nameOf(n)} {
			if mark, ok := targets[name]; ok && name != "" {
				delete(targets, name)
				insertMark(n, mark)
			}
		}
	})
}

// nameOf returns the name of an anchor.
func nameOf(n *html.Node) string {
	if n.DataAtom != atom.A {
		return ""
	}
	return attribute(n, "name")
}

// markHeading marks an element if it is a heading with a text.
func (p *htmlPage) markHeading(n *html.Node) {
	levels := map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}
	level := levels[n.DataAtom]
	title := ""
	if level > 0 {
		title = titleOf(n)
	}
	if title == "" || len(p.headings) >= maxHeadings {
		return
	}

	h := markedHeading{mark: "h" + strconv.Itoa(len(p.headings)), title: title, level: level}
	p.headings = append(p.headings, h)
	insertMark(n, h.mark)
}

// titleOf returns the text of a heading in one line.
func titleOf(n *html.Node) string {
	var text strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode && d.Parent.DataAtom != atom.Script && d.Parent.DataAtom != atom.Style:
			text.WriteString(d.Data)
		case d.DataAtom == atom.Br:
			text.WriteString(" ")
		case d.DataAtom == atom.Img:
			text.WriteString(" " + attribute(d, "alt") + " ")
		}
	}

	title := []rune(strings.Join(strings.Fields(text.String()), " "))
	if len(title) > longestTitle {
		title = append(title[:longestTitle-1], '…')
	}
	return string(title)
}

// rewriteLink makes a link one that the result can have: to a place in the
// document, whose mark it adds to wanted, or to an address of the outside.
func (p *htmlPage) rewriteLink(n *html.Node, targets map[string]string) {
	for i, a := range n.Attr {
		if a.Key != "href" {
			continue
		}
		address := p.linkAddress(strings.TrimSpace(a.Val), targets)
		if address == "" {
			n.Attr = append(n.Attr[:i:i], n.Attr[i+1:]...)
		} else {
			n.Attr[i].Val = address
		}
		return
	}
}

func (p *htmlPage) linkAddress(href string, targets map[string]string) string {
	if fragment, ok := strings.CutPrefix(href, "#"); ok {
		if decoded, err := url.PathUnescape(fragment); err == nil {
			fragment = decoded
		}
		if fragment == "" {
			return ""
		}
		if targets[fragment] == "" {
			targets[fragment] = "f" + strconv.Itoa(len(targets))
		}
		return gotoScheme + targets[fragment]
	}

	parsed, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if p.base != nil {
		parsed = p.base.ResolveReference(parsed)
	}

	switch parsed.Scheme {
	case "http", "https", "mailto", "tel":
		return parsed.String()
	}
	return ""
}

// insertMark puts a mark at the beginning of an element, or before it if the element cannot contain one.
func insertMark(n *html.Node, name string) {
	mark := &html.Node{
		Type: html.ElementNode, Data: "a", DataAtom: atom.A,
		Attr: []html.Attribute{{Key: "href", Val: markScheme + name}, {Key: "style", Val: markStyle}},
	}

	groups := []atom.Atom{atom.Tr, atom.Tbody, atom.Thead, atom.Tfoot, atom.Option, atom.Optgroup}
	for slices.Contains(groups, n.DataAtom) && n.Parent != nil {
		n = n.Parent
	}

	switch n.DataAtom {
	case atom.Html, atom.Head:
	case atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Select, atom.Textarea, atom.Img, atom.Input, atom.Br, atom.Hr,
		atom.Svg, atom.Canvas, atom.A:
		n.Parent.InsertBefore(mark, n)
	default:
		n.InsertBefore(mark, n.FirstChild)
	}
}
