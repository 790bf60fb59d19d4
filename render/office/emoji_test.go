package office

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-text/typesetting/font"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
)

// emojiSource returns the file of the emoji font.
func emojiSource(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "fc-match", "--format=%{file}", emojiFamily+":color=true").Output()
	if err != nil || !bytes.Contains(out, []byte("NotoColorEmoji")) {
		t.Fatalf("no %s: %q, %v", emojiFamily, out, err)
	}
	return string(out)
}

// look returns the names of a PDF's fonts, and its first page at two pixels a point.
func look(t *testing.T, made []byte) (fonts string, page image.Image) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "made.pdf")
	if err := os.WriteFile(path, made, 0o600); err != nil {
		t.Fatal(err)
	}
	listed, err := exec.CommandContext(t.Context(), "pdffonts", path).CombinedOutput()
	if err != nil {
		t.Fatalf("pdffonts: %v\n%s", err, listed)
	}
	if out, err := exec.CommandContext(t.Context(), "pdftoppm", "-r", "144", "-png", "-singlefile", path, filepath.Join(dir, "page")).CombinedOutput(); err != nil {
		t.Fatalf("pdftoppm: %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "page.png"))
	if err != nil {
		t.Fatal(err)
	}
	if page, err = png.Decode(bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	return string(listed), page
}

// where returns what holds all pixels in which a channel (0 is red) is far above the
// other two.
func where(page image.Image, channel int) (found image.Rectangle) {
	bounds := page.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			var c [3]uint32
			c[0], c[1], c[2], _ = page.At(x, y).RGBA()
			if v := c[channel] >> 8; v > 120+c[(channel+1)%3]>>8 && v > 60+c[(channel+2)%3]>>8 {
				found = found.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return found
}

// TestEmojiAreInColour has sequences of many kinds, and squares in red and blue.
func TestEmojiAreInColour(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const text = "party 🎉 family 👩‍🚀 flag 🇯🇵 tone 👍🏽 key 1️⃣ face 🥹 日本語 "
	squares := []string{"🟥", "🟦"}
	run := `<w:p><w:r><w:rPr><w:rFonts w:ascii="Arial" w:hAnsi="Arial"/><w:sz w:val="24"/></w:rPr><w:t>`
	documents := map[string]func(string) []byte{
		"a.docx": func(s string) []byte { return docx(t, run+s+`</w:t></w:r></w:p>`, "") },
		"a.odt":  func(s string) []byte { return opened(t, "text", openedText(`<text:p>`+s+`</text:p>`)) },
		"a.odp": func(s string) []byte {
			return opened(t, "presentation", `<office:body><office:presentation><draw:page draw:name="one"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="20cm" svg:height="5cm">`+
				`<draw:text-box><text:p>`+s+`</text:p></draw:text-box></draw:frame></draw:page></office:presentation></office:body>`)
		},
		"a.xlsx": func(s string) []byte {
			return xlsx(t, `<row r="1"><c r="A1" t="inlineStr"><is><t>`+s+`</t></is></c></row>`)
		},
		"a.csv": func(s string) []byte { return []byte("one\n" + s + "\n") },
		"a.txt": func(s string) []byte { return []byte(s) },
	}
	for name, document := range documents {
		made, err := convert(t, pool, document(text+strings.Join(squares, " ")), name, "", ToPDF)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		read := textOf(t, made)
		for _, sequence := range append(strings.Fields(text), squares...) {
			if joined := strings.Join(strings.Fields(read), ""); !strings.Contains(joined, sequence) {
				t.Errorf("%s: %q is not in %q", name, sequence, joined)
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(read), " "), "party 🎉 family 👩‍🚀 flag") {
			t.Errorf("%s: the emoji are not in their line: %q", name, read)
		}
		fonts, _ := look(t, made)
		if !strings.Contains(fonts, "Type 3") || strings.Contains(fonts, "RelayEmoji") || strings.Contains(fonts, "Symbola") {
			t.Errorf("%s has the fonts\n%s", name, fonts)
		}

		alone, err := convert(t, pool, document("a "+strings.Join(squares, " b ")), name, "", ToPDF)
		if err != nil {
			t.Fatal(err)
		}
		_, page := look(t, alone)
		red, blue := where(page, 0), where(page, 2)
		for _, size := range []image.Point{red.Size(), blue.Size()} {
			if size.X < 14 || size.X > 50 || size.Y < 14 || size.Y > 50 {
				t.Errorf("%s: a square of %v", name, size)
			}
		}
		if red.Max.X >= blue.Min.X || red.Min.Y != blue.Min.Y || red.Dx() != blue.Dx() {
			t.Errorf("%s: the squares are at %v and %v", name, red, blue)
		}
	}
}

// TestEmojiFromRightToLeft has digits around emoji, which go from left to right.
func TestEmojiFromRightToLeft(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"العربية 123 🟥 456 🟦", "🟦 العربية 123 🟥 456"} {
		made, err := convert(t, pool, docx(t, `<w:p><w:pPr><w:bidi/></w:pPr><w:r><w:rPr><w:rFonts w:cs="Noto Sans Arabic"/><w:rtl/></w:rPr><w:t>`+text+`</w:t></w:r></w:p>`, ""), "a.docx", "", ToPDF)
		if err != nil {
			t.Fatal(err)
		}
		if _, page := look(t, made); where(page, 0).Dx() < 14 || where(page, 2).Dx() < 14 {
			t.Errorf("%q: the squares are at %v and %v", text, where(page, 0), where(page, 2))
		}
	}
}

// TestEmojiByTheirMark checks characters that are emoji by themselves and characters that are emoji only with a
// variation selector, after documents of all kinds in the same LibreOffice process.
func TestEmojiByTheirMark(t *testing.T) {
	p := New(Config{Engine: engine.Config{Size: 1}})
	defer p.Close()
	for _, test := range []struct {
		text string
		red  bool // whether there is a heart in red
	}{
		{"I ❤️ you", true},
		{"all: 🎉 ✔ ❤ ☎ ⚠ ✈ 🎉", false},
		{"plain ✔ ❤ ☎ ⚠ ✈", false},
	} {
		made, err := convert(t, p, []byte(test.text), "a.txt", "", ToPDF)
		if err != nil {
			t.Fatal(err)
		}
		fonts, page := look(t, made)
		if drawn := strings.Contains(fonts, "Type 3"); drawn != strings.ContainsAny(test.text, "🎉\ufe0f") {
			t.Errorf("%q has the fonts\n%s", test.text, fonts)
		}
		if heart := where(page, 0).Dx() > 14; heart != test.red && !strings.Contains(test.text, "🎉") {
			t.Errorf("%q: a red heart: %v", test.text, heart)
		}
		if read := strings.TrimSpace(textOf(t, made)); read != test.text {
			t.Errorf("%q is read as %q", test.text, read)
		}
	}
}

// TestEmojiWithoutTheirFont are black.
func TestEmojiWithoutTheirFont(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fonts.conf")
	config := `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include>/etc/fonts/fonts.conf</include>` +
		`<selectfont><rejectfont><pattern><patelt name="family"><string>` + emojiFamily + `</string></patelt></pattern></rejectfont></selectfont></fontconfig>`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := New(Config{Engine: engine.Config{Size: 1, Fonts: engine.Fonts{File: path, Config: config}}})
	defer p.Close()
	made, err := convert(t, p, []byte("party 🎉"), "a.txt", "", ToPDF)
	if err != nil {
		t.Fatal(err)
	}
	if fonts, _ := look(t, made); !strings.Contains(fonts, "Symbola") || strings.Contains(fonts, "Type 3") {
		t.Errorf("the fonts are\n%s", fonts)
	}
}

// TestEmojiFont reads the font that was made.
func TestEmojiFont(t *testing.T) {
	t.Parallel()
	source := emojiSource(t)
	path := filepath.Join(t.TempDir(), "made.ttf")
	if err := (emojiFont{name: "Nobody", source: source}).make(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	made, err := font.ParseTTF(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if family := made.Describe().Family; family != "Nobody" {
		t.Errorf("the typeface is %q", family)
	}
	original, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	emoji, err := font.ParseTTF(bytes.NewReader(original))
	if err != nil {
		t.Fatal(err)
	}
	for c, alone := range map[rune]bool{'🎉': true, '1': true, 0x1f1e9: true, joiner: true, '☝': true, '✔': false, '❤': false, '☎': false, '©': false} {
		want, _ := emoji.NominalGlyph(c)
		if glyph, ok := made.NominalGlyph(c); ok != alone || ok && glyph != want {
			t.Errorf("%q is %v, %v; want %v", c, glyph, ok, want)
		}
		if glyph, ok := made.VariationGlyph(c, selectEmoji); !ok || glyph != want {
			t.Errorf("%q with the mark is %v, %v; want %v", c, glyph, ok, want)
		}
	}
	if err := (emojiFont{name: "Nobody", source: path + "none"}).make(filepath.Join(t.TempDir(), "made.ttf")); err == nil {
		t.Error("one was made of nothing")
	}
}
