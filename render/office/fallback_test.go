package office

import (
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
)

// hardLines are lines with letters of several fonts, of which LibreOffice loses some by itself.
var hardLines = []string{
	"ñandú ไทยดี → 🟥 ┌─┐",
	"👩‍🚀 ไทยดี 👩‍🚀 นี่",
	"भारत 𝒳 ⟹ █▓ ❶ ไทย",
	"ώρα भारत 🥹 भारत █▓",
	"ᠮᠣᠩᠭᠣᠯ தமிழ் မြန်မာ",
	"عربي ⊕ ไทย ✔ 漢字 👍🏽",
	"all: 🎉 ✔ ❤ ☎ ⚠ 🎉",
}

// lettersMissing returns the letters of lines that a text lacks.
func lettersMissing(text string, lines ...string) string {
	count := map[rune]int{}
	for _, c := range text {
		count[c]++
	}
	var missing strings.Builder
	for _, c := range strings.Join(lines, "") {
		if count[c]--; count[c] < 0 && !unicode.IsSpace(c) && c != joiner && c != selectEmoji {
			missing.WriteRune(c)
		}
	}
	return missing.String()
}

// overlapping returns words of a PDF that are drawn over each other.
func overlapping(t *testing.T, made []byte) (found []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.pdf")
	if err := os.WriteFile(path, made, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", path, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	type box struct {
		Left   float64 `xml:"xMin,attr"`
		Top    float64 `xml:"yMin,attr"`
		Right  float64 `xml:"xMax,attr"`
		Bottom float64 `xml:"yMax,attr"`
		Text   string  `xml:",chardata"`
	}
	var document struct {
		Pages []struct {
			Words []box `xml:"word"`
		} `xml:"body>doc>page"`
	}
	if err := xml.Unmarshal(out, &document); err != nil {
		t.Fatal(err)
	}

	for _, page := range document.Pages {
		for i, a := range page.Words {
			for _, b := range page.Words[:i] {
				width := min(a.Right, b.Right) - max(a.Left, b.Left)
				// Boxes are as high as the lines of their fonts.
				apart := math.Abs(a.Top+a.Bottom-b.Top-b.Bottom) / 2
				if width > 0.3*min(a.Right-a.Left, b.Right-b.Left) && apart < 4 {
					found = append(found, fmt.Sprintf("%q and %q", a.Text, b.Text))
				}
			}
		}
	}
	return found
}

// TestLettersOfManyFonts has the hard lines in every place of documents.
func TestLettersOfManyFonts(t *testing.T) {
	t.Parallel()
	run := func(s string) string {
		return `<w:p><w:r><w:rPr><w:rFonts w:ascii="Arial" w:hAnsi="Arial" w:cs="Arial"/></w:rPr><w:t>` + s + `</w:t></w:r></w:p>`
	}
	var paragraphs, cells, rows, frames, page, odf, rtf strings.Builder
	rtf.WriteString(`{\rtf1\ansi\uc0 `)
	for i, line := range hardLines {
		for _, unit := range utf16.Encode([]rune(line)) {
			fmt.Fprintf(&rtf, `\u%d `, int16(unit))
		}
		rtf.WriteString(`\par `)
		paragraphs.WriteString(run(line))
		cells.WriteString(`<w:tr><w:tc><w:p><w:r><w:rPr><w:b/></w:rPr><w:t>` + line + `</w:t></w:r></w:p></w:tc></w:tr>`)
		fmt.Fprintf(&rows, `<row r="%d"><c r="A%d" t="inlineStr"><is><t>%s</t></is></c></row>`, i+1, i+1, line)
		fmt.Fprintf(&frames, `<draw:frame svg:x="1cm" svg:y="%dcm" svg:width="20cm" svg:height="2cm"><draw:text-box><text:p>%s</text:p></draw:text-box></draw:frame>`, 1+2*i, line)
		odf.WriteString(`<text:p>` + line + `</text:p>`)
		page.WriteString(`<p>` + line + `</p>`)
	}

	documents := map[string][]byte{
		"paragraphs.docx": docx(t, paragraphs.String(), ""),
		"table.docx":      docx(t, `<w:tbl>`+cells.String()+`</w:tbl>`+run("end"), ""),
		"text.odt":        opened(t, "text", openedText(odf.String())),
		"slides.odp": opened(t, "presentation", `<office:body><office:presentation><draw:page draw:name="one">`+frames.String()+
			`<draw:g><draw:custom-shape svg:x="1cm" svg:y="17cm" svg:width="20cm" svg:height="2cm"><text:p>in a group</text:p></draw:custom-shape></draw:g></draw:page></office:presentation></office:body>`),
		"sheet.xlsx": xlsx(t, rows.String()),
		"table.csv":  []byte("one\n" + strings.Join(hardLines, "\n") + "\n"),
		"text.txt":   []byte(strings.Join(hardLines, "\n")),
		"text.rtf":   []byte(rtf.String() + "}"),
		"page.html":  []byte(`<!DOCTYPE html><meta charset="utf-8"><body>` + page.String()),
	}
	for name, content := range documents {
		made, err := convert(t, pool, content, name, "", ToPDF)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if missing := lettersMissing(textOf(t, made), hardLines...); missing != "" {
			t.Errorf("%s lacks %q", name, missing)
		}
		if found := overlapping(t, made); len(found) > 0 {
			t.Errorf("%s: over each other: %s", name, found)
		}
	}
}

// TestTextInFontsOfEmoji has text and emoji in fonts that have emoji only, and emoji of letters that the font has.
func TestTextInFontsOfEmoji(t *testing.T) {
	t.Parallel()
	for _, family := range []string{"Segoe UI Emoji", "Noto Color Emoji", "Arial"} {
		run := `<w:p><w:r><w:rPr><w:rFonts w:ascii="` + family + `" w:hAnsi="` + family + `" w:eastAsia="` + family + `" w:cs="` + family + `"/></w:rPr><w:t>`
		made, err := convert(t, pool, docx(t, run+`plain ♥ ☺ ✔ 1 red ♥️ ☺️</w:t></w:r></w:p>`, ""), "a.docx", "", ToPDF)
		if err != nil {
			t.Fatal(err)
		}
		fonts, page := look(t, made)
		if strings.Contains(fonts, "Emoji") || !strings.Contains(fonts, "Type 3") {
			t.Errorf("%s: the fonts are\n%s", family, fonts)
		}
		if red := where(page, 0).Dx(); red < 14 || red > 60 {
			t.Errorf("%s: %d pixels are red", family, red)
		}
	}
}

// TestFallbacks chooses fonts for letters.
func TestFallbacks(t *testing.T) {
	t.Parallel()
	fonts := fallbackFonts{'ไ': "Thai", 'भ': "Indic", '→': "Symbols", '✔': "Symbols", 'Ω': "Greek", '❤': "Symbols"}
	for letters, want := range map[string]string{
		"":         "",
		"ไ":        "",
		"Ω":        "",
		"→":        "",
		"🎉":        "",
		"漢かな한":     "",
		"→✔":       "Symbols",
		"ไΩ":       "Greek, Thai",
		"ไ漢":       "Thai, ",
		"ไ🎉":       "Thai, Emoji",
		"ไ\u0378":  ", Thai",
		"❤\ufe0f":  "Symbols, Emoji",
		"भ→ไ🎉漢":    ", Indic, Symbols, Thai, Emoji",
		"❤\ufe0f🎉": "Symbols, Emoji",
	} {
		set := map[rune]bool{}
		for _, c := range letters {
			set[c] = true
		}
		var got []string
		for _, font := range fonts.choose(set, "Emoji") {
			got = append(got, font.Family)
		}
		slices.Sort(got[:max(0, len(got)-1)])
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%q: %q, want %q", letters, got, want)
		}
	}
	if list := fonts.choose(map[rune]bool{'❤': true, selectEmoji: true}, ""); list != nil {
		t.Errorf("without an emoji font: %v", list)
	}
}

// TestLettersOf reads the letters of documents.
func TestLettersOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		format Format
		input  []byte
		known  bool
		want   string
	}{
		{"text", FormatText, []byte("añ€ – ไ ✔\ufe0f 漢"), true, "ไ✔\ufe0f漢"},
		{"references", FormatHTML, []byte("a &amp; &#x0e44; &#10004;&#XFE0F; &#9999999999; &# &copy;"), true, "ไ✔\ufe0f"},
		{"archive", FormatOOXML, docx(t, paragraph("ไ"), ""), true, "ไ"},
		{"damaged", FormatOOXML, []byte("PK"), false, ""},
		{"binary", FormatCompound, nil, false, ""},
	} {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, test.input, 0o600); err != nil {
			t.Fatal(err)
		}
		got, known := lettersOf(path, test.format)
		want := map[rune]bool{}
		for _, c := range test.want {
			if c == '漢' {
				c = asian[1].first // for all of them
			}
			want[c] = true
		}
		if known != test.known || known && !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v, %v", test.name, got, known, want, test.known)
		}
	}
}
