package pdf

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

var (
	// errNotArchival means that the PDF does not claim PDF/A-2 or PDF/A-3 in metadata as relaypdf writes it.
	errNotArchival = errors.New("pdf: the file is not a PDF/A-2 or PDF/A-3 of ours")
	// errHasInvoice means that the PDF has an e-invoice already.
	errHasInvoice = errors.New("pdf: the file has an e-invoice already")
	// errNoInvoice means that the PDF has no e-invoice.
	errNoInvoice = errors.New("pdf: the file has no e-invoice")
)

// embeddedInvoice is the XML to attach.
type embeddedInvoice struct {
	XML     []byte
	Profile einvoice.Profile
	// Modified is the time of the last change of the XML.
	Modified time.Time
}

// invoiceNames are the file names that e-invoices have in PDFs: those of XRechnung, Factur-X, and ZUGFeRD. An order
// of Order-X is found too, so that the reader of the XML can name it.
var invoiceNames = []string{"xrechnung.xml", "factur-x.xml", "zugferd-invoice.xml", "order-x.xml"}

// invoiceFilename returns the name that the XML has in the PDF.
func invoiceFilename(profile einvoice.Profile) string {
	if profile == einvoice.XRechnung {
		return invoiceNames[0]
	}
	return invoiceNames[1]
}

// invoiceLevels are the names of the profiles in metadata.
var invoiceLevels = map[einvoice.Profile]string{
	einvoice.Minimum: "MINIMUM", einvoice.BasicWL: "BASIC WL", einvoice.Basic: "BASIC", einvoice.EN16931: "EN 16931",
	einvoice.Extended: "EXTENDED", einvoice.XRechnung: "XRECHNUNG",
}

// invoiceRelationship is what the XML is to the pages. The profiles without lines are no invoices by themselves.
func invoiceRelationship(profile einvoice.Profile) string {
	if profile == einvoice.Minimum || profile == einvoice.BasicWL {
		return "/Data"
	}
	return "/Alternative"
}

// embedInvoice returns the PDF/A with an e-invoice, as PDF/A-3 of the same level. Other claims, such as PDF/UA, stay.
// It returns errNotArchival or errHasInvoice, or pdffile.ErrUnread if the file cannot be read.
func embedInvoice(archival []byte, invoice embeddedInvoice) ([]byte, error) {
	f, err := pdffile.Read(archival)
	if err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}

	catalog := pdffile.Without(f.Catalog())
	metadata, err := invoiceMetadata(f, catalog)
	if err != nil {
		return nil, err
	}

	if _, _, err := findInvoice(f); !errors.Is(err, errNoInvoice) || strings.Contains(metadata, facturxNamespace) {
		return nil, errHasInvoice
	}
	metadata, err = describeInvoice(metadata, invoice.Profile)
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
	catalog["/Metadata"] = add(
		pdffile.Stream{Entries: pdffile.Dict{"/Type": "/Metadata", "/Subtype": "/XML"}, Content: []byte(metadata)},
	)
	file := add(pdffile.Deflated(pdffile.Dict{
		"/Type": "/EmbeddedFile", "/Subtype": "/text/xml",
		"/Params": pdffile.Dict{"/ModDate": "u:" + archive.PDFDate(invoice.Modified), "/Size": len(invoice.XML)},
	}, invoice.XML))

	name := invoiceFilename(invoice.Profile)
	spec := add(pdffile.Dict{
		"/Type": "/Filespec", "/F": "u:" + name, "/UF": "u:" + name, "/Desc": "u:Invoice data, " + invoiceLevels[invoice.Profile],
		"/AFRelationship": invoiceRelationship(invoice.Profile), "/EF": pdffile.Dict{"/F": file, "/UF": file},
	})

	associated, _ := f.Target(catalog["/AF"]).([]any)
	catalog["/AF"] = append(slices.Clone(associated), spec)
	catalog["/Names"] = withInvoice(f, catalog["/Names"], name, spec)
	update.Set(f.Root(), catalog)

	out, err := update.Compact()
	if err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}
	return out, nil
}

// withInvoice returns the names of the catalog with one more attached file. The tree of files becomes one node.
func withInvoice(f *pdffile.File, names any, name, spec string) pdffile.Dict {
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

// maxInvoiceXML is the maximum size of the XML that Find returns, in bytes.
const maxInvoiceXML = 20 << 20

// findInvoice returns the XML of the e-invoice in a PDF, and its file name. It returns errNoInvoice if there is none,
// or pdffile.ErrUnread if it cannot be read.
func findInvoice(f *pdffile.File) (content []byte, name string, err error) {
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
		if !slices.Contains(invoiceNames, name) {
			continue
		}

		stream, ok := f.Stream(pdffile.Reference(f.Entry(spec["/EF"])["/F"]))
		if !ok {
			continue
		}
		content, err := f.Plain(stream)
		if err != nil || len(content) > maxInvoiceXML {
			return nil, "", fmt.Errorf(
				"pdf: %w: the e-invoice has a filter that is unknown, or is too large",
				pdffile.ErrUnread,
			)
		}
		return content, name, nil
	}

	return nil, "", errNoInvoice
}

// invoiceMetadata returns the XMP of a document.
func invoiceMetadata(f *pdffile.File, catalog pdffile.Dict) (string, error) {
	stream, ok := f.Stream(pdffile.Reference(catalog["/Metadata"]))
	if !ok {
		return "", errNotArchival
	}
	text, err := f.Plain(stream)
	if err != nil {
		return "", errNotArchival
	}
	return string(text), nil
}

// facturxNamespace is that of the properties of Factur-X in metadata.
const facturxNamespace = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"

var (
	archivalPart = regexp.MustCompile(`<pdfaid:part>[23]</pdfaid:part>`)
	// The end of the list of schemas that PDF/A does not know, and of all metadata.
	xmpSchemasEnd = "</rdf:Bag></pdfaExtension:schemas>"
	xmpEnd        = "</rdf:RDF>"
)

// describeInvoice adds the properties of Factur-X to XMP, with their description for PDF/A.
func describeInvoice(metadata string, profile einvoice.Profile) (string, error) {
	if !archivalPart.MatchString(metadata) || strings.Count(metadata, xmpEnd) != 1 {
		return "", errNotArchival
	}

	metadata = archivalPart.ReplaceAllString(metadata, "<pdfaid:part>3</pdfaid:part>")
	version := "1.0"
	if profile == einvoice.XRechnung {
		version = "3.0"
	}

	properties := `<rdf:Description rdf:about="" xmlns:fx="` + facturxNamespace + `">`
	for _, p := range [][2]string{{"DocumentType", "INVOICE"}, {"DocumentFileName", invoiceFilename(profile)}, {"Version", version}, {"ConformanceLevel", invoiceLevels[profile]}} {
		properties += "<fx:" + p[0] + ">" + p[1] + "</fx:" + p[0] + ">"
	}
	properties += "</rdf:Description>"

	if strings.Contains(metadata, xmpSchemasEnd) {
		metadata = strings.Replace(metadata, xmpSchemasEnd, facturxSchema()+xmpSchemasEnd, 1)
	} else {
		properties += `<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/" xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"` +
			` xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#"><pdfaExtension:schemas><rdf:Bag>` + facturxSchema() + xmpSchemasEnd + "</rdf:Description>"
	}

	return strings.Replace(metadata, xmpEnd, properties+xmpEnd, 1), nil
}

// facturxSchema describes the properties of Factur-X to PDF/A.
func facturxSchema() string {
	text := `<rdf:li rdf:parseType="Resource"><pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema><pdfaSchema:namespaceURI>` + facturxNamespace +
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
