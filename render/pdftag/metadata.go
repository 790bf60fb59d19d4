package pdftag

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// writeCatalog writes the catalog and the metadata. It is last, because it says which standards the file keeps.
func (d *tagger) writeCatalog() error {
	info := pdffile.Without(d.file.Entry(d.file.Trailer("/Info")))
	if info == nil {
		info = pdffile.Dict{}
	}
	d.setTitle(info)
	d.claimed = d.claim()

	c := d.catalog
	about := pdffile.Stream{
		Entries: pdffile.Dict{"/Type": "/Metadata", "/Subtype": "/XML"}, Content: []byte(d.xmp(info)),
	}
	isA1B := archival(d.claimed) == pdffile.A1B
	if !isA1B { // which excludes filters
		about = pdffile.Deflated(about.Entries, about.Content)
	}
	c["/Metadata"] = d.newObject(about)

	if archival(d.claimed) != "" {
		profile := d.newObject(pdffile.Deflated(pdffile.Dict{"/N": 3}, profile(isA1B)))
		c["/OutputIntents"] = []any{pdffile.Dict{
			"/Type": "/OutputIntent", "/S": "/GTS_PDFA1", "/OutputConditionIdentifier": "u:sRGB", "/Info": "u:sRGB",
			"/DestOutputProfile": profile,
		}}
	}

	c["/MarkInfo"] = pdffile.Dict{"/Marked": true}
	preferences := pdffile.Without(d.file.Entry(c["/ViewerPreferences"]), "/Type")
	if preferences == nil {
		preferences = pdffile.Dict{}
	}
	preferences["/DisplayDocTitle"] = true
	c["/ViewerPreferences"] = preferences

	if d.opt.Language != "" {
		c["/Lang"] = "u:" + d.opt.Language
	} else {
		delete(c, "/Lang")
	}

	d.update.Set(d.file.Root(), c)
	d.update.SetInfo(info)
	return nil
}

// setTitle gives the document its title: the caller's, its own, or the text of the first heading.
func (d *tagger) setTitle(info pdffile.Dict) {
	const longest = 200
	title := strings.TrimSpace(d.opt.Title)
	if title == "" {
		title = strings.TrimSpace(pdffile.Text(info["/Title"]))
	}
	if title == "" {
		title = shorten(d.firstHeading, longest)
	}

	if title == "" {
		d.fault(Violation{
			Rule: DocumentTitle, Problem: "The document has no title.",
			Remedy: d.remedy("Write a title element, or set options.metadata.title.", "Set metadata.title."),
		})
		return
	}

	info["/Title"] = "u:" + title
}

// Accessible are the properties of XMP by which a file of PDF/A claims PDF/UA-1.
const Accessible = "<pdfuaid:part>1</pdfuaid:part>" + schema

// schema describes the property of PDF/UA to PDF/A, which does not know it.
const schema = `<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">` +
	`<pdfaSchema:schema>PDF/UA identification schema</pdfaSchema:schema>` +
	`<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI><pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>` +
	`<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource"><pdfaProperty:name>part</pdfaProperty:name>` +
	`<pdfaProperty:valueType>Integer</pdfaProperty:valueType><pdfaProperty:category>internal</pdfaProperty:category>` +
	`<pdfaProperty:description>Part of PDF/UA</pdfaProperty:description></rdf:li></rdf:Seq></pdfaSchema:property>` +
	`</rdf:li></rdf:Bag></pdfaExtension:schemas>`

// xmp returns the metadata: the document information and the standards.
func (d *tagger) xmp(info pdffile.Dict) string {
	var x strings.Builder
	x.WriteString("<?xpacket begin=\"\uFEFF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?><x:xmpmeta xmlns:x=\"adobe:ns:meta/\">" +
		`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""`)

	for _, space := range [][2]string{
		{"dc", "http://purl.org/dc/elements/1.1/"}, {"xmp", "http://ns.adobe.com/xap/1.0/"},
		{"pdf", "http://ns.adobe.com/pdf/1.3/"},
		{"pdfaid", "http://www.aiim.org/pdfa/ns/id/"}, {"pdfuaid", "http://www.aiim.org/pdfua/ns/id/"},
		{"pdfaExtension", "http://www.aiim.org/pdfa/ns/extension/"},
		{"pdfaSchema", "http://www.aiim.org/pdfa/ns/schema#"},
		{"pdfaProperty", "http://www.aiim.org/pdfa/ns/property#"},
	} {
		fmt.Fprintf(&x, ` xmlns:%s="%s"`, space[0], space[1])
	}
	x.WriteString(">")

	for _, p := range []struct{ key, before, after string }{
		{"/Title", `<dc:title><rdf:Alt><rdf:li xml:lang="x-default">`, "</rdf:li></rdf:Alt></dc:title>"},
		{"/Author", "<dc:creator><rdf:Seq><rdf:li>", "</rdf:li></rdf:Seq></dc:creator>"},
		{"/Subject", `<dc:description><rdf:Alt><rdf:li xml:lang="x-default">`, "</rdf:li></rdf:Alt></dc:description>"},
		{"/Keywords", "<pdf:Keywords>", "</pdf:Keywords>"},
		{"/Creator", "<xmp:CreatorTool>", "</xmp:CreatorTool>"},
		{"/Producer", "<pdf:Producer>", "</pdf:Producer>"},
		{"/CreationDate", "<xmp:CreateDate>", "</xmp:CreateDate>"},
		{"/ModDate", "<xmp:ModifyDate>", "</xmp:ModifyDate>"},
	} {
		text := pdffile.Text(info[p.key])
		if strings.HasSuffix(p.key, "Date") {
			text = isoDate(text)
		}
		if text = xmlText(text); text != "" {
			x.WriteString(p.before + text + p.after)
		}
	}

	level := archival(d.claimed)
	if level != "" {
		fmt.Fprintf(&x, "<pdfaid:part>%c</pdfaid:part><pdfaid:conformance>%s</pdfaid:conformance>", level[2],
			strings.ToUpper(string(level[3:])))
	}
	if slices.Contains(d.claimed, pdffile.UA1) {
		x.WriteString("<pdfuaid:part>1</pdfuaid:part>")
		if level != "" {
			x.WriteString(schema)
		}
	}

	x.WriteString(`</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`)
	return x.String()
}

var datePattern = regexp.MustCompile(`^D:(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:([+-]\d\d)'(\d\d)'?|Z)?`)

// isoDate returns a date of PDF in the form of XMP; empty if it is none.
func isoDate(date string) string {
	m := datePattern.FindStringSubmatch(date)
	if m == nil {
		return ""
	}
	zone := "Z"
	if m[7] != "" {
		zone = m[7] + ":" + m[8]
	}
	return fmt.Sprintf("%s-%s-%sT%s:%s:%s%s", m[1], m[2], m[3], m[4], m[5], m[6], zone)
}

// xmlText escapes a text, without characters that XML cannot have.
func xmlText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, text)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.ToValidUTF8(text, "\uFFFD"))
}
