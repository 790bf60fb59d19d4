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

	"github.com/relaypdf/relaypdf/render/engine"
)

// emojiFamily is the font for emoji, which is the browser's too.
const emojiFamily = "Noto Color Emoji"

// findEmoji returns the file of the emoji font, or "" if it is not installed.
func findEmoji(ctx context.Context, w *engine.Work) string {
	out, err := w.Exec(ctx, engine.Program{
		Name: "fc-match",
		Args: []string{"--format=%{family}\n%{file}", emojiFamily + ":color=true"},
		Env:  []string{"FONTCONFIG_FILE=" + w.Fonts()},
	})
	family, file, _ := strings.Cut(string(out), "\n")
	if err != nil || family != emojiFamily {
		return ""
	}
	return file
}

// emojiFont is the emoji font as LibreOffice uses it: without the characters that are emoji only if selectEmoji
// follows, which LibreOffice would take from it without that too.
type emojiFont struct {
	name   string // unguessable, so that no document asks for it
	source string // the file of the font
}

// make writes the font to a file.
func (s emojiFont) make(path string) error {
	source, err := os.Open(s.source)
	if err != nil {
		return err
	}
	defer source.Close()

	loader, err := opentype.NewLoader(source)
	if err != nil {
		return fmt.Errorf("read %s: %w", emojiFamily, err)
	}
	face, err := font.NewFont(loader)
	if err != nil {
		return fmt.Errorf("read %s: %w", emojiFamily, err)
	}

	var tables []opentype.Table
	for _, tag := range loader.Tables() {
		content, err := loader.RawTable(tag)
		if err != nil {
			return fmt.Errorf("read %s: %w", emojiFamily, err)
		}

		switch tag.String() {
		case "cmap":
			content = characters(face.Cmap)
		case "name":
			content = s.names()
		}
		padded := slices.Concat(content, make([]byte, -len(content)&3))
		tables = append(tables, opentype.Table{Content: padded, Tag: tag})
	}

	return os.WriteFile(path, opentype.WriteTTF(tables), 0o600)
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
	variants = pack(uint16(14), variantsHead+4+count(variants, 1), uint32(1),
		byte(0), uint16(selectEmoji), uint32(0), uint32(variantsHead), count(variants, 5), variants)
	return pack(uint16(0), uint16(2), ofUnicode, full, uint32(head),
		ofUnicode, withVariants, head+count(groups, 1), groups, variants)
}

// names returns the table of names.
func (s emojiFont) names() []byte {
	const family, style, unique, full, version, postScript = 1, 2, 3, 4, 5, 6
	var records, texts []byte

	names := []string{
		family: s.name, style: "Regular", unique: s.name, full: s.name, version: "Version 1.0", postScript: s.name,
	}
	for id, name := range names {
		if name == "" {
			continue
		}
		text := pack(utf16.Encode([]rune(name)))
		// Platform Windows, encoding Unicode, language American English.
		record := pack(uint16(3), uint16(1), uint16(0x409), uint16(id), uint16(len(text)), uint16(len(texts)))
		records = append(records, record...)
		texts = append(texts, text...)
	}

	return slices.Concat(pack(uint16(0), uint16(len(records)/12), uint16(6+len(records))), records, texts)
}

// pack returns values as fonts store them, the highest byte first.
func pack(values ...any) (out []byte) {
	for _, v := range values {
		out, _ = binary.Append(out, binary.BigEndian, v) // All are of fixed sizes.
	}
	return out
}
