package office

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"

	"relaypdf/render/engine"
)

// emojiFamily is the font for emoji, which is the browser's too.
const emojiFamily = "Noto Color Emoji"

// findEmoji returns the file of the emoji font, or "" if it is not installed.
func findEmoji(ctx context.Context, w *engine.Work) string {
	out, err := w.Exec(ctx, engine.Program{
		Name: "fc-match", Args: []string{"--format=%{family}\n%{file}", emojiFamily + ":color=true"}, Env: []string{"FONTCONFIG_FILE=" + w.Fonts()},
	})
	family, file, _ := strings.Cut(string(out), "\n")
	if err != nil || family != emojiFamily {
		return ""
	}
	return file
}

// standIn is a font that LibreOffice uses as the emoji font. It chooses and shapes emoji as that font would, and
// LibreOffice embeds it in PDFs, unlike colour fonts. Its outlines encode the glyph that they replace, and are
// invisible.
type standIn struct {
	name   string // unguessable, so that no document asks for it
	source string // the emoji font
}

// make writes the font to a file.
func (s standIn) make(path string) error {
	source, err := os.Open(s.source)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // It was read only.
	loader, err := opentype.NewLoader(source)
	if err != nil {
		return fmt.Errorf("read %s: %w", emojiFamily, err)
	}
	face, err := font.NewFont(loader)
	if err != nil {
		return fmt.Errorf("read %s: %w", emojiFamily, err)
	}
	if !loader.HasTable(opentype.MustNewTag("CBDT")) {
		return fmt.Errorf("%s has no pictures", emojiFamily)
	}
	tables := map[string][]byte{}
	for _, tag := range []string{"GDEF", "GSUB", "GPOS", "OS/2", "head", "hhea", "hmtx", "maxp"} {
		if table, err := loader.RawTable(opentype.MustNewTag(tag)); err == nil {
			tables[tag] = table
		}
	}
	if len(tables["head"]) < 54 || len(tables["maxp"]) < 6 {
		return fmt.Errorf("%s lacks tables", emojiFamily)
	}
	glyphs := binary.BigEndian.Uint16(tables["maxp"][4:])
	if glyphs > maxGlyphs {
		return fmt.Errorf("%s has %d glyphs", emojiFamily, glyphs)
	}
	binary.BigEndian.PutUint16(tables["head"][50:], 1) // The offsets in loca have four bytes.
	// Version 1.0: the number of glyphs, two points in one contour, and one zone.
	tables["maxp"] = pack(uint32(0x10000), glyphs, uint16(2), uint16(1), uint16(0), uint16(0), uint16(1), make([]byte, 16))
	tables["post"] = pack(uint32(0x30000), make([]byte, 28))
	tables["name"] = s.names()
	tables["glyf"], tables["loca"] = outlines(glyphs)
	tables["cmap"] = characters(face.Cmap)
	var list []opentype.Table
	for _, tag := range slices.Sorted(maps.Keys(tables)) {
		padded := slices.Concat(tables[tag], make([]byte, -len(tables[tag])&3))
		list = append(list, opentype.Table{Content: padded, Tag: opentype.MustNewTag(tag)})
	}
	return os.WriteFile(path, opentype.WriteTTF(list), 0o600)
}

// characters returns the table of characters: all with selectEmoji, and by themselves only
// emoji and the parts of emoji sequences. Other fonts draw the remaining characters. In the
// table, characters have 24 bits and glyphs 16.
func characters(all font.Cmap) []byte {
	glyphs := map[rune]font.GID{}
	for it := all.Iter(); it.Next(); {
		c, glyph := it.Char()
		glyphs[c] = glyph
	}
	// LibreOffice searches further for characters that no font has, and caches the failure
	// for all characters missing in the same text.
	glyphs[selectEmoji] = glyphs[joiner]
	var groups, variants []byte
	for _, c := range slices.Sorted(maps.Keys(glyphs)) {
		variants = append(variants, pack(byte(c>>16), uint16(c), uint16(glyphs[c]))...)
		if standsAlone(c) {
			groups = append(groups, pack(c, c, uint32(glyphs[c]))...)
		}
	}
	const (
		head, groupsHead, variantsHead = 4 + 2*8, 16, 10 + 11 // sizes
		ofUnicode                      = uint16(0)            // the platform, whose encodings are
		withVariants, full             = uint16(5), uint16(4)
	)
	count := func(b []byte, size int) uint32 { return uint32(len(b) / size) }
	groups = pack(uint16(12), uint16(0), groupsHead+count(groups, 1), uint32(0), count(groups, 12), groups)
	variants = pack(uint16(14), variantsHead+4+count(variants, 1), uint32(1), byte(0), uint16(selectEmoji), uint32(0), uint32(variantsHead), count(variants, 5), variants)
	return pack(uint16(0), uint16(2), ofUnicode, full, uint32(head), ofUnicode, withVariants, head+count(groups, 1), groups, variants)
}

// names returns the table of names.
func (s standIn) names() []byte {
	const family, style, unique, full, version, postScript = 1, 2, 3, 4, 5, 6
	var records, texts []byte
	for id, name := range []string{family: s.name, style: "Regular", unique: s.name, full: s.name, version: "Version 1.0", postScript: s.name} {
		if name == "" {
			continue
		}
		text := pack(utf16.Encode([]rune(name)))
		// Platform Windows, encoding Unicode, language American English.
		records = append(records, pack(uint16(3), uint16(1), uint16(0x409), uint16(id), uint16(len(text)), uint16(len(texts)))...)
		texts = append(texts, text...)
	}
	return slices.Concat(pack(uint16(0), uint16(len(records)/12), uint16(6+len(records))), records, texts)
}

// The upper corner of a glyph's outline, a line of no width, encodes its number: the upper seven bits are in y, and
// the lower ones in x, above a thousand.
const (
	cornerBase = 1000
	cornerBits = 7
	maxGlyphs  = 1 << (2 * cornerBits)
)

// outlines returns the tables of a number of glyphs and of their offsets.
func outlines(glyphs uint16) (glyf, loca []byte) {
	for n := range int16(glyphs) {
		loca = append(loca, pack(uint32(len(glyf)))...)
		x, y := cornerBase+n&(1<<cornerBits-1), cornerBase+n>>cornerBits
		// One contour, its box, its last point, no instructions, two points on the curve,
		// each relative to the one before, and padding to four bytes.
		glyf = append(glyf, pack(int16(1), int16(0), int16(0), x, y, uint16(1), uint16(0), []byte{1, 1}, int16(0), x, int16(0), y, uint16(0))...)
	}
	return glyf, append(loca, pack(uint32(len(glyf)))...)
}

// cornerOf returns the glyph that an outline encodes.
func cornerOf(outline []byte) (glyph int, ok bool) {
	if len(outline) < 10 {
		return 0, false
	}
	x, y := int(binary.BigEndian.Uint16(outline[6:]))-cornerBase, int(binary.BigEndian.Uint16(outline[8:]))-cornerBase
	if x < 0 || y < 0 || x >= 1<<cornerBits || y >= 1<<cornerBits {
		return 0, false
	}
	return y<<cornerBits | x, true
}

// pack returns values as fonts store them, the highest byte first.
func pack(values ...any) (out []byte) {
	for _, v := range values {
		out, _ = binary.Append(out, binary.BigEndian, v) // All are of fixed sizes.
	}
	return out
}
