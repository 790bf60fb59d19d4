package archive

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

// texts holds the metadata of an archive, which is the same in its information and in XMP.
type archiveMetadata struct {
	title, author, subject, keywords, creator, producer string
	created                                             *time.Time
	accessible                                          bool // it claims PDF/UA-1
}

// The namespaces of XMP.
const (
	XMPRDF   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	XMPDC    = "http://purl.org/dc/elements/1.1/"
	XMPBasic = "http://ns.adobe.com/xap/1.0/"
	XMPPDF   = "http://ns.adobe.com/pdf/1.3/"
	XMPMedia = "http://ns.adobe.com/xap/1.0/mm/"
	XMPPDFA  = "http://www.aiim.org/pdfa/ns/id/"
	XMPUA    = "http://www.aiim.org/pdfua/ns/id/"
	XMPTerms = "http://www.aiim.org/pdfa/ns/extension/" // of properties that PDF/A does not know
)

// readArchiveMetadata reads the metadata of a document: its information and, for missing values, its XMP. lost is true if the
// XMP has more.
func readArchiveMetadata(info map[string]string, xmp []byte) (a archiveMetadata, lost bool) {
	x, lost := ReadXMP(xmp)
	pick := func(key string, values ...string) string {
		return CleanText(cmp.Or(append([]string{strings.TrimSpace(info[key])}, values...)...))
	}

	a = archiveMetadata{
		title: pick("Title", x[XMPDC+"title"]), author: pick("Author", x[XMPDC+"creator"]), subject: pick("Subject", x[XMPDC+"description"]),
		keywords: pick("Keywords", x[XMPPDF+"Keywords"], x[XMPDC+"subject"]), creator: pick("Creator", x[XMPBasic+"CreatorTool"]),
		producer: pick("Producer", x[XMPPDF+"Producer"]), created: job.ParseDate(info["CreationDate"]), accessible: x[XMPUA+"part"] == "1",
	}

	if at, err := time.Parse(time.RFC3339, x[XMPBasic+"CreateDate"]); a.created == nil && err == nil {
		a.created = &at
	}
	return a, lost
}

// override applies the values of a request.
func (a *archiveMetadata) override(args Args) {
	a.title, a.author = cmp.Or(CleanText(args.Title), a.title), cmp.Or(CleanText(args.Author), a.author)
	a.subject, a.keywords = cmp.Or(CleanText(args.Subject), a.subject), cmp.Or(CleanText(args.Keywords), a.keywords)
}

// maxAbout is the maximum number of letters of one text.
const maxAbout = 5000

// CleanText removes characters from a text that XML does not allow.
func CleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == '\uFFFE' || r == '\uFFFF' || r == '\uFEFF' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if runes := []rune(text); len(runes) > maxAbout {
		text = string(runes[:maxAbout])
	}
	return strings.TrimSpace(text)
}

// MaxXMP is the maximum number of bytes of XMP that are read.
const MaxXMP = 4 << 20

// ReadXMP reads the text properties of XMP, by their namespace and name: lists are joined by commas. more is true
// if there are others.
func ReadXMP(text []byte) (values map[string]string, more bool) {
	x := &xmpReader{values: map[string]string{}}
	decoder := xml.NewDecoder(io.LimitReader(bytes.NewReader(text), MaxXMP))

	for {
		token, err := decoder.Token()
		if err != nil {
			return x.values, x.more || len(text) > 0 && !errors.Is(err, io.EOF)
		}

		switch token := token.(type) {
		case xml.StartElement:
			x.start(token)
		case xml.EndElement:
			x.path = x.path[:max(0, len(x.path)-1)]
			if len(x.path) <= x.depth {
				x.property = xml.Name{}
			}
		case xml.CharData:
			if x.property.Local != "" {
				x.add(x.property, string(token))
			}
		}
	}
}

// xmpReader is the position of a reader of XMP.
type xmpReader struct {
	values   map[string]string
	more     bool
	path     []xml.Name
	property xml.Name // the property being read; it is at a depth of the path
	depth    int
}

func (x *xmpReader) start(element xml.StartElement) {
	described := len(x.path) > 0 && x.path[len(x.path)-1] == xml.Name{Space: XMPRDF, Local: "Description"}
	if described && x.property.Local == "" {
		x.property = element.Name
		x.depth = len(x.path)
		x.more = x.more || !known(element.Name)
	}

	x.path = append(x.path, element.Name)
	if x.property.Local != "" || element.Name != (xml.Name{Space: XMPRDF, Local: "Description"}) {
		return
	}

	for _, attribute := range element.Attr {
		if space := attribute.Name.Space; space != "xmlns" && space != XMPRDF && space != "" {
			x.add(attribute.Name, attribute.Value)
			x.more = x.more || !known(attribute.Name)
		}
	}
}

func (x *xmpReader) add(name xml.Name, text string) {
	key := name.Space + name.Local
	switch text = strings.TrimSpace(text); {
	case text == "":
	case x.values[key] == "":
		x.values[key] = text
	case len(x.values[key]) < maxAbout:
		x.values[key] += ", " + text
	}
}

// known reports whether a property of XMP is stored, or describes only its original file.
func known(name xml.Name) bool {
	switch name.Space {
	case XMPMedia, XMPPDFA, XMPUA, XMPTerms, "http://www.w3.org/XML/1998/namespace":
		return true
	case XMPDC:
		return name.Local != "rights" && name.Local != "language" && name.Local != "publisher"
	case XMPBasic, XMPPDF:
		return true
	}
	return false
}

// xmp writes XMP with the same values as info.
func (a archiveMetadata) xmp(level Level, now time.Time) string {
	var b strings.Builder
	b.WriteString("<?xpacket begin=\"\uFEFF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n<rdf:RDF xmlns:rdf=\"" + XMPRDF + "\">\n" +
		"<rdf:Description rdf:about=\"\" xmlns:dc=\"" + XMPDC + "\" xmlns:xmp=\"" + XMPBasic + "\" xmlns:pdf=\"" + XMPPDF + "\" xmlns:pdfaid=\"" + XMPPDFA + "\" xmlns:pdfuaid=\"" + XMPUA + "\" xmlns:pdfaExtension=\"" + XMPTerms +
		"\" xmlns:pdfaSchema=\"http://www.aiim.org/pdfa/ns/schema#\" xmlns:pdfaProperty=\"http://www.aiim.org/pdfa/ns/property#\">\n")
	fmt.Fprintf(&b, "<pdfaid:part>%d</pdfaid:part>\n<pdfaid:conformance>B</pdfaid:conformance>\n<dc:format>application/pdf</dc:format>\n", level.part())

	write := func(open, text, end string) {
		if text != "" {
			b.WriteString(open)
			_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
			b.WriteString(end + "\n")
		}
	}

	const first = `<rdf:Alt><rdf:li xml:lang="x-default">`
	write("<dc:title>"+first, a.title, "</rdf:li></rdf:Alt></dc:title>")
	write("<dc:creator><rdf:Seq><rdf:li>", a.author, "</rdf:li></rdf:Seq></dc:creator>")
	write("<dc:description>"+first, a.subject, "</rdf:li></rdf:Alt></dc:description>")
	write("<pdf:Keywords>", a.keywords, "</pdf:Keywords>")
	write("<pdf:Producer>", a.producer, "</pdf:Producer>")
	write("<xmp:CreatorTool>", a.creator, "</xmp:CreatorTool>")
	if a.created != nil {
		write("<xmp:CreateDate>", a.created.Format(time.RFC3339), "</xmp:CreateDate>")
	}
	write("<xmp:ModifyDate>", now.Format(time.RFC3339), "</xmp:ModifyDate>")
	write("<xmp:MetadataDate>", now.Format(time.RFC3339), "</xmp:MetadataDate>")
	if a.accessible {
		b.WriteString(pdftag.Accessible)
	}

	b.WriteString("</rdf:Description>\n</rdf:RDF>\n</x:xmpmeta>\n<?xpacket end=\"w\"?>")
	return b.String()
}

// info are the entries of the document's information.
func (a archiveMetadata) info(now time.Time) map[string]string {
	entries := map[string]string{
		"Title": a.title, "Author": a.author, "Subject": a.subject, "Keywords": a.keywords, "Creator": a.creator, "Producer": a.producer, "ModDate": PDFDate(now),
	}
	if a.created != nil {
		entries["CreationDate"] = PDFDate(*a.created)
	}
	return entries
}

// PDFDate writes a time as PDF has it.
func PDFDate(at time.Time) string {
	_, offset := at.Zone()
	if offset == 0 {
		return at.Format("D:20060102150405") + "Z"
	}
	minutes := offset / 60 % 60
	return fmt.Sprintf("%s'%02d'", at.Format("D:20060102150405-07"), max(minutes, -minutes))
}
