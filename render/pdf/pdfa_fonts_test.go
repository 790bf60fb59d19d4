package pdf

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

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
		document := pdftest.Lettered(t, test.glyphs, test.meanings)
		plain := func(content []byte) string {
			text := strings.TrimSpace(pdftest.Tool(t, "pdftotext", pdftest.Save(t, content), "-"))
			return strings.NewReplacer("\u202a", "", "\u202b", "", "\u202c", "").Replace(text)
		}
		want := plain(document)
		for _, level := range []archive.Level{archive.Level1B, archive.Level2B} {
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
	document := pdftest.Lettered(t, "0024", "1 beginbfchar <0024> <0061> endbfchar")
	document = bytes.ReplaceAll(document, []byte("LiberationSans"), []byte("#ba#da#cc#e5ab"))
	made, _ := madeArchive(t, archive.Level2B, document)
	if name := regexp.MustCompile(`/(BaseFont|FontName) /\S*(#[89a-fA-F]|[\x80-\xff])\S*`).Find(pdftest.Transform(t, made, "--qdf", "--object-streams=disable")); name != nil {
		t.Errorf("a font is called %q", name)
	}
}
