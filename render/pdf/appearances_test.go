package pdf

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
)

// undrawnForm is a page with fields and comments that have no appearance, as pypdf, iText and pdfcpu write them, and
// the words that readers show of them. Its catalog lists no fields if it has no entries.
func undrawnForm(catalog string) (document []byte, words []string) {
	c := craft("BT /F1 12 Tf 20 20 Td (Page) Tj ET")
	y, list := 400, ""
	add := func(entries string) {
		y -= 22
		list += c.add(fmt.Sprintf("<< /Type /Annot /F 4 /Rect [20 %d 280 %d] %s >>", y, y+20, entries)) + " "
	}
	add("/Subtype /Widget /FT /Tx /T (plain) /V (Plainvalue) /DA (/Helv 0 Tf 0 g)")
	add("/Subtype /Widget /FT /Tx /T (lines) /Ff 4096 /V (Firstline\\nSecondline) /DA (/Helv 7 Tf 0 g)")
	add("/Subtype /Widget /FT /Tx /T (comb) /Ff 16777216 /MaxLen 4 /V (WXYZ) /DA (/Helv 0 Tf 0 g)")
	add("/Subtype /Widget /FT /Tx /T (scripts) /V <" + hexUTF16("Łódź Привет 漢字") + "> /DA (/Helv 0 Tf 0 g)")
	add("/Subtype /Widget /FT /Ch /Ff 131072 /T (choice) /Opt [[(r) (Redlabel)] [(g) (Greenlabel)]] /V (g)")
	add("/Subtype /Widget /FT /Ch /T (list) /Opt [(Oneoption) (Twooption)] /V (Twooption) /DA (/Helv 7 Tf 0 g)")
	add("/Subtype /Widget /FT /Btn /Ff 65536 /T (push) /MK << /CA (Pressme) /BG [.9 .9 .9] >>")
	add("/Subtype /Widget /FT /Btn /T (check) /V /Yes /AS /Yes /MK << /CA (4) /BC [0] >>")
	add("/Subtype /Widget /FT /Btn /Ff 32768 /T (radio) /V /a /AS /a /MK << /CA (l) >>")
	add("/Subtype /FreeText /Contents (Freecomment) /DA (/Helv 12 Tf 1 0 0 rg)")
	add("/Subtype /FreeText /Contents <" + hexUTF16("Żółw 你好") + "> /DA (/Helv 12 Tf 1 0 0 rg)")
	add("/Subtype /FreeText /RC (<body><p>Richcomment</p></body>) /DA (/Helv 12 Tf 0 g)")
	list += "<< /Type /Annot /Subtype /Widget /F 4 /Rect [200 20 280 40] /FT /Tx /T (direct) /V (Directvalue) /DA (/Helv 0 Tf 0 g) >>"
	c.pages[0].entries = "/Annots [" + list + "]"
	if catalog != "" {
		c.catalog = "/AcroForm << /Fields [" + list[:strings.LastIndex(list, "<<")] + "] " + catalog + " /DR << /Font << /Helv 3 0 R >> >> >>"
	}
	words = []string{
		"Plainvalue", "Firstline", "Secondline", "WXYZ", "Łódź", "Привет", "漢字", "Greenlabel", "Oneoption", "Twooption",
		"Pressme", "✔", "●", "Freecomment", "Żółw", "你好", "Richcomment", "Directvalue",
	}
	return c.write(), words
}

// hexUTF16 writes text as the digits of a text string.
func hexUTF16(text string) string {
	out := "feff"
	for _, r := range text {
		out += fmt.Sprintf("%04x", r)
	}
	return out
}

// TestUndrawnValuesStay: whatever makes fields and comments parts of pages draws those that their document leaves to
// its readers.
func TestUndrawnValuesStay(t *testing.T) {
	t.Parallel()
	for name, catalog := range map[string]string{"asked for": "/NeedAppearances true", "not asked for": "/DA (/Helv 0 Tf 0 g)", "no form": ""} {
		document, words := undrawnForm(catalog)
		keep(t, "undrawn.pdf", document)
		for jobName, args := range map[string]any{
			redact.Job.Name:  redact.Args{Input: input(""), Terms: []string{"Page"}},
			archive.Job.Name: archive.Args{Input: input(""), Level: archive.Level2B},
			NUpJob.Name:      NUpArgs{Selection: Selection{Input: input("")}, PerSheet: 2, Width: 595, Height: 842},
			BookletJob.Name:  BookletArgs{Input: input(""), PerSheet: 2, Width: 595, Height: 842},
		} {
			if name != "asked for" && jobName != NUpJob.Name {
				continue // Each job takes the same steps.
			}
			t.Run(name+" "+jobName, func(t *testing.T) {
				t.Parallel()
				got := makeOne(t, jobName, args, document)
				keep(t, "drawn-"+jobName+".pdf", got)
				pdftest.Tool(t, "qpdf", "--check", pdftest.Save(t, got))
				text := strings.Join(strings.Fields(pdftest.Tool(t, "pdftotext", "-raw", pdftest.Save(t, got), "-")), "")
				missing := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.Contains(text, word) })
				if len(missing) > 0 {
					t.Errorf("lost %q; got %q", missing, text)
				}
			})
		}
	}
}

// TestOverlayDrawsValues has an overlay with undrawn fields and comments.
func TestOverlayDrawsValues(t *testing.T) {
	t.Parallel()
	document, words := undrawnForm("/NeedAppearances true")
	got, changes := overlayOf(t, OverlayArgs{}, three().Write(), document)
	text := strings.Join(strings.Fields(pdftest.Tool(t, "pdftotext", "-raw", pdftest.Save(t, got), "-")), "")
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("lost %q; got %q", word, text)
		}
	}
	if len(changes) > 0 {
		t.Errorf("changes %q", changes)
	}
}

// TestRedactReportsFlattening: fields and comments become parts of pages, which the result says.
func TestRedactReportsFlattening(t *testing.T) {
	t.Parallel()
	document, _ := undrawnForm("/NeedAppearances true")
	result, err := runJob(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"Page"}}, document)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Form fields (10) were flattened into their pages, with their values.", "Comments and drawings (3) were flattened into their pages."}
	if got := unmarshal[job.Changed](t, result.Body).Changes; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
