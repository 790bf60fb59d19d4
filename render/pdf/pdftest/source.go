package pdftest

import (
	"bytes"
	"fmt"
	"strings"
)

// Source is a document written by hand: one page for each text, and the additions that a
// test needs.
type Source struct {
	Pages   []string
	Version string
	Info    string
	Catalog string   // more entries of the catalog
	Objects []string // from number 100 on
	Annots  map[int]string
	Page    func(i int) string // more entries of pages
	// Resources are more resources of all pages.
	Resources string
}

// Write makes the PDF. The page of number i, from 0, is object 10+2i.
func (s Source) Write() []byte {
	objects := map[int]string{
		1: "<< /Type /Catalog /Pages 2 0 R " + s.Catalog + " >>",
		3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		4: "<< " + s.Info + " >>",
	}
	var kids strings.Builder
	for i, text := range s.Pages {
		fmt.Fprintf(&kids, "%d 0 R ", 10+2*i)
		entries := ""
		if s.Page != nil {
			entries = s.Page(i) + " "
		}
		objects[10+2*i] = fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d 400] /Contents %d 0 R /Annots [%s] "+
			"/Resources << /Font << /F1 3 0 R >> %s>> %s>>", 300+i, 11+2*i, s.Annots[i], s.Resources, entries)
		content := "BT /F1 24 Tf 40 300 Td (" + text + ") Tj ET"
		objects[11+2*i] = fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	objects[2] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(s.Pages))
	for i, object := range s.Objects {
		objects[100+i] = object
	}
	version := s.Version
	if version == "" {
		version = "1.7"
	}
	return write(version, objects)
}

// write makes a PDF of objects by their numbers: 1 is the catalog, and 4 the information.
func write(version string, objects map[int]string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%%PDF-%s\n%%\xe2\xe3\xcf\xd3\n", version)
	highest := 0
	offsets := map[int]int{}
	for n := range objects {
		highest = max(highest, n)
	}
	for n := 1; n <= highest; n++ {
		if objects[n] != "" {
			offsets[n] = b.Len()
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, objects[n])
		}
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", highest+1)
	for n := 1; n <= highest; n++ {
		if offsets[n] == 0 {
			b.WriteString("0000000000 00000 f \n")
			continue
		}
		fmt.Fprintf(&b, "%010d 00000 n \n", offsets[n])
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n", highest+1, xref)
	return b.Bytes()
}

// Three is a plain document.
func Three() Source { return Source{Pages: []string{"alpha", "beta", "gamma"}} }

// Linked is a document whose pages, outline, form and names refer to one
// another in the ways that documents do.
func Linked() Source {
	return Source{
		Pages:   []string{"alpha", "beta", "gamma"},
		Catalog: "/Outlines 100 0 R /PageMode /UseOutlines /Dests << /named [14 0 R /Fit] >> /AcroForm << /Fields [104 0 R 105 0 R] /DA (/Helv 0 Tf) >>",
		Objects: []string{
			"<< /Type /Outlines /First 101 0 R /Last 103 0 R /Count 2 >>",
			"<< /Title (Start) /Parent 100 0 R /Next 103 0 R /First 102 0 R /Last 102 0 R /Count -1 /A 106 0 R >>",
			"<< /Title (Middle) /Parent 101 0 R /Dest [12 0 R /Fit] /C [1 0 0] /F 2 >>",
			"<< /Title (End) /Parent 100 0 R /Prev 101 0 R /Dest /named >>",
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (first) /V (kept value) /Rect [10 10 90 30] /P 10 0 R >>",
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (second) /V (secret value) /Rect [10 10 90 30] /P 12 0 R >>",
			"<< /S /GoTo /D [10 0 R /XYZ 0 300 null] >>",
		},
		Annots: map[int]string{
			0: "104 0 R << /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest [12 0 R /Fit] >> << /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest /named >>",
			1: "105 0 R",
		},
	}
}
