package render_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gosmallcaps"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/font"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/spool"
)

// ownFonts returns a folder of fonts such as an operator has. One font has a unique name, and one has a name for
// which another font would stand in.
func ownFonts(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "own-fonts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, font := range map[string][]byte{"house.ttf": gosmallcaps.TTF, "georgia.ttf": houseGeorgia()} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, font, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// houseGeorgia is Go Mono by the name of Georgia, which has as many letters.
func houseGeorgia() []byte {
	const from, to = "Go Mono", "Georgia"
	wide := func(text string) (b []byte) {
		for _, unit := range utf16.Encode([]rune(text)) {
			b = append(b, byte(unit>>8), byte(unit))
		}
		return b
	}
	font := bytes.ReplaceAll(gomono.TTF, []byte(from), []byte(to))
	return bytes.ReplaceAll(font, wide(from), wide(to))
}

// TestOwnFonts checks that the browser and the engines find the fonts of the operator's folder at each level of the
// sandbox (see TestIsolationWithoutNamespaces). They cannot see these fonts otherwise.
func TestOwnFonts(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	r := launch(t, render.Config{Fonts: ownFonts(t), OfficeSlots: 1})
	account := r.For("acct_fonts")
	const html = `<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>` +
		`<p style="font-family:'Go Smallcaps','PT Mono'">House</p><p style="font-family:Georgia,'PT Mono'">Georgia</p></body></html>`
	want := []string{"GoMono", "GoSmallcaps"}
	doc, err := account.PDF(t.Context(), render.Source{HTML: html}, render.PageSettings{}, render.PDF{})
	if err != nil {
		t.Fatal(err)
	}
	hasFonts(t, "the browser", keep(t, doc.Body, "browser.pdf"), want...)
	if len(doc.Warnings) > 0 {
		t.Errorf("warned of typefaces that are there: %v", doc.Warnings)
	}
	// No font has these: the first is an unknown font name, the second an unassigned character.
	doc, err = account.PDF(t.Context(), render.Source{HTML: html + `<p style="font-family:No Such Grotesk">한국어 हिन्दी 😀 &#x10fab;`}, render.PageSettings{}, render.PDF{})
	if err != nil {
		t.Fatal(err)
	}
	keep(t, doc.Body, "missing.pdf")
	if len(doc.Warnings) != 2 || !strings.Contains(doc.Warnings[0].Message, "No Such Grotesk") || !strings.Contains(doc.Warnings[1].Message, "no font contains U+10FAB,") {
		t.Errorf("warned of %v, want one name and one character", doc.Warnings)
	}
	made, err := account.ConvertPage(t.Context(), render.PageConversion{Content: spool.FromBytes([]byte(html))})
	if err != nil {
		t.Fatal(err)
	}
	hasFonts(t, "wkhtmltopdf", keep(t, made.Body, "page.pdf"), want...)
	office := convertRTF(t, account, "Go Smallcaps", "Georgia")
	hasFonts(t, "the office", office, want...)
	i := slices.IndexFunc(r.Fonts(), func(f font.Family) bool { return f.Name == "Georgia" })
	if i < 0 || r.Fonts()[i].AliasOf != "" {
		t.Errorf("Georgia is listed as an alias although it is there: %+v", r.Fonts()[max(i, 0)])
	}
}

// convertRTF has LibreOffice make a PDF of a text in some fonts.
func convertRTF(t *testing.T, account *render.Account, fonts ...string) string {
	t.Helper()
	var table, text strings.Builder
	for i, font := range fonts {
		fmt.Fprintf(&table, `{\f%d %s;}`, i, font)
		fmt.Fprintf(&text, `\f%d Hamburgefonstiv\par `, i)
	}
	made, err := account.Convert(t.Context(), render.Conversion{
		Content: spool.FromBytes([]byte(`{\rtf1\ansi{\fonttbl` + table.String() + `}` + text.String() + `}`)), Name: "fonts.rtf", To: office.ToPDF,
	})
	if err != nil {
		t.Fatal(err)
	}
	return keep(t, made.Body, "office.pdf")
}

// hasFonts fails if a PDF lacks one of the fonts.
func hasFonts(t *testing.T, who, path string, want ...string) {
	t.Helper()
	fonts := string(output(t, "pdffonts", path))
	for _, name := range want {
		// Only some prefix the letters of a subset.
		if !strings.Contains(fonts, "+"+name+" ") && !strings.Contains(fonts, "\n"+name+" ") {
			t.Errorf("%s did not use %s:\n%s", who, name, fonts)
		}
	}
}

// commonFonts holds the font names that documents ask for most often, with the PostScript name of the font that they
// get.
var commonFonts = map[string]string{
	"Roboto": "Roboto-Regular", "Open Sans": "OpenSans", "Lato": "Lato-Regular", "Montserrat": "Montserrat-Regular",
	"Source Sans 3": "SourceSans3-Regular", "Source Sans Pro": "SourceSans3-Regular",
	"Source Serif 4": "SourceSerif4-Regular", "Source Serif Pro": "SourceSerif4-Regular",
	"Noto Sans": "NotoSans-Regular", "Noto Serif": "NotoSerif-Regular", "Inter": "Inter-Regular",
	"Georgia": "Gelasio-Regular", "Verdana": "DejaVuSans",
	"Arial": "LiberationSans", "Helvetica": "LiberationSans", "Times New Roman": "LiberationSerif", "Times": "LiberationSerif",
	"Courier New": "LiberationMono", "Courier": "LiberationMono", "Calibri": "Carlito", "Cambria": "Caladea-Regular",
	"Arial Narrow": "LiberationSansNarrow",
}

// testTypefaces checks that a document gets each listed font, embedded as a font and not as shapes.
func (s *studio) testTypefaces(t *testing.T) {
	t.Parallel()
	listed := map[string]font.Family{}
	for _, family := range s.Fonts() {
		listed[family.Name] = family
	}
	for name, postScript := range commonFonts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := fmt.Sprintf(`<p style="font-family:'%s','PT Mono'">Hamburgefonstiv`, name)
			path := s.print(t, render.Source{HTML: html}, render.PageSettings{}, goldenPDF)
			fonts := string(output(t, "pdffonts", path))
			if !strings.Contains(fonts, "+"+postScript+" ") || strings.Contains(fonts, "PTMono") || strings.Contains(fonts, "Type 3") {
				t.Errorf("not %s:\n%s", postScript, fonts)
			}
			family := listed[name]
			if !slices.Contains(family.Styles, "Regular") && !slices.Contains(family.Styles, "Book") {
				t.Errorf("listed as %+v", family)
			}
			by := strings.Join(strings.FieldsFunc(family.AliasOf, func(r rune) bool { return r == ' ' }), "")
			if by != "" && !strings.HasPrefix(postScript, by) {
				t.Errorf("listed as an alias of %s, and is %s", family.AliasOf, postScript)
			}
			if by == "" && !strings.HasPrefix(postScript, strings.ReplaceAll(name, " ", "")) {
				t.Errorf("listed as itself, and is %s", postScript)
			}
		})
	}
	for _, family := range s.Fonts() {
		if family.AliasOf != "" && commonFonts[family.Name] == "" {
			t.Errorf("%s is listed as an alias of %s, which this test does not know", family.Name, family.AliasOf)
		}
	}
}
