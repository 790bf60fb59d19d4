package pdf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// withCmap returns a TrueType font whose only table of codes is one of a platform, with the glyphs of 256 codes.
func withCmap(font []byte, platform int, glyphs map[byte]sfnt.GlyphIndex) []byte {
	var table []byte
	put := func(values ...int) {
		for _, v := range values {
			table = binary.BigEndian.AppendUint16(table, uint16(v))
		}
	}
	put(0, 1, platform, 0, 0, 12) // the version, and a table that begins after 12 bytes
	if platform == 1 {
		put(6, 10+2*256, 0, 0, 256) // the format with a list
		for code := range 256 {
			put(int(glyphs[byte(code)]))
		}
	} else {
		const first = 0xF000
		put(4, 16+8*2+2*256, 0, 4, 4, 1, 0, first+255, 0xFFFF, 0, first, 0xFFFF, 0, 1, 4, 0)
		for code := range 256 {
			put(int(glyphs[byte(code)]))
		}
	}

	font = bytes.Clone(font)
	for row := 12; row < 12+16*int(binary.BigEndian.Uint16(font[4:])); row += 16 {
		if string(font[row:row+4]) == "cmap" {
			for len(font)%4 != 0 {
				font = append(font, 0)
			}
			binary.BigEndian.PutUint32(font[row+8:], uint32(len(font)))
			binary.BigEndian.PutUint32(font[row+12:], uint32(len(table)))
		}
	}
	return append(font, table...)
}

// fontPages is a document with a page for each font, whose text it shows.
type fontPages struct {
	u     *pdffile.Update
	pages string
	kids  []any
	texts []string
	names []string
}

func (p *fontPages) add(value any) string {
	ref := p.u.Reserve()
	p.u.Set(ref, value)
	return ref
}

// page adds a page on which a font shows codes that are a text.
func (p *fontPages) page(name string, font pdffile.Dict, codes []byte, text string) {
	p.kids = append(p.kids, p.add(pdffile.Dict{
		"/Type": "/Page", "/Parent": p.pages, "/MediaBox": []any{0, 0, 400, 100}, "/Resources": pdffile.Dict{"/Font": pdffile.Dict{"/F": font}},
		"/Contents": p.add(pdffile.Stream{Entries: pdffile.Dict{}, Content: fmt.Appendf(nil, "BT /F 18 Tf 20 40 Td <%x> Tj ET", codes)}),
	}))
	p.names, p.texts = append(p.names, name), append(p.texts, text)
}

// simple is a font with one byte a code, with a program.
func (p *fontPages) simple(kind, key string, program []byte, flags int, encoding any) pdffile.Dict {
	widths := make([]any, 256)
	for i := range widths {
		widths[i] = 600
	}
	font := pdffile.Dict{
		"/Type": "/Font", "/Subtype": kind, "/BaseFont": "/ABCDEF+Sans", "/FirstChar": 0, "/LastChar": 255, "/Widths": widths,
		"/FontDescriptor": p.add(pdffile.Dict{
			"/Type": "/FontDescriptor", "/FontName": "/ABCDEF+Sans", "/Flags": flags, "/FontBBox": []any{-500, -300, 1300, 1000}, "/ItalicAngle": 0,
			"/Ascent": 900, "/Descent": -200, "/CapHeight": 700, "/StemV": 80, key: p.add(pdffile.Deflated(pdffile.Dict{"/Length1": len(program)}, program)),
		}),
	}
	if encoding != nil {
		font["/Encoding"] = encoding
	}
	return font
}

// fontDocument is a document whose fonts say only by their encoding, the names of their glyphs or their program what
// their codes mean.
func fontDocument(t testing.TB) (*fontPages, []byte) {
	t.Helper()
	const text = "Nature’s “café” – Größe"
	mac := []byte("Nature\xd5s \xd2caf\x8e\xd3 \xd0 Gr\x9a\xa7e")
	win := []byte("Nature\x92s \x93caf\xe9\x94 \x96 Gr\xf6\xdfe")
	font := pdftest.Load(t, strings.TrimSpace(pdftest.Tool(t, "fc-match", "-f", "%{file}", "Liberation Sans")))
	face, err := sfnt.Parse(font)
	if err != nil {
		t.Fatal(err)
	}
	var own []byte // codes from 33 on
	var named, numbered []any
	codes, glyphs, macGlyphs := map[rune]byte{}, map[byte]sfnt.GlyphIndex{}, map[byte]sfnt.GlyphIndex{}
	named, numbered = append(named, 33), append(numbered, 33)
	names := map[rune]string{'’': "quoteright", '“': "quotedblleft", '”': "quotedblright", '–': "endash", 'é': "eacute", 'ö': "odieresis", 'ß': "germandbls", ' ': "space"}
	for i, r := range []rune(text) {
		if codes[r] == 0 {
			codes[r] = byte(33 + len(codes))
			if names[r] == "" {
				names[r] = string(r)
			}
			named, numbered = append(named, "/"+names[r]), append(numbered, fmt.Sprintf("/uni%04X", r))
		}
		glyph, err := face.GlyphIndex(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, codes[r])
		glyphs[codes[r]], macGlyphs[mac[i]] = glyph, glyph
	}
	differences := func(list []any) pdffile.Dict {
		return pdffile.Dict{"/Type": "/Encoding", "/BaseEncoding": "/WinAnsiEncoding", "/Differences": list}
	}
	nimbus := type1(t, "/usr/share/fonts/X11/Type1/NimbusSans-Regular.pfb")

	u, root := pdffile.NewDocument()
	p := &fontPages{u: u, pages: u.Reserve()}
	const symbolic, plain = 4, 32
	trueType := func(program []byte, flags int, encoding any) pdffile.Dict {
		return p.simple("/TrueType", "/FontFile2", program, flags, encoding)
	}
	p.page("Mac Roman", trueType(font, plain, "/MacRomanEncoding"), mac, text)
	p.page("Windows", trueType(font, plain, "/WinAnsiEncoding"), win, text)
	p.page("names of glyphs", trueType(font, plain, differences(named)), own, text)
	p.page("numbers of characters", trueType(font, plain, differences(numbered)), own, text)
	p.page("a table of Mac OS", trueType(withCmap(font, 1, macGlyphs), symbolic, nil), mac, text)
	p.page("a table of Mac OS with own codes", trueType(withCmap(font, 1, glyphs), symbolic, nil), own, text)
	p.page("a table of symbols", trueType(withCmap(font, 3, glyphs), symbolic, nil), own, text)
	p.page("a table of Mac OS and an encoding", trueType(withCmap(font, 1, macGlyphs), plain, "/MacRomanEncoding"), mac, text)
	p.page("a ligature's name", trueType(withCmap(font, 1, map[byte]sfnt.GlyphIndex{33: glyphs[codes['a']], 34: glyphs[codes['t']]}), symbolic,
		pdffile.Dict{"/Type": "/Encoding", "/Differences": []any{33, "/f_i", "/t"}}), []byte("!\""), "fit")
	partial := trueType(font, plain, "/MacRomanEncoding")
	partial["/ToUnicode"] = p.add(pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(someMeanings)})
	p.page("some meanings", partial, mac, text)
	p.page("Type 1", p.simple("/Type1", "/FontFile", nimbus, symbolic, nil), []byte("Nature\x27s \xaacaf\xba \xb1 Gr"), "Nature’s “caf” – Gr")
	p.page("Type 1, Mac Roman", p.simple("/Type1", "/FontFile", nimbus, symbolic, "/MacRomanEncoding"), mac, text)
	p.page("Type 1, names of glyphs", p.simple("/Type1", "/FontFile", nimbus, symbolic, differences(named)), own, text)
	p.page("not in the file", pdffile.Dict{"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/MacRomanEncoding"}, mac, text)
	glyph := p.add(pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte("600 0 0 0 500 700 d1 0 0 500 700 re f")})
	p.page("Type 3", pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/Type3", "/FontBBox": []any{0, 0, 600, 800}, "/FontMatrix": []any{.001, 0, 0, .001, 0, 0}, "/FirstChar": 33, "/LastChar": 35, "/Widths": []any{600, 600, 600},
		"/Encoding": pdffile.Dict{"/Type": "/Encoding", "/Differences": []any{33, "/eacute", "/quoteright", "/B"}}, "/Resources": pdffile.Dict{},
		"/CharProcs": pdffile.Dict{"/eacute": glyph, "/quoteright": glyph, "/B": glyph},
	}, []byte("!\"#"), "é’B")
	u.Set(p.pages, pdffile.Dict{"/Type": "/Pages", "/Kids": p.kids, "/Count": len(p.kids)})
	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": p.pages})
	return p, bytes.Replace(u.Document(root), []byte("%PDF-1.3"), []byte("%PDF-1.7"), 1)
}

// check fails the test unless both readers find the texts of the pages in a document.
func (p *fontPages) check(t testing.TB, name string, document []byte, gone string) {
	t.Helper()
	path := pdftest.Save(t, document)
	for i, want := range p.texts {
		page := fmt.Sprint(i + 1)
		texts := [2]string{pdftest.Tool(t, "pdftotext", "-f", page, "-l", page, path, "-"), pdftest.Tool(t, "mutool", "draw", "-q", "-F", "text", path, page)}
		for reader, got := range texts {
			got = strings.ReplaceAll(got, "warning: ICC support is not available", "")
			if want := sortedLetters(strings.ReplaceAll(want, gone, "")); sortedLetters(got) != want {
				t.Errorf("%s, %s: reader %d finds %q, want %q", name, p.names[i], reader, got, want)
			}
		}
	}
}

// someMeanings is a table of the meanings of two codes: N, and the opening quotation mark.
const someMeanings = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n" +
	"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n" +
	"1 begincodespacerange <00> <ff> endcodespacerange\n" +
	"2 beginbfchar\n<4e> <004e>\n<d2> <201c>\nendbfchar\n" +
	"endcmap CMapName currentdict /CMap defineresource pop end end\n"

// TestArchiveKeepsTextOfFonts: both readers find in an archive what its source says.
func TestArchiveKeepsTextOfFonts(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p, document := fontDocument(t)
	for _, level := range []archive.Level{archive.Level1B, archive.Level2B} {
		made, changes := madeArchive(t, level, document)
		if strings.Contains(changes, "copied") {
			t.Errorf("%s: changes %q", level, changes)
		}
		for file, rules := range pdftest.VeraPDF(t, string(level), pdftest.Save(t, made)) {
			t.Errorf("%s is not PDF/A-%s: %q", file, level, rules)
		}
		p.check(t, string(level), made, "")
	}
}

// TestOperationsKeepTextOfFonts: so do they in the result of every operation that writes pages again.
func TestOperationsKeepTextOfFonts(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p, document := fontDocument(t)
	// Neither a name of a ligature nor tables of symbols are read in the same way by all: only an archive mends them.
	var kept fontPages
	var pages []string
	for i, name := range p.names {
		if !strings.HasPrefix(name, "a ") {
			kept.names, kept.texts, pages = append(kept.names, name), append(kept.texts, p.texts[i]), append(pages, fmt.Sprint(i+1))
		}
	}
	document = makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: strings.Join(pages, ",")}, document)
	kept.check(t, "source", document, "")

	all := Selection{Input: input("")}
	for name, args := range map[string]any{
		CompressJob.Name: input(""), RepairJob.Name: input(""), RotateJob.Name: RotateArgs{all, 90}, OptimizeJob.Name: OptimizeArgs{Input: input(""), Linearize: true, Quality: 70, MaxDPI: 100},
		ResizeJob.Name: ResizeArgs{Selection: all, Width: 842, Height: 595}, CropJob.Name: CropArgs{Selection: all, Margin: images.Margin{Bottom: 1}},
		MergeJob.Name: MergeArgs{Inputs: []MergeInput{{Input: input("")}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := makeOne(t, name, args, document)
			kept.check(t, name, made, "")
		})
	}
	kept.check(t, redact.Job.Name, makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"Nature"}}, document), "Nature")
}

// type1 is the program of a Type 1 font as a PDF has it, of a file with segments.
func type1(t testing.TB, path string) (program []byte) {
	t.Helper()
	file := pdftest.Load(t, path)
	for len(file) > 6 && file[0] == 0x80 && file[1] != 3 {
		length := int(binary.LittleEndian.Uint32(file[2:]))
		program, file = append(program, file[6:6+length]...), file[6+length:]
	}
	return program
}
