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

	"relaypdf/render/pdffile"
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
	x.values, x.items, x.languages = map[string]string{}, map[string]int{}, map[string]bool{}
	s, _, ok := c.stream(c.catalog["/Metadata"])
	if !ok {
		return
	}
	x.there, x.filtered = true, s.Entries["/Filter"] != nil
	before := c.unread
	text := c.plain(s)
	if x.readable = c.unread == before && len(text) <= maxXMP; !x.readable {
		return
	}
	text = decodeXML(text)
	if x.readable = !bytes.Contains(text, []byte{0}); x.readable { // otherwise in UTF-32
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

func (x *xmp) parse(text []byte) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	const depth = 64
	var path []xml.Name
	property, at := "", 0
	for {
		token, err := d.Token()
		if err != nil || len(path) > depth {
			x.broken = !errors.Is(err, io.EOF)
			return
		}
		switch t := token.(type) {
		case xml.ProcInst:
			if t.Target == "xpacket" && x.packet == "" {
				x.packet = string(t.Inst)
			}
		case xml.StartElement:
			described := len(path) > 0 && path[len(path)-1] == xml.Name{Space: xmpRDF, Local: "Description"}
			if property == "" && described {
				property, at = t.Name.Space+t.Name.Local, len(path)
				x.values[property] += ""
			}
			if property == "" && t.Name == (xml.Name{Space: xmpRDF, Local: "Description"}) {
				for _, a := range t.Attr {
					x.values[a.Name.Space+a.Name.Local] = a.Value
				}
			}
			if t.Name == (xml.Name{Space: xmpRDF, Local: "li"}) {
				x.items[property]++
				for _, a := range t.Attr {
					if only, known := x.languages[property]; a.Name.Local == "lang" {
						x.languages[property] = a.Value == "x-default" && (only || !known)
					}
				}
			}
			path = append(path, t.Name)
		case xml.EndElement:
			if path = path[:max(0, len(path)-1)]; len(path) <= at {
				property = ""
			}
		case xml.CharData:
			if property != "" && x.items[property] <= 1 {
				x.values[property] += string(t)
			}
		}
	}
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

// outputProfile returns the color space of the output intent's profile: "RGB ", "CMYK" or "GRAY"; empty is none.
func (c *checker) outputProfile() string {
	for _, item := range c.list(c.catalog["/OutputIntents"]) {
		entries := c.Entry(item)
		if s, _, ok := c.stream(entries["/DestOutputProfile"]); ok && c.name(entries, "/S") == "GTS_PDFA1" {
			if p := c.plain(s); len(p) >= iccHeader {
				return string(p[16:20])
			}
			return "unknown"
		}
	}
	return ""
}

const iccHeader = 128

// wrongProfile reports whether an output intent's profile is not one that a version of PDF/A allows.
func (c *checker) wrongProfile(newest byte) bool {
	for _, item := range c.list(c.catalog["/OutputIntents"]) {
		s, _, ok := c.stream(c.Entry(item)["/DestOutputProfile"])
		if !ok {
			continue
		}
		p := c.plain(s)
		if len(p) < iccHeader {
			continue
		}
		class, space := string(p[12:16]), string(p[16:20])
		if class != "prtr" && class != "mntr" || space != "RGB " && space != "CMYK" && space != "GRAY" || p[8] >= newest {
			return true
		}
	}
	return false
}

// text returns a text of the document information.
func (c *checker) info(key string) (text string, there bool) {
	v := c.get(c.Entry(c.Trailer("/Info")), key)
	_, there = v.(string)
	return strings.TrimSpace(pdffile.Text(v)), there
}
