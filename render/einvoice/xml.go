package einvoice

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// node is an element. Its name has the customary prefix of its namespace.
type node struct {
	name     string
	text     string
	attrs    []attr
	children []*node
	// read means that the text is in the invoice.
	read bool
	// space is the namespace of a root.
	space string
}

type attr struct {
	name, value string
	read        bool
}

// namespaces are those of the documents, by their customary prefix.
var namespaces = map[string]string{
	"rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
	"ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
	"udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
	"qdt": "urn:un:unece:uncefact:data:standard:QualifiedDataType:100",
	"ubl": "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2",
	"cn":  "urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2",
	"cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
	"cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
	"ext": "urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2",
}

// prefixes are the prefixes by namespace.
var prefixes = func() map[string]string {
	byURI := map[string]string{}
	for prefix, uri := range namespaces {
		byURI[uri] = prefix
	}
	return byURI
}()

// ErrXML means that a document is not well-formed XML, or too deep or too large for an invoice.
var ErrXML = errors.New("not an XML document that can be read")

const (
	maxDepth = 40
	maxNodes = 1_000_000
)

// parseXML reads a document into a tree. Elements of unknown namespaces have names without a prefix.
func parseXML(document []byte) (*node, error) {
	if encoding := Encoding(document); encoding != "" {
		return nil, encodingError(encoding)
	}

	decoder := xml.NewDecoder(bytes.NewReader(document))
	decoder.CharsetReader = charset
	var stack []*node
	var texts [maxDepth + 1][]byte // of the elements of the stack: a text comes in as many parts as comments divide it
	var root *node
	count := 0

	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrXML, err)
		}
		if err := refuse(token, len(stack) == 0); err != nil {
			return nil, err
		}

		switch t := token.(type) {
		case xml.StartElement:
			n := &node{name: prefixed(t.Name)}
			for _, a := range t.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" &&
					a.Name.Space != "http://www.w3.org/2001/XMLSchema-instance" {
					n.attrs = append(n.attrs, attr{name: a.Name.Local, value: a.Value})
				}
			}
			if len(stack) > 0 {
				parent := stack[len(stack)-1]
				parent.children = append(parent.children, n)
			} else {
				root = n
				root.space = t.Name.Space
			}

			texts[len(stack)] = texts[len(stack)][:0]
			stack = append(stack, n)
			if count++; len(stack) > maxDepth || count > maxNodes {
				return nil, fmt.Errorf("%w: it has more than %d levels or %d elements", ErrXML, maxDepth, maxNodes)
			}
		case xml.EndElement:
			stack[len(stack)-1].text = string(texts[len(stack)-1])
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) > 0 {
				texts[len(stack)-1] = append(texts[len(stack)-1], t...)
			}
		}
	}

	if root == nil {
		return nil, fmt.Errorf("%w: it is empty", ErrXML)
	}
	return root, nil
}

func prefixed(name xml.Name) string {
	if prefix, ok := prefixes[name.Space]; ok {
		return prefix + ":" + name.Local
	}
	return name.Local
}

// refuse refuses a document type declaration, and what could hide one in another encoding. Nothing here loads what it
// names or expands its entities, but the next reader of the document may. Every e-invoice is read with this check,
// whether it is attached, read or checked.
func refuse(token xml.Token, outside bool) error {
	switch t := token.(type) {
	case xml.Directive:
		return fmt.Errorf("%w: it has a document type declaration (DOCTYPE), which e-invoices must not have", ErrXML)
	case xml.ProcInst:
		spaced := spacedEncoding.FindSubmatch(t.Inst)
		if t.Target == "xml" && spaced != nil && !strings.EqualFold(string(spaced[1]), "utf-8") {
			return encodingError(spaced[1])
		}
	case xml.CharData:
		if outside && strings.Trim(string(t), "\uFEFF \t\r\n") != "" {
			return fmt.Errorf("%w: it has text outside of its root element", ErrXML)
		}
	}

	return nil
}

// spacedEncoding matches an encoding in an XML declaration that the decoder overlooks.
var spacedEncoding = regexp.MustCompile(`encoding(?:\s+=\s*|\s*=\s+)["']([^"']*)["']`)

// Encoding returns the encoding of XML whose characters are not those of ASCII: UTF-16 or EBCDIC. It is empty for other
// content.
func Encoding(content []byte) string {
	start := content[:min(len(content), 4)] // bytes that tell encodings apart
	switch {
	case bytes.HasPrefix(start, []byte("\xFE\xFF")), bytes.HasPrefix(start, []byte("\xFF\xFE")),
		bytes.ContainsRune(start, 0) && bytes.ContainsRune(start, '<'):
		return "UTF-16"
	case string(start) == "\x4C\x6F\xA7\x94": // <?xm
		return "EBCDIC"
	}
	return ""
}

func encodingError[T string | []byte](name T) error {
	return fmt.Errorf("%w: the encoding is %.20q instead of UTF-8", ErrXML, name)
}

// charset reads the two older encodings that invoices are in.
func charset(name string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "us-ascii", "iso-8859-1":
		raw, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}

		var text strings.Builder
		for _, b := range raw {
			text.WriteRune(rune(b))
		}
		return strings.NewReader(text.String()), nil
	}
	return nil, fmt.Errorf("the encoding is %.20q instead of UTF-8", name)
}

// attr returns the value of an attribute.
func (n *node) attr(name string) (string, bool) {
	for _, a := range n.attrs {
		if a.name == name {
			return a.value, true
		}
	}
	return "", false
}

func (n *node) setAttr(name, value string) {
	for i := range n.attrs {
		if n.attrs[i].name == name {
			n.attrs[i].value = value
			return
		}
	}
	n.attrs = append(n.attrs, attr{name: name, value: value})
}

// local is the name without prefix.
func (n *node) local() string { return n.name[strings.IndexByte(n.name, ':')+1:] }

// render writes the document.
func (n *node) render() []byte {
	var out bytes.Buffer
	out.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")

	used := map[string]bool{}
	n.prefixes(used)
	root := strings.SplitN(n.name, ":", 2)[0]
	for _, prefix := range []string{"rsm", "ram", "udt", "qdt", "ubl", "cn", "cac", "cbc"} {
		if used[prefix] {
			n.attrs = append(n.attrs, attr{name: "xmlns:" + prefix, value: namespaces[prefix]})
		}
	}

	if root == "ubl" || root == "cn" { // which have their namespace by default, as everywhere
		n.name = n.local()
		for i := range n.attrs {
			if n.attrs[i].name == "xmlns:"+root {
				n.attrs[i].name = "xmlns"
			}
		}
	}

	n.write(&out, "")
	return out.Bytes()
}

func (n *node) prefixes(used map[string]bool) {
	if prefix, _, ok := strings.Cut(n.name, ":"); ok {
		used[prefix] = true
	}
	for _, child := range n.children {
		child.prefixes(used)
	}
}

func (n *node) write(out *bytes.Buffer, indent string) {
	out.WriteString(indent + "<" + n.name)
	for _, a := range n.attrs {
		out.WriteString(" " + a.name + `="` + escape(a.value) + `"`)
	}

	switch {
	case len(n.children) > 0:
		out.WriteString(">\n")
		for _, child := range n.children {
			child.write(out, indent+"  ")
		}
		out.WriteString(indent + "</" + n.name + ">\n")
	case n.text != "":
		out.WriteString(">" + escape(n.text) + "</" + n.name + ">\n")
	default:
		out.WriteString("/>\n")
	}
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r", "&#13;")

// escape writes a text without characters that XML cannot have.
func escape(text string) string {
	return escapes.Replace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}
