package pdffile

import "strings"

// StandardType reports whether a name, such as /P, is a structure type of PDF 1.7.
func StandardType(name string) bool { return standardTypes[name] }

var standardTypes = func() map[string]bool {
	types := map[string]bool{}
	for _, name := range strings.Fields(`/Document /Part /Art /Sect /Div /BlockQuote /Caption /TOC /TOCI /Index /NonStruct /Private
		/P /H /H1 /H2 /H3 /H4 /H5 /H6 /L /LI /Lbl /LBody /Table /TR /TH /TD /THead /TBody /TFoot /Span /Quote /Note /Reference
		/BibEntry /Code /Link /Annot /Ruby /RB /RT /RP /Warichu /WT /WP /Figure /Formula /Form`) {
		types[name] = true
	}
	return types
}()
