package archive

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// TestArchiveKeepsOnlyKnown changes a document that may stay as it is: each change makes it one that may not.
func TestArchiveKeepsOnlyKnown(t *testing.T) {
	t.Parallel()
	// A and B of the font are 667 wide.
	document := string(bytes.Replace(pdftest.Lettered(t, "00240025", "1 beginbfrange <0024> <0025> <0041> endbfrange"), []byte("/DW 600"), []byte("/DW 667"), 1))
	kept := func(text string) bool {
		f, err := pdffile.Read([]byte(text))
		if err != nil || !f.Sound() {
			t.Fatalf("the document is not sound: %v", err)
		}
		a := &archiver{args: Args{Level: Level2B}}
		made, ok := a.describe(f)
		if !ok {
			return false
		}
		violations, err := Check(made, Level2B)
		return err == nil && len(violations) == 0
	}
	if !kept(document) {
		t.Fatal("the document is not kept before anything is changed")
	}
	if kept(regexp.MustCompile(`/BaseFont (/\S+) `).ReplaceAllString(document, "/BaseFont[$1]")) {
		t.Error("the document is kept with a list in the place of the font's name")
	}
	for _, test := range []struct{ name, old, new string }{
		{"widths", "/DW 667", "/DW 600"},
		{"an encoding", "/Identity-H", "/Identity-V"},
		{"no map of glyphs", "/CIDToGIDMap", "/CIDToGIDMix"},
		{"no glyph", "<00240025>", "<00000025>"},
		{"a glyph beyond", "<00240025>", "<FFFF0025>"},
		{"half a code", "<00240025>", "<002400>  "},
		{"no font", "BT /F 24", "BT /G 24"},
		{"a small page", "[0 0 400 200 ]", "[0 0 400   2 ]"},
		{"events", "/Type /Catalog", "/AA << >>     "},
		{"ink", "20 100 Td", "0 0 0 1 k"},
		{"inks", "/Type /Catalog", "/X [/DeviceN ]"},
		{"other metadata", "/ToUnicode", "/Metadata "},
		{"layers", "/ToUnicode", "/OC       "},
		{"an image in the content", "20 100 Td", "BI 100 Td"},
		{"open states", "20 100 Td", "q q 20 Td"},
		{"an intent", "20 100 Td", "/A ri 0 w"},
		{"no resources", "/Resources", "/Resourced"},
		{"no program", "/FontFile2", "/FontFile9"},
	} {
		changed := strings.Replace(document, test.old, test.new, 1)
		if changed == document || len(changed) != len(document) {
			t.Errorf("%s: %q does not become %q", test.name, test.old, test.new)
			continue
		}
		if kept(changed) {
			t.Errorf("%s: the document is kept", test.name)
		}
	}
}

// TestWidthsAreBounded reads widths whose ranges overlap.
func TestWidthsAreBounded(t *testing.T) {
	t.Parallel()
	ranges := slices.Repeat([]any{0., 65535., 500.}, 100_000)
	font := &keptFont{widths: map[int]float64{}}
	if font.readWidths(&keepCheck{}, ranges) || len(font.widths) != 65536 {
		t.Errorf("%d widths were read", len(font.widths))
	}
}
