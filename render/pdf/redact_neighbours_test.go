package pdf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font/sfnt"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// tallFont is a font whose letters declare to be several lines high, as fonts with a tall glyph do.
func tallFont(t testing.TB, family string) []byte {
	t.Helper()
	font := bytes.Clone(pdftest.Load(t, strings.TrimSpace(pdftest.Tool(t, "fc-match", "-f", "%{file}", family))))
	for row := 12; row < 12+16*int(binary.BigEndian.Uint16(font[4:])); row += 16 {
		if string(font[row:row+4]) == "hhea" {
			table := font[binary.BigEndian.Uint32(font[row+8:]):]
			up, down := int16(5500), int16(-3500) // of 2048
			binary.BigEndian.PutUint16(table[4:], uint16(up))
			binary.BigEndian.PutUint16(table[6:], uint16(down))
		}
	}
	return font
}

// typeset is a page with lines of text, 12 points apart and from the top, in a font of 11 points whose codes are its
// glyphs. content changes what shows them: its %s are the lines in hexadecimal digits.
func typeset(t testing.TB, font []byte, encoding, content string, lines ...string) []byte {
	t.Helper()
	face, err := sfnt.Parse(font)
	if err != nil {
		t.Fatal(err)
	}
	var meanings strings.Builder
	var codes []any
	for _, line := range lines {
		var digits strings.Builder
		for _, r := range line {
			glyph, err := face.GlyphIndex(nil, r)
			if err != nil || glyph == 0 {
				t.Fatalf("no glyph for %q: %v", r, err)
			}
			fmt.Fprintf(&digits, "%04x", glyph)
			fmt.Fprintf(&meanings, "1 beginbfchar <%04x> <%04x> endbfchar\n", glyph, r)
		}
		codes = append(codes, digits.String())
	}

	u, root := pdffile.NewDocument()
	add := func(value any) string {
		ref := u.Reserve()
		u.Set(ref, value)
		return ref
	}
	descriptor := add(pdffile.Dict{
		"/Type": "/FontDescriptor", "/FontName": "/ABCDEF+Tall", "/Flags": 4, "/FontBBox": []any{-500, -1700, 2000, 2700}, "/ItalicAngle": 0,
		"/Ascent": 2700, "/Descent": -1700, "/CapHeight": 700, "/StemV": 80, "/FontFile2": add(pdffile.Deflated(pdffile.Dict{"/Length1": len(font)}, font)),
	})
	descendant := add(pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/CIDFontType2", "/BaseFont": "/ABCDEF+Tall", "/FontDescriptor": descriptor, "/DW": 600, "/CIDToGIDMap": "/Identity",
		"/CIDSystemInfo": pdffile.Dict{"/Registry": "b:41646f6265", "/Ordering": "b:4964656e74697479", "/Supplement": 0},
	})
	tells := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n" +
		"1 begincodespacerange <0000> <FFFF> endcodespacerange\n" + meanings.String() + "\nendcmap CMapName currentdict /CMap defineresource pop end end"
	face0 := add(pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/Type0", "/BaseFont": "/ABCDEF+Tall", "/Encoding": encoding,
		"/DescendantFonts": []any{descendant}, "/ToUnicode": add(pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(tells)}),
	})
	pages := u.Reserve()
	page := add(pdffile.Dict{
		"/Type": "/Page", "/Parent": pages, "/MediaBox": []any{0, 0, 400, 300}, "/Resources": pdffile.Dict{"/Font": pdffile.Dict{"/F": face0}},
		"/Contents": add(pdffile.Stream{Entries: pdffile.Dict{}, Content: fmt.Appendf(nil, content, codes...)}),
	})
	u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Kids": []any{page}, "/Count": 1})
	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": pages})
	return bytes.Replace(u.Document(root), []byte("%PDF-1.3"), []byte("%PDF-1.7"), 1)
}

// readLetters returns the characters that poppler and MuPDF read in a document, sorted, without spaces.
func readLetters(t *testing.T, content []byte) (read [2]string) {
	t.Helper()
	texts, ok := readings(t, pdftest.Save(t, content))
	if !ok {
		t.Fatal("it cannot be read")
	}
	for i, text := range texts {
		read[i] = sortedLetters(text)
	}
	return read
}

func sortedLetters(text string) string {
	letters := slices.DeleteFunc([]rune(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
	slices.Sort(letters)
	return string(letters)
}

// less returns sorted letters without those of a text.
func less(letters, text string) string {
	for _, r := range strings.Join(strings.Fields(text), "") {
		letters = strings.Replace(letters, string(r), "", 1)
	}
	return letters
}

// TestRedactLeavesNeighbours takes words and areas from lines whose letters declare to reach into others, written in
// the ways that programs write lines: all letters of the other lines stay, in their places.
func TestRedactLeavesNeighbours(t *testing.T) {
	t.Parallel()
	lines := []string{"the first line has none", "of Falkenberg in the second", "nor has the third line", "and the fourth"}
	font := tallFont(t, "Liberation Sans")
	for name, c := range map[string]struct{ encoding, content string }{
		"lines":           {"/Identity-H", "BT /F 11 Tf 12 TL 20 250 Td <%s> Tj T* <%s> Tj <%s> ' 0 0 <%s> \" ET"},
		"distances":       {"/Identity-H", "BT /F 11 Tf 12 TL 20 250 Td [10 <%s> -20] TJ T* [-30 <%s> 40] TJ T* [<%s>] TJ T* [<%s>] TJ ET"},
		"turned":          {"/Identity-H", "0.8 0.6 -0.6 0.8 100 0 cm BT /F 11 Tf 12 TL 20 150 Td <%s> Tj T* <%s> Tj T* <%s> Tj T* <%s> Tj ET"},
		"up":              {"/Identity-H", "BT /F 11 Tf 12 TL 0 1 -1 0 100 20 Tm <%s> Tj T* <%s> Tj T* <%s> Tj T* <%s> Tj ET"},
		"wide":            {"/Identity-H", "BT /F 11 Tf 12 TL 150 Tz 1 Tc 2 Ts 20 250 Td <%s> Tj T* <%s> Tj T* <%s> Tj T* <%s> Tj ET"},
		"invisible":       {"/Identity-H", "BT /F 11 Tf 12 TL 3 Tr 20 250 Td <%s> Tj T* <%s> Tj T* <%s> Tj T* <%s> Tj ET"},
		"filled, stroked": {"/Identity-H", "BT /F 11 Tf 12 TL 2 Tr 20 250 Td <%s> Tj T* <%s> Tj T* <%s> Tj T* <%s> Tj ET"},
		"large matrix":    {"/Identity-H", "BT /F 1 Tf 11 0 0 11 20 250 Tm 0 -1.1 TD <%s> Tj T* <%s> Tj T* <%s> Tj T* <%s> Tj ET"},
		"vertical":        {"/Identity-V", "BT /F 11 Tf 20 280 Td <%s> Tj 12 0 Td <%s> Tj 12 0 Td <%s> Tj 12 0 Td <%s> Tj ET"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := typeset(t, font, c.encoding, c.content, lines...)
			all := readLetters(t, document)
			made := makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"Falkenberg"}}, document)
			for i, letters := range readLetters(t, made) {
				if want := less(all[i], "Falkenberg"); letters != want {
					t.Errorf("reader %d finds %q, want %q", i, letters, want)
				}
			}
			if dir := os.Getenv("SCREENSHOTS"); dir != "" {
				pdftest.Tool(t, "pdftoppm", "-r", "60", "-png", "-singlefile", pdftest.Save(t, made), filepath.Join(dir, "neighbours-"+strings.ReplaceAll(name, " ", "-")))
			}
		})
	}

	// The second line is between 10 and 2 points above and below 238.
	document := typeset(t, font, "/Identity-H", "BT /F 11 Tf 12 TL 20 250 Td <%s> Tj T* <%s> Tj T* <%s> Tj T* <%s> Tj ET", lines...)
	made, told := redactAreas(t, redact.Args{Areas: []redact.Area{{Page: 1, X: 10, Y: 300 - 238 - 8, Width: 380, Height: 10}}}, document)
	if len(told) > 0 {
		t.Errorf("changes %q", told)
	}
	for i, letters := range readLetters(t, made) {
		if want := sortedLetters(lines[0] + lines[2] + lines[3]); letters != want {
			t.Errorf("area: reader %d finds %q, want %q", i, letters, want)
		}
	}
}

// TestRedactLeavesScripts takes words from texts in several scripts, as LibreOffice writes them: all that does not go
// stays, character by character.
func TestRedactLeavesScripts(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	var body strings.Builder
	for _, line := range [][2]string{
		{"Noto Sans CJK SC", "第一行文字在这里没有秘密的内容。第二行包含机密姓名王小明在中间的位置。第三行也是普通的文字内容而已。第四行继续写一些普通的汉字。第五行是最后的一行。"},
		{"Noto Naskh Arabic", "هذا هو السطر الأول من النص العربي بدون سر. السطر الثاني يحتوي على اسم محمود في الوسط. السطر الثالث نص عادي أيضا. والسطر الرابع هنا في آخر النص."},
		{"Noto Sans Devanagari", "यह पहली पंक्ति है जिसमें कोई रहस्य नहीं है। दूसरी पंक्ति में गुप्त नाम विक्रम है और कुछ और। तीसरी पंक्ति भी सामान्य है। चौथी पंक्ति यहाँ है।"},
		{"Noto Sans Thai", "นี่คือบรรทัดแรกของข้อความภาษาไทยที่ไม่มีความลับ บรรทัดที่สองมีนามสมชายอยู่ตรงกลาง บรรทัดที่สามก็เป็นข้อความธรรมดา บรรทัดที่สี่อยู่ที่นี่"},
		{"Liberation Serif", "The first line has no secret in it. The second one has Falkenberg in it and some more words. The third line of plain Latin text goes on, and a fourth one ends it."},
	} {
		fmt.Fprintf(&body, `<p style="font-family:'%s';font-size:11pt;line-height:100%%;margin:0 9cm 4pt 0">%s</p>`, line[0], line[1])
	}
	page := filepath.Join(t.TempDir(), "scripts.html")
	if err := os.WriteFile(page, []byte(`<html><head><meta charset="utf-8"></head><body>`+body.String()+"</body></html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	document := officePDF(t, page)
	all := readLetters(t, document)

	for _, term := range []string{"王小明", "小", "محمود", "और", "ตรง", "Falkenberg", "e"} {
		made := makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{term}}, document)
		for i, letters := range readLetters(t, made) {
			times := strings.Count(all[i], term[:firstSize(term)]) - strings.Count(letters, term[:firstSize(term)])
			times /= strings.Count(term, term[:firstSize(term)])
			if want := less(all[i], strings.Repeat(term, times)); times == 0 || letters != want {
				t.Errorf("%s, %d times: reader %d finds also %q, and lacks %q", term, times, i, less(letters, want), less(want, letters))
			}
		}
	}
}

func firstSize(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	return size
}
