// Package pdfinvoice attaches the XML of an e-invoice to a PDF/A, which becomes PDF/A-3, as Factur-X and ZUGFeRD
// prescribe, and finds it in such a file.
//
// Its functions read files from any source, and must run in the children of render/engine.
package pdfinvoice

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

var (
	// ErrNotArchival means that the PDF does not claim PDF/A-2 or PDF/A-3 in metadata as relaypdf writes it.
	ErrNotArchival = errors.New("pdfinvoice: the file is not a PDF/A-2 or PDF/A-3 of ours")
	// ErrHasInvoice means that the PDF has an e-invoice already.
	ErrHasInvoice = errors.New("pdfinvoice: the file has an e-invoice already")
	// ErrNoInvoice means that the PDF has no e-invoice.
	ErrNoInvoice = errors.New("pdfinvoice: the file has no e-invoice")
)

// Invoice is the XML to attach.
type Invoice struct {
	XML     []byte
	Profile einvoice.Profile
	// Modified is the time of the last change of the XML.
	Modified time.Time
}

// names are the file names that e-invoices have in PDFs: those of XRechnung, Factur-X, and ZUGFeRD. An order of Order-X
// is found too, so that the reader of the XML can name it.
var names = []string{"xrechnung.xml", "factur-x.xml", "zugferd-invoice.xml", "order-x.xml"}

// Filename returns the name that the XML has in the PDF.
func Filename(profile einvoice.Profile) string {
	if profile == einvoice.XRechnung {
		return names[0]
	}
	return names[1]
}

// levels are the names of the profiles in metadata.
var levels = map[einvoice.Profile]string{
	einvoice.Minimum: "MINIMUM", einvoice.BasicWL: "BASIC WL", einvoice.Basic: "BASIC", einvoice.EN16931: "EN 16931",
	einvoice.Extended: "EXTENDED", einvoice.XRechnung: "XRECHNUNG",
}

// relationship is what the XML is to the pages. The profiles without lines are no invoices by themselves.
func relationship(profile einvoice.Profile) string {
	if profile == einvoice.Minimum || profile == einvoice.BasicWL {
		return "/Data"
	}
	return "/Alternative"
}

// Embed returns the PDF/A with an e-invoice, as PDF/A-3 of the same level. Other claims, such as PDF/UA, stay. It
// returns ErrNotArchival or ErrHasInvoice, or pdffile.ErrUnread if the file cannot be read.
func Embed(archival []byte, invoice Invoice) ([]byte, error) {
	f, err := pdffile.Read(archival)
	if err != nil {
		return nil, fmt.Errorf("pdfinvoice: %w", err)
	}

	catalog := pdffile.Without(f.Catalog())
	metadata, err := metadataOf(f, catalog)
	if err != nil {
		return nil, err
	}

	if _, _, err := Find(f); !errors.Is(err, ErrNoInvoice) || strings.Contains(metadata, namespace) {
		return nil, ErrHasInvoice
	}
	metadata, err = describe(metadata, invoice.Profile)
	if err != nil {
		return nil, err
	}

	update := f.NewUpdate()
	add := func(value any) string {
		reference := update.Reserve()
		update.Set(reference, value)
		return reference
	}

	// Without a filter, so that programs that do not read PDFs find the claims.
	catalog["/Metadata"] = add(pdffile.Stream{Entries: pdffile.Dict{"/Type": "/Metadata", "/Subtype": "/XML"}, Content: []byte(metadata)})
	file := add(pdffile.Deflated(pdffile.Dict{
		"/Type": "/EmbeddedFile", "/Subtype": "/text/xml",
		"/Params": pdffile.Dict{"/ModDate": "u:" + date(invoice.Modified), "/Size": len(invoice.XML)},
	}, invoice.XML))

	name := Filename(invoice.Profile)
	spec := add(pdffile.Dict{
		"/Type": "/Filespec", "/F": "u:" + name, "/UF": "u:" + name, "/Desc": "u:Invoice data, " + levels[invoice.Profile],
		"/AFRelationship": relationship(invoice.Profile), "/EF": pdffile.Dict{"/F": file, "/UF": file},
	})

	associated, _ := f.Target(catalog["/AF"]).([]any)
	catalog["/AF"] = append(slices.Clone(associated), spec)
	catalog["/Names"] = withFile(f, catalog["/Names"], name, spec)
	update.Set(f.Root(), catalog)

	out, err := update.Compact()
	if err != nil {
		return nil, fmt.Errorf("pdfinvoice: %w", err)
	}
	return out, nil
}

// date is a time as PDF writes it.
func date(at time.Time) string { return at.UTC().Format("D:20060102150405Z") }

// withFile returns the names of the catalog with one more attached file. The tree of files becomes one node.
func withFile(f *pdffile.File, names any, name, spec string) pdffile.Dict {
	type entry struct {
		name string
		key  any
		spec any
	}
	files := []entry{{name, "u:" + name, spec}}

	all := pdffile.Without(f.Entry(names))
	if all == nil {
		all = pdffile.Dict{}
	}

	for key, value := range f.TreeEntries(all["/EmbeddedFiles"], "/Names") {
		files = append(files, entry{pdffile.Text(key), key, value})
	}

	slices.SortStableFunc(files, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	list := make([]any, 0, 2*len(files))
	for _, e := range files {
		list = append(list, e.key, e.spec)
	}
	all["/EmbeddedFiles"] = pdffile.Dict{"/Names": list}
	return all
}

// maxXML is the maximum size of the XML that Find returns, in bytes.
const maxXML = 20 << 20

// Find returns the XML of the e-invoice in a PDF, and its file name. It returns ErrNoInvoice if there is none, or
// pdffile.ErrUnread if it cannot be read.
func Find(f *pdffile.File) (content []byte, name string, err error) {
	specs, _ := f.Target(f.Catalog()["/AF"]).([]any)
	for _, spec := range f.TreeEntries(f.Entry(f.Catalog()["/Names"])["/EmbeddedFiles"], "/Names") {
		specs = append(specs, spec)
	}

	for _, v := range specs {
		spec := f.Entry(v)
		name := strings.ToLower(pdffile.Text(f.Target(spec["/UF"])))
		if name == "" {
			name = strings.ToLower(pdffile.Text(f.Target(spec["/F"])))
		}
		if !slices.Contains(names, name) {
			continue
		}

		stream, ok := f.Stream(pdffile.Reference(f.Entry(spec["/EF"])["/F"]))
		if !ok {
			continue
		}
		content, err := f.Plain(stream)
		if err != nil || len(content) > maxXML {
			return nil, "", fmt.Errorf("pdfinvoice: %w: the e-invoice has a filter that is unknown, or is too large", pdffile.ErrUnread)
		}
		return content, name, nil
	}

	return nil, "", ErrNoInvoice
}

// metadataOf returns the XMP of a document.
func metadataOf(f *pdffile.File, catalog pdffile.Dict) (string, error) {
	stream, ok := f.Stream(pdffile.Reference(catalog["/Metadata"]))
	if !ok {
		return "", ErrNotArchival
	}
	text, err := f.Plain(stream)
	if err != nil {
		return "", ErrNotArchival
	}
	return string(text), nil
}

// namespace is that of the properties of Factur-X in metadata.
const namespace = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"

var (
	partPattern = regexp.MustCompile(`<pdfaid:part>[23]</pdfaid:part>`)
	// The end of the list of schemas that PDF/A does not know, and of all metadata.
	schemasEnd = "</rdf:Bag></pdfaExtension:schemas>"
	allEnd     = "</rdf:RDF>"
)

// describe adds the properties of Factur-X to XMP, with their description for PDF/A.
func describe(metadata string, profile einvoice.Profile) (string, error) {
	if !partPattern.MatchString(metadata) || strings.Count(metadata, allEnd) != 1 {
		return "", ErrNotArchival
	}

	metadata = partPattern.ReplaceAllString(metadata, "<pdfaid:part>3</pdfaid:part>")
	version := "1.0"
	if profile == einvoice.XRechnung {
		version = "3.0"
	}

	properties := `<rdf:Description rdf:about="" xmlns:fx="` + namespace + `">`
	for _, p := range [][2]string{{"DocumentType", "INVOICE"}, {"DocumentFileName", Filename(profile)}, {"Version", version}, {"ConformanceLevel", levels[profile]}} {
		properties += "<fx:" + p[0] + ">" + p[1] + "</fx:" + p[0] + ">"
	}
	properties += "</rdf:Description>"

	if strings.Contains(metadata, schemasEnd) {
		metadata = strings.Replace(metadata, schemasEnd, schema()+schemasEnd, 1)
	} else {
		properties += `<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/" xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"` +
			` xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#"><pdfaExtension:schemas><rdf:Bag>` + schema() + schemasEnd + "</rdf:Description>"
	}

	return strings.Replace(metadata, allEnd, properties+allEnd, 1), nil
}

// schema describes the properties of Factur-X to PDF/A.
func schema() string {
	text := `<rdf:li rdf:parseType="Resource"><pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema><pdfaSchema:namespaceURI>` + namespace +
		`</pdfaSchema:namespaceURI><pdfaSchema:prefix>fx</pdfaSchema:prefix><pdfaSchema:property><rdf:Seq>`
	for _, p := range [][2]string{
		{"DocumentFileName", "Name of the embedded XML invoice file"}, {"DocumentType", "INVOICE"},
		{"Version", "Version of the XML data"}, {"ConformanceLevel", "Profile of the XML data"},
	} {
		text += `<rdf:li rdf:parseType="Resource"><pdfaProperty:name>` + p[0] + `</pdfaProperty:name><pdfaProperty:valueType>Text</pdfaProperty:valueType>` +
			`<pdfaProperty:category>external</pdfaProperty:category><pdfaProperty:description>` + p[1] + `</pdfaProperty:description></rdf:li>`
	}
	return text + `</rdf:Seq></pdfaSchema:property></rdf:li>`
}
