package pdfcheck

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// xmp is the metadata of a file.
type xmp struct {
	there     bool
	filtered  bool
	broken    bool              // not well-formed
	readable  bool              // the stream could be read
	values    map[string]string // the texts of properties, by namespace and name
	items     map[string]int    // how many items a list has
	languages map[string]bool   // the properties with a text in a language, and with true those with x-default only
	packet    string            // the packet's header
}

// The namespaces of XMP.
const (
	xmpRDF   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	xmpDC    = "http://purl.org/dc/elements/1.1/"
	xmpBasic = "http://ns.adobe.com/xap/1.0/"
	xmpPDF   = "http://ns.adobe.com/pdf/1.3/"
	xmpPDFA  = "http://www.aiim.org/pdfa/ns/id/"
	xmpPDFUA = "http://www.aiim.org/pdfua/ns/id/"
)

// maxXMP is the maximum size of metadata that is read, in bytes.
const maxXMP = 4 << 20

// readXMP reads the metadata of the catalog.
func (c *checker) readXMP() {
	x := &c.xmp
	x.values = map[string]string{}
	x.items = map[string]int{}
	x.languages = map[string]bool{}
	s, _, ok := c.stream(c.catalog["/Metadata"])
	if !ok {
		return
	}
	x.there = true
	x.filtered = s.Entries["/Filter"] != nil
	text, ok := c.plain(s)
	if x.readable = ok && len(text) <= maxXMP; !x.readable {
		return
	}
	text = decodeXML(text)
	if x.readable = utf8.Valid(text) &&
		!bytes.Contains(text, []byte{0}); x.readable { // otherwise in UTF-32, or another encoding
		x.parse(text)
	}
}

// decodeXML returns XML in UTF-8.
func decodeXML(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xFE\xFF")), bytes.HasPrefix(text, []byte("\x00<")):
		order = binary.BigEndian
	case bytes.HasPrefix(text, []byte("\xFF\xFE")), bytes.HasPrefix(text, []byte("<\x00")):
		order = binary.LittleEndian
	default:
		return bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	return []byte(strings.TrimPrefix(string(utf16.Decode(units)), "\uFEFF"))
}

// maxXMPValue is the size above which no more is added to a value, in bytes.
const maxXMPValue = 64 << 10

// maxXMPDepth is the maximum depth of metadata.
const maxXMPDepth = 64

func (x *xmp) parse(text []byte) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	r := &xmpReader{xmp: x}
	for {
		token, err := d.Token()
		if err != nil {
			x.broken = !errors.Is(err, io.EOF)
			return
		}
		if len(r.path) > maxXMPDepth {
			x.readable = false
			return
		}
		switch t := token.(type) {
		case xml.ProcInst:
			if t.Target == "xpacket" && x.packet == "" {
				x.packet = string(t.Inst)
			}
		case xml.StartElement:
			r.start(t)
		case xml.EndElement:
			if r.path = r.path[:max(0, len(r.path)-1)]; len(r.path) <= r.depth {
				r.property = ""
			}
		case xml.CharData:
			if r.property != "" && x.items[r.property] <= 1 && len(x.values[r.property]) < maxXMPValue {
				x.values[r.property] += string(t)
			}
		}
	}
}

// xmpReader is the position of a reader of metadata.
type xmpReader struct {
	*xmp

	path     []xml.Name
	property string // the property being read; it is at a depth of the path
	depth    int
}

func (r *xmpReader) start(t xml.StartElement) {
	description := xml.Name{Space: xmpRDF, Local: "Description"}
	item := xml.Name{Space: xmpRDF, Local: "li"}
	switch {
	case r.property == "" && len(r.path) > 0 && r.path[len(r.path)-1] == description:
		r.property = t.Name.Space + t.Name.Local
		r.depth = len(r.path)
		r.values[r.property] += ""
	case r.property == "" && t.Name == description:
		for _, a := range t.Attr {
			r.values[a.Name.Space+a.Name.Local] = a.Value
		}
	case t.Name == item:
		r.items[r.property]++
		for _, a := range t.Attr {
			if only, known := r.languages[r.property]; a.Name.Local == "lang" {
				r.languages[r.property] = a.Value == "x-default" && (only || !known)
			}
		}
	}
	r.path = append(r.path, t.Name)
}

func (x *xmp) value(name string) string { return strings.TrimSpace(x.values[name]) }

func (x *xmp) has(name string) bool {
	_, there := x.values[name]
	return there
}

var datePattern = regexp.MustCompile(`^D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?'?|Z.*)?$`)

// differs reports whether a date of the document information is not the one of the metadata. Dates of unusual forms
// are not compared.
func differs(info, other string) bool {
	m := datePattern.FindStringSubmatch(info)
	at, err := time.Parse(time.RFC3339, other)
	if m == nil || err != nil || m[6] == "" {
		return false
	}
	text := m[1] + "-" + m[2] + "-" + m[3] + "T" + m[4] + ":" + m[5] + ":" + m[6]
	if m[7] == "" {
		text += "Z"
	} else if text += m[7] + m[8] + ":"; m[9] == "" {
		text += "00"
	} else {
		text += m[9]
	}
	own, err := time.Parse(time.RFC3339, text)
	return err == nil && !own.Equal(at.Truncate(time.Second))
}

// info returns a text of the document information.
func (c *checker) info(key string) (text string, there bool) {
	v := c.get(c.Entry(c.Trailer("/Info")), key)
	_, there = v.(string)
	return strings.TrimSpace(pdffile.Text(v)), there
}
