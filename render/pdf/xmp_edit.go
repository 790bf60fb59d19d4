package pdf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// readXMPOf returns the XMP of a document; empty means that it has none that can be read.
func readXMPOf(s *job.Structure) []byte {
	metadata, ok := s.Stream(pdffile.Reference(s.Catalog()["/Metadata"]))
	if !ok {
		return nil
	}
	text, err := s.Plain(metadata)
	if err != nil || len(text) > archive.MaxXMP || !utf8.Valid(text) {
		return nil
	}
	return text
}

// setXMP gives a document its XMP. Empty text removes it.
func setXMP(s *job.Structure, u *pdffile.Update, text []byte) {
	catalog := pdffile.Without(s.Catalog(), "/Metadata")
	if len(text) > 0 {
		ref := u.Reserve()
		u.Set(ref, pdffile.Stream{Entries: pdffile.Dict{"/Type": "/Metadata", "/Subtype": "/XML"}, Content: text})
		catalog["/Metadata"] = ref
	}
	u.Set(s.Root(), catalog)
}

// claimsUA is the property by which XMP claims PDF/UA.
var claimsUA = xml.Name{Space: archive.XMPUA, Local: "part"}

var errNoRDF = errors.New("XMP without a description")

// editXMP removes properties from XMP, and adds others, which are written with the prefixes of xmpPrefixes. Everything
// else stays as it is.
func editXMP(text []byte, drop func(xml.Name) bool, add string) ([]byte, error) {
	description := xml.Name{Space: archive.XMPRDF, Local: "Description"}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }

	var out []byte
	var path []xml.Name
	prefixes := map[string]string{}
	done := 0
	added := false

	for {
		start := int(decoder.InputOffset())
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}

		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				if a.Name.Space == "xmlns" {
					prefixes[a.Name.Local] = a.Value
				}
			}

			if len(path) > 0 && path[len(path)-1] == description && drop(token.Name) {
				if err := decoder.Skip(); err != nil {
					return nil, err
				}
				out, done = append(out, text[done:start]...), int(decoder.InputOffset())
				continue
			}

			path = append(path, token.Name)
			if token.Name == description {
				end := int(decoder.InputOffset())
				out = append(out, text[done:start]...)
				done = end
				out = append(out, withoutAttributes(text[start:end], token.Attr, prefixes, drop)...)
			}
		case xml.EndElement:
			path = path[:max(0, len(path)-1)]
			if token.Name == (xml.Name{Space: archive.XMPRDF, Local: "RDF"}) && !added && add != "" {
				out = append(out, text[done:start]...)
				done = start
				added = true
				out = append(out, "<rdf:Description rdf:about=\"\""+xmpPrefixes+">\n"+add+"</rdf:Description>\n"...)
			}
		}
	}

	if add != "" && !added {
		return nil, errNoRDF
	}
	return append(out, text[done:]...), nil
}

// withoutAttributes returns a start tag without the attributes that are properties to be dropped.
func withoutAttributes(tag []byte, attributes []xml.Attr, prefixes map[string]string, drop func(xml.Name) bool) []byte {
	for _, a := range attributes {
		if !drop(a.Name) {
			continue
		}
		for prefix, space := range prefixes {
			if space == a.Name.Space {
				pattern := regexp.MustCompile(`\s` + regexp.QuoteMeta(prefix+":"+a.Name.Local) + `\s*=\s*("[^"]*"|'[^']*')`)
				tag = pattern.ReplaceAll(tag, nil)
			}
		}
	}
	return tag
}

const (
	xmpPrefixes = ` xmlns:rdf="` + archive.XMPRDF + `" xmlns:dc="` + archive.XMPDC + `" xmlns:xmp="` + archive.XMPBasic + `" xmlns:pdf="` + archive.XMPPDF + `"`
	emptyXMP    = "<?xpacket begin=\"\uFEFF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n<rdf:RDF xmlns:rdf=\"" + archive.XMPRDF + "\">\n" +
		"</rdf:RDF>\n</x:xmpmeta>\n<?xpacket end=\"w\"?>"
)

// xmpProperty is a property of XMP that the document information has too, by its key there.
type xmpProperty struct {
	key         string
	name        xml.Name
	open, close string
}

// xmpProperties are those that PDF/A requires to be the same.
func xmpProperties() []xmpProperty {
	const first, end = `<rdf:Alt><rdf:li xml:lang="x-default">`, "</rdf:li></rdf:Alt>"
	return []xmpProperty{
		{"/Title", xml.Name{Space: archive.XMPDC, Local: "title"}, "<dc:title>" + first, end + "</dc:title>"},
		{"/Author", xml.Name{Space: archive.XMPDC, Local: "creator"}, "<dc:creator><rdf:Seq><rdf:li>", "</rdf:li></rdf:Seq></dc:creator>"},
		{"/Subject", xml.Name{Space: archive.XMPDC, Local: "description"}, "<dc:description>" + first, end + "</dc:description>"},
		{"/Keywords", xml.Name{Space: archive.XMPPDF, Local: "Keywords"}, "<pdf:Keywords>", "</pdf:Keywords>"},
		{"/Creator", xml.Name{Space: archive.XMPBasic, Local: "CreatorTool"}, "<xmp:CreatorTool>", "</xmp:CreatorTool>"},
		{"/Producer", xml.Name{Space: archive.XMPPDF, Local: "Producer"}, "<pdf:Producer>", "</pdf:Producer>"},
		{"/CreationDate", xml.Name{Space: archive.XMPBasic, Local: "CreateDate"}, "<xmp:CreateDate>", "</xmp:CreateDate>"},
		{"/ModDate", xml.Name{Space: archive.XMPBasic, Local: "ModifyDate"}, "<xmp:ModifyDate>", "</xmp:ModifyDate>"},
	}
}

// text writes a property.
func (p xmpProperty) text(value string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(value)) // a Builder takes everything
	return fmt.Sprintf("%s%s%s\n", p.open, b.String(), p.close)
}
