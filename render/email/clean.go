package email

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxPictures bounds the images that are embedded in a message's page, in bytes.
const maxPictures = 20 << 20

// cleaner makes HTML harmless: it takes scripts out, and all that would be fetched.
type cleaner struct {
	message *Message
	budget  int      // bytes that images may still put into the page
	remote  []string // URLs of omitted content, each once
	seen    map[string]bool

	styles []*html.Node
	body   *html.Node
}

// clean returns HTML that can be part of our page. Style sheets come first, and the body becomes an ordinary
// element.
func (c *cleaner) clean(source string) (string, error) {
	document, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return "", err
	}

	c.styles = nil
	c.body = nil
	c.nodes(document)
	wrapper := element("div", "class", "mail-body")
	for _, node := range c.styles {
		node.Parent.RemoveChild(node)
		wrapper.AppendChild(node)
	}

	if c.body != nil {
		wrapper.Attr = append(wrapper.Attr, bodyAttributes(c.body.Attr)...)
		for child := c.body.FirstChild; child != nil; child = c.body.FirstChild {
			c.body.RemoveChild(child)
			wrapper.AppendChild(child)
		}
	}

	var out strings.Builder
	err = html.Render(&out, wrapper)
	return out.String(), err
}

// element makes an element with attributes: names and values in turns.
func element(name string, attributes ...string) *html.Node {
	node := &html.Node{Type: html.ElementNode, Data: name, DataAtom: atom.Lookup([]byte(name))}
	for i := 0; i+1 < len(attributes); i += 2 {
		node.Attr = append(node.Attr, html.Attribute{Key: attributes[i], Val: attributes[i+1]})
	}
	return node
}

// bodyAttributes returns the attributes of a body that any element can have.
func bodyAttributes(attributes []html.Attribute) (kept []html.Attribute) {
	style := ""
	for _, a := range attributes {
		switch value := strings.Map(plainValue, a.Val); a.Key {
		case "bgcolor":
			style = "background-color:" + value + ";" + style
		case "text":
			style = "color:" + value + ";" + style
		case "style":
			style += a.Val
		case "dir", "lang":
			kept = append(kept, a)
		}
	}

	return append(kept, html.Attribute{Key: "style", Val: style})
}

// plainValue keeps the characters of colours.
func plainValue(r rune) rune {
	if r == '#' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return -1
}

// dropped are elements that go with all that is in them.
var dropped = []atom.Atom{
	atom.Script, atom.Iframe, atom.Frame, atom.Frameset, atom.Noframes, atom.Object, atom.Embed, atom.Applet,
	atom.Base, atom.Meta, atom.Link, atom.Template, atom.Noscript, atom.Title, atom.Audio, atom.Video, atom.Source,
	atom.Track, atom.Svg, atom.Math, atom.Slot, atom.Plaintext, atom.Xmp, atom.Noembed, atom.Canvas, atom.Param,
}

func (c *cleaner) nodes(parent *html.Node) {
	for node := parent.FirstChild; node != nil; {
		next := node.NextSibling
		switch {
		case node.Type == html.CommentNode,
			node.Type == html.ElementNode && (slices.Contains(dropped, node.DataAtom) || node.Namespace != ""):
			parent.RemoveChild(node)
		case node.Type == html.ElementNode:
			c.element(node)
			c.nodes(node)
		default:
			c.nodes(node)
		}

		node = next
	}
}

func (c *cleaner) element(node *html.Node) {
	switch node.DataAtom {
	case atom.Body:
		c.body = node
	case atom.Style:
		c.styles = append(c.styles, node)
		for text := node.FirstChild; text != nil; text = text.NextSibling {
			scoped := bodySelector.ReplaceAllString(c.css(text.Data), "$1.mail-body$2")
			text.Data = strings.ReplaceAll(scoped, "</", `<\/`)
		}
	}

	kept := node.Attr[:0]
	pictured := false
	for _, a := range node.Attr {
		if c.attribute(&a) {
			kept = append(kept, a)
			pictured = pictured || a.Key == "src"
		}
	}

	if node.Attr = kept; node.DataAtom == atom.Img && !pictured {
		leaveOut(node)
	}
}

// bodySelector finds the whole page in style sheets.
var bodySelector = regexp.MustCompile(`(?i)(^|[\s,}>+~])(?:html|body)([\s.,{:#\[>+~]|$)`)

// attribute makes one harmless, or reports that it has to go.
func (c *cleaner) attribute(a *html.Attribute) bool {
	switch a.Key {
	case "srcset", "ping", "action", "formaction", "is", "slot", "part", "autofocus", "poster", "manifest",
		"popover", "data":
		return false
	case "src", "background":
		a.Val = c.inlineImage(a.Val)
		return a.Val != ""
	case "href":
		return harmless(a.Val)
	case "style":
		a.Val = c.css(a.Val)
	}
	return !strings.HasPrefix(a.Key, "on")
}

// leaveOut replaces a missing image with a box that has its name, and removes tracking
// pixels.
func leaveOut(node *html.Node) {
	var name string
	width, height := -1, -1
	for _, a := range node.Attr {
		switch a.Key {
		case "alt":
			name = a.Val
		case "width":
			width = pixels(a.Val)
		case "height":
			height = pixels(a.Val)
		}
	}

	node.Data = "span"
	node.DataAtom = atom.Span
	node.Attr = nil
	const dot = 2 // an image of that size is a tracking pixel
	if width >= 0 && width <= dot || height >= 0 && height <= dot {
		return
	}

	style := "display:inline-block;box-sizing:border-box;max-width:100%;overflow:hidden;vertical-align:middle;" +
		"padding:2px 6px;border:1px dashed #aab2bb;color:#6a7077;background:#f6f7f9;" +
		"font:11px/1.4 'Liberation Sans',sans-serif;text-align:left;"
	if width > 0 {
		style += "width:" + strconv.Itoa(width) + "px;"
	}
	if height > 0 && name == "" {
		style += "height:" + strconv.Itoa(min(height, maxBox)) + "px;"
	}

	if name = oneLine(name); name == "" {
		name = "Picture"
	}
	node.Attr = []html.Attribute{{Key: "style", Val: style}}
	node.AppendChild(&html.Node{Type: html.TextNode, Data: name})
}

// maxBox is the maximum height of a missing image's box, in pixels.
const maxBox = 120

// pixels reads a length of an attribute, or returns -1.
func pixels(text string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), "px"))
	const maximum = 10_000
	if err != nil || n < 0 || n > maximum {
		return -1
	}
	return n
}

// harmless reports whether a link may stay.
func harmless(address string) bool {
	u, err := url.Parse(strings.TrimSpace(address))
	return err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "mailto" || u.Scheme == "tel")
}

var cssAddress = regexp.MustCompile(`(?is)url\(\s*(?:"([^"]*)"|'([^']*)'|([^'")]*))\s*\)|@import[^;]*;?`)

// css embeds the message's own images in style sheets, and removes other URLs. URLs with
// another spelling are not fetched either: the page's policy forbids it.
func (c *cleaner) css(text string) string {
	return cssAddress.ReplaceAllStringFunc(text, func(found string) string {
		part := cssAddress.FindStringSubmatch(found)
		if picture := c.inlineImage(part[1] + part[2] + part[3]); picture != "" {
			return `url("` + strings.NewReplacer(`"`, "%22", "\n", "", "\\", "").Replace(picture) + `")`
		}
		if strings.HasPrefix(found, "@") {
			return ""
		}
		return "none"
	})
}

// inlineImage returns the replacement for an image's URL: the data: URL of an image that came
// with the message, or "".
func (c *cleaner) inlineImage(address string) string {
	address = strings.TrimSpace(address)
	lower := strings.ToLower(address)

	switch {
	case strings.HasPrefix(lower, "data:image/"):
		if !c.afford(len(address)) {
			return ""
		}
		return address
	case strings.HasPrefix(lower, "cid:"):
		id, err := url.PathUnescape(address[len("cid:"):])
		if err != nil {
			id = address[len("cid:"):]
		}
		return c.own(func(f *file) bool { return f.id != "" && strings.EqualFold(f.id, id) })
	case address == "":
		return ""
	case strings.Contains(lower, "://") || strings.HasPrefix(lower, "//"):
		if !c.seen[address] {
			c.seen[address] = true
			c.remote = append(c.remote, address)
		}
		return ""
	}
	return c.own(func(f *file) bool { return f.Name == address })
}

// afford takes the bytes of an image from the budget, or notes that it is left out.
func (c *cleaner) afford(bytes int) bool {
	if bytes > c.budget {
		c.message.note(fmt.Sprintf("The message has more than %d MB of images; some were omitted.", maxPictures>>20))
		return false
	}
	c.budget -= bytes
	return true
}

// own is a file of the message as an address.
func (c *cleaner) own(is func(*file) bool) string {
	for _, f := range c.message.Files {
		if is(f) && shows(f.Type) && c.afford(len(f.Content)) {
			f.shown = true
			return "data:" + f.Type + ";base64," + base64.StdEncoding.EncodeToString(f.Content)
		}
	}
	return ""
}
