package pdf

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// lettered is a page of glyphs, from 36 on, of a font that says what they mean.
func lettered(t *testing.T, glyphs, meanings string) []byte {
	t.Helper()
	font := pdftest.Load(t, strings.TrimSpace(pdftest.Tool(t, "fc-match", "-f", "%{file}", "Liberation Sans")))
	u, root := pdffile.NewDocument()
	add := func(value any) string {
		ref := u.Reserve()
		u.Set(ref, value)
		return ref
	}
	stream := func(entries pdffile.Dict, content []byte) string {
		return add(pdffile.Stream{Entries: entries, Content: content})
	}
	descriptor := add(pdffile.Dict{
		"/Type": "/FontDescriptor", "/FontName": "/ABCDEF+LiberationSans", "/Flags": 4, "/FontBBox": []any{0, -200, 1000, 900}, "/ItalicAngle": 0,
		"/Ascent": 900, "/Descent": -200, "/CapHeight": 700, "/StemV": 80, "/FontFile2": stream(pdffile.Dict{"/Length1": len(font)}, font),
	})
	descendant := add(pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/CIDFontType2", "/BaseFont": "/ABCDEF+LiberationSans", "/FontDescriptor": descriptor, "/DW": 600, "/CIDToGIDMap": "/Identity",
		"/CIDSystemInfo": pdffile.Dict{"/Registry": "b:41646f6265", "/Ordering": "b:4964656e74697479", "/Supplement": 0},
	})
	tells := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n" +
		"1 begincodespacerange <0000> <FFFF> endcodespacerange\n" + meanings + "\nendcmap CMapName currentdict /CMap defineresource pop end end"
	face := add(pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/Type0", "/BaseFont": "/ABCDEF+LiberationSans", "/Encoding": "/Identity-H",
		"/DescendantFonts": []any{descendant}, "/ToUnicode": stream(pdffile.Dict{}, []byte(tells)),
	})
	pages := u.Reserve()
	page := add(pdffile.Dict{
		"/Type": "/Page", "/Parent": pages, "/MediaBox": []any{0, 0, 400, 200}, "/Resources": pdffile.Dict{"/Font": pdffile.Dict{"/F": face}},
		"/Contents": stream(pdffile.Dict{}, []byte("BT /F 24 Tf 20 100 Td <"+glyphs+"> Tj ET")),
	})
	u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Kids": []any{page}, "/Count": 1})
	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": pages})
	return bytes.Replace(u.Document(root), []byte("%PDF-1.3"), []byte("%PDF-1.7"), 1)
}

// TestArchiveKeepsMeaningOfGlyphs: text of an archive is copied and searched as it was,
// which Ghostscript alone garbles beyond Latin.
func TestArchiveKeepsMeaningOfGlyphs(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	for name, test := range map[string]struct{ glyphs, meanings, want string }{
		"emoji":        {"002400250026", "2 beginbfchar <0024> <D83CDF34> <0025> <D83DDC10> endbfchar 1 beginbfrange <0026> <0027> <D83DDE00> endbfrange", "🌴🐐😀"},
		"Hebrew":       {"002400250026", "1 beginbfrange <0024> <0029> <05D0> endbfrange", "אבג"},
		"Greek":        {"002400250026", "1 beginbfrange <0024> <0026> [<03B1> <03B2> <03B3>] endbfrange", "αβγ"},
		"ligature":     {"002400250026", "3 beginbfchar <0024> <006600660069> <0025> <0061> <0026> <00660069> endbfchar", "ffiafi"},
		"private use":  {"002400250026", "1 beginbfrange <0024> <0026> <E001> endbfrange", "\ue001\ue002\ue003"},
		"Han and Kana": {"002400250026", "1 beginbfrange <0024> <0025> <65E5> endbfrange 1 beginbfchar <0026> <3042> endbfchar", "日旦あ"},
	} {
		document := lettered(t, test.glyphs, test.meanings)
		plain := func(content []byte) string {
			text := strings.TrimSpace(pdftest.Tool(t, "pdftotext", pdftest.Save(t, content), "-"))
			return strings.NewReplacer("\u202a", "", "\u202b", "", "\u202c", "").Replace(text)
		}
		want := plain(document)
		for _, level := range []ArchiveLevel{Archive1B, Archive2B} {
			made, _ := madeArchive(t, level, document)
			if got := plain(made); got != want || want == "" {
				t.Errorf("%s in %s: the text is %q, want %q (%q)", name, level, got, want, test.want)
			}
		}
	}
}

// TestArchiveNamesFontsInUTF8: names of fonts in an encoding of a country make no archive.
func TestArchiveNamesFontsInUTF8(t *testing.T) {
	t.Parallel()
	document := lettered(t, "0024", "1 beginbfchar <0024> <0061> endbfchar")
	document = bytes.ReplaceAll(document, []byte("LiberationSans"), []byte("#ba#da#cc#e5ab"))
	made, _ := madeArchive(t, Archive2B, document)
	if name := regexp.MustCompile(`/(BaseFont|FontName) /\S*(#[89a-fA-F]|[\x80-\xff])\S*`).Find(pdftest.Transform(t, made, "--qdf", "--object-streams=disable")); name != nil {
		t.Errorf("a font is called %q", name)
	}
}
