package pdftag

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// officeSources are the office documents of testdata, with the formats of Microsoft Office that each is also made of,
// LibreOffice's filter for its PDF, and the faults of the document.
var officeSources = []struct {
	name, microsoft, filter string
	faults                  []Rule
}{
	{"office-text.fodt", "docx", "writer", nil},
	{"office-slides.fodp", "pptx", "impress", []Rule{LinkOutside}},
	{"office-sheet.fods", "xlsx", "calc", nil},
	{"office-faults.fodt", "docx", "writer", []Rule{FigureAlt, HeadingOrder, PrivateText}},
}

// TestOfficePrintsConform converts office documents with LibreOffice. The claims of the PDFs are true, as veraPDF sees
// it; each other standard has a fault; and their pages look the same as without tags.
func TestOfficePrintsConform(t *testing.T) {
	sharedtest.Slow(t)
	dir := t.TempDir()
	office := func(folder, filter string, sources ...string) {
		pdftest.Tool(t, "soffice", append([]string{"-env:UserInstallation=file://" + dir + "/profile", "--headless", "--convert-to", filter, "--outdir", filepath.Join(dir, folder)}, sources...)...)
	}
	claims := map[pdffile.Standard][]string{}
	for _, source := range officeSources {
		stem, _, _ := strings.Cut(source.name, ".")
		flat := filepath.Join("testdata", source.name)
		office("microsoft", source.microsoft, flat)
		for folder, from := range map[string]string{"open": flat, "made": filepath.Join(dir, "microsoft", stem+"."+source.microsoft)} {
			for tagged, value := range map[string]string{folder + "-tagged": "true", folder + "-plain": "false"} {
				office(tagged, "pdf:"+source.filter+`_pdf_Export:{"UseTaggedPDF":{"type":"boolean","value":"`+value+`"}}`, from)
			}
			name := folder + "/" + source.name
			printed := pdftest.Load(t, filepath.Join(dir, folder+"-tagged", stem+".pdf"))
			rules := map[Rule]bool{}
			for _, s := range pdffile.Standards() {
				r, err := Conform(printed, Options{Standards: []pdffile.Standard{s}, Office: true})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				broken := false
				for _, f := range r.Faults {
					rules[f.Rule] = rules[f.Rule] || s != pdffile.A1B
					broken = broken || len(f.Breaks) > 0
				}
				if broken != (len(r.Claimed) == 0) {
					t.Errorf("%s as %s: claimed %v with %+v", name, s, r.Claimed, r.Faults)
				}
				result := filepath.Join(dir, folder+"-"+stem+"."+string(s)+".pdf")
				if err := os.WriteFile(result, r.PDF, 0o600); err != nil {
					t.Fatal(err)
				}
				if len(r.Claimed) > 0 {
					claims[s] = append(claims[s], result)
				}
				if s == pdffile.UA1 {
					pdftest.Tool(t, "qpdf", "--check", result)
					if pdftest.Tool(t, "pdftoppm", "-r", "50", result) != pdftest.Tool(t, "pdftoppm", "-r", "50", filepath.Join(dir, folder+"-plain", stem+".pdf")) {
						t.Errorf("%s: the pages look different", name)
					}
				}
			}
			if folder == "made" { // LibreOffice loses the descriptions of lines, text boxes and images of sheets on the way
				rules[FigureAlt] = false
			}
			maps.DeleteFunc(rules, func(_ Rule, found bool) bool { return !found })
			want := slices.DeleteFunc(slices.Sorted(slices.Values(source.faults)), func(r Rule) bool { return folder == "made" && r == FigureAlt })
			if got := slices.Sorted(maps.Keys(rules)); !slices.Equal(got, want) {
				t.Errorf("%s: faults %v, want %v", name, got, want)
			}
		}
	}
	for s, files := range claims {
		flavour := strings.ReplaceAll(strings.TrimPrefix(string(s), "a-"), "-", "")
		for file, rules := range pdftest.VeraPDF(t, flavour, files...) {
			t.Errorf("%s breaks %s, which it claims: %q", filepath.Base(file), s, rules)
		}
		t.Logf("%d documents conform to %s", len(files), s)
	}
}
