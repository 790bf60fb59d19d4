package pdftag

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// withFont gives the page of a test's document the font F, which has the map of codes to Unicode.
func withFont(t *testing.T, doc []byte, toUnicode string) []byte {
	t.Helper()
	f, err := pdffile.Read(doc)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := f.Pages(1)
	if err != nil {
		t.Fatal(err)
	}
	u := f.NewUpdate()
	font, meanings, file := u.Reserve(), u.Reserve(), u.Reserve()
	u.Set(file, pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte("font")})
	u.Set(meanings, pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(toUnicode)})
	u.Set(font, pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/Type0", "/BaseFont": "/ABCDEF+Test", "/ToUnicode": meanings,
		"/DescendantFonts": []any{pdffile.Dict{"/FontDescriptor": pdffile.Dict{"/FontFile2": file}}},
	})
	pages[0].Entries["/Resources"] = pdffile.Dict{"/Font": pdffile.Dict{"/F": font}}
	u.Set(pages[0].Ref, pages[0].Entries)
	more, err := u.Append()
	if err != nil {
		t.Fatal(err)
	}
	return append(doc, more...)
}

// TestMeanings finds meanings of codes in the texts around them, and reports those that it does not find.
func TestMeanings(t *testing.T) {
	t.Parallel()
	const toUnicode = "2 beginbfchar <0001> <0061> <0002> <0000> endbfchar"
	span := func(text, codes string) string {
		return "/Span <</ActualText (" + text + ")>> BDC <" + codes + "> Tj EMC "
	}
	const alone = "<0002> Tj "
	for name, test := range map[string]struct{ content, means, fault string }{
		"nothing is odd":      {"<0001> Tj", "", "the font"}, // the map has a code that no content uses
		"found":               {span("ab", "00010002") + alone, "<0002> <0062>", ""},
		"found, and replaced": {span("ab", "00010002") + span("cd", "0002"), "<0002> <0062>", ""},
		"only replaced":       {span("cd", "00020003"), "<0003> <2060>", ""},
		"two meanings":        {span("ab", "00010002") + span("cd", "0002") + alone, "", `P ab cd` + "\uFFFD"},
		"alone":               {alone, "", `P ` + "\uFFFD"},
		"marked within":       {"/Span <</ActualText (ab)>> BDC /Span BMC <00010002> Tj EMC EMC", "", "P"},
		"no map for it":       {span("ab", "00010002") + "<0009> Tj", "<0002> <0062>", `P ab` + "\uFFFD"},
	} {
		doc := makeDocument("/P <</MCID 0>> BDC BT /F 12 Tf "+test.content+" ET EMC", el("P", 0), nil)
		r, f := conform(t, withFont(t, doc, toUnicode))
		fault := ""
		for _, found := range r.Faults {
			if found.Rule == FontUnicode {
				fault = fmt.Sprintf("%s %s", found.Element, found.Text)
			}
		}
		if (fault == "") != (test.fault == "") || test.fault != "the font" && !strings.HasPrefix(strings.ReplaceAll(fault, " ", ""), strings.ReplaceAll(test.fault, " ", "")) {
			t.Errorf("%s: fault %q", name, fault)
		}
		pages, err := f.Pages(1)
		if err != nil {
			t.Fatal(err)
		}
		font := f.Entry(f.Entry(f.Entry(pages[0].Entries["/Resources"])["/Font"])["/F"])
		if got := streamText(t, f, font["/ToUnicode"]); !strings.Contains(got, test.means) {
			t.Errorf("%s: map %s", name, got)
		}
	}
}
