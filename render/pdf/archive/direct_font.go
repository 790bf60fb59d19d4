package archive

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// keptFont is a font that may stay as it is: one of TrueType with wide codes that are its glyphs, or one whose glyphs
// are content. The widths that it declares are those of its glyphs.
type keptFont struct {
	name      string       // its reference
	wide      int          // the number of glyphs; 0 for a font of content
	codes     map[int]bool // of a font of content
	widths    map[int]float64
	usual     float64
	advances  []float64
	glyphs    []any // of a font of content
	resources pdffile.Dict
}

// font returns a font that may stay; nil for all others, which must not be used.
func (c *keepCheck) font(v any) *keptFont {
	ref := pdffile.Reference(v)
	if known, ok := c.fonts[ref]; ok {
		return known
	}

	entries := c.Entry(v)
	var font *keptFont
	switch {
	case ref == "":
	case entries["/Subtype"] == "/Type0":
		font = c.wideFont(entries)
	case entries["/Subtype"] == "/Type3":
		font = c.drawnFont(entries)
	}

	if font != nil {
		font.name = ref
	}
	c.must(font != nil)
	c.fonts[ref] = font
	return font
}

// wideFont reads a font of TrueType, whose codes are its glyphs.
func (c *keepCheck) wideFont(entries pdffile.Dict) *keptFont {
	list, _ := c.Target(entries["/DescendantFonts"]).([]any)
	if len(list) != 1 || entries["/Encoding"] != "/Identity-H" {
		return nil
	}

	below := c.Entry(list[0])
	name, _ := entries["/BaseFont"].(string)
	system := c.Entry(below["/CIDSystemInfo"])
	if below["/Type"] != "/Font" || below["/Subtype"] != "/CIDFontType2" || below["/CIDToGIDMap"] != "/Identity" || below["/BaseFont"] != name ||
		pdffile.Text(system["/Ordering"]) != "Identity" || below["/W2"] != nil {
		return nil
	}

	descriptor := c.Entry(below["/FontDescriptor"])
	program := c.plain(descriptor["/FontFile2"])
	font := &keptFont{widths: map[int]float64{}, usual: 1000}
	if usual, ok := c.Target(below["/DW"]).(float64); ok {
		font.usual = usual
	}
	font.advances = advances(program)
	font.wide = len(font.advances)

	widths, _ := c.Target(below["/W"]).([]any)
	if c.bad || font.wide == 0 || !font.readWidths(c, widths) {
		return nil
	}
	return font
}

// readWidths reads the widths of glyphs: lists of them, or ranges of the same.
func (f *keptFont) readWidths(c *keepCheck, list []any) bool {
	const maximum, maxListed = 1 << 16, 1 << 20
	listed := 0 // widths, as ranges can overlap

	for len(list) > 1 && listed < maxListed {
		first, ok := list[0].(float64)
		if !ok || first < 0 || first > maximum {
			return false
		}

		switch second := c.Target(list[1]).(type) {
		case []any:
			for i, v := range second {
				width, ok := v.(float64)
				if !ok {
					return false
				}
				f.widths[int(first)+i] = width
			}
			list = list[2:]
		case float64:
			if len(list) < 3 || second > maximum {
				return false
			}
			width, ok := list[2].(float64)
			listed += max(0, int(second)-int(first))
			for code := int(first); ok && code <= int(second); code++ {
				f.widths[code] = width
			}
			list = list[3:]
		default:
			return false
		}
	}

	return len(list) == 0
}

// advances returns the widths of the glyphs of a TrueType font, in thousandths of its size; nil if it is none.
func advances(program []byte) []float64 {
	const head, row, tag = 12, 16, 4
	tables := map[string][]byte{}

	for at := head; at+row <= len(program) && len(tables) < int(binary.BigEndian.Uint16(program[4:])); at += row {
		start := int(binary.BigEndian.Uint32(program[at+8:]))
		length := int(binary.BigEndian.Uint32(program[at+12:]))
		if start > len(program) || length > len(program)-start {
			return nil
		}
		tables[string(program[at:at+tag])] = program[start : start+length]
	}

	about := tables["head"]
	lines := tables["hhea"]
	profile := tables["maxp"]
	metrics := tables["hmtx"]
	if len(about) < 20 || len(lines) < 36 || len(profile) < 6 || tables["glyf"] == nil || tables["loca"] == nil {
		return nil
	}

	unit := float64(binary.BigEndian.Uint16(about[18:]))
	listed := int(binary.BigEndian.Uint16(lines[34:]))
	glyphs := int(binary.BigEndian.Uint16(profile[4:]))
	if unit == 0 || listed == 0 || len(metrics) < 4*listed {
		return nil
	}

	widths := make([]float64, glyphs)
	for i := range widths {
		widths[i] = 1000 * float64(binary.BigEndian.Uint16(metrics[4*min(i, listed-1):])) / unit
	}
	return widths
}

// drawnFont reads a font whose glyphs are content.
func (c *keepCheck) drawnFont(entries pdffile.Dict) *keptFont {
	procedures := c.Entry(entries["/CharProcs"])
	encoding := c.Entry(entries["/Encoding"])
	widths, _ := c.Target(entries["/Widths"]).([]any)
	first, _ := c.Target(entries["/FirstChar"]).(float64)
	differences, _ := c.Target(encoding["/Differences"]).([]any)

	font := &keptFont{codes: map[int]bool{}, resources: c.Entry(entries["/Resources"])}
	if font.resources == nil {
		font.resources = pdffile.Dict{}
	}

	declared := map[string]float64{} // by the glyphs
	for name, glyph := range procedures {
		words := strings.Fields(string(c.plain(glyph)))
		if len(words) == 0 {
			return nil
		}
		width, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			return nil
		}
		declared[name] = width
		font.glyphs = append(font.glyphs, glyph)
	}

	code := -1
	for _, v := range differences {
		if start, ok := v.(float64); ok {
			code = int(start)
			continue
		}

		name, _ := v.(string)
		width, known := declared[name]
		if i := code - int(first); known && i >= 0 && i < len(widths) {
			listed, _ := c.Target(widths[i]).(float64)
			font.codes[code] = math.Abs(width-listed) <= 1
		}
		code++
	}

	if len(font.glyphs) == 0 {
		return nil
	}
	return font
}

// shows reports whether a font has the glyphs of a string, with the widths that it declares.
func (f *keptFont) shows(digits string) bool {
	size := 2
	if f.wide > 0 {
		size = 4
	}
	if len(digits)%size != 0 {
		return false
	}

	for part := range slices.Chunk([]byte(digits), size) {
		n, err := strconv.ParseUint(string(part), 16, 16)
		code := int(n)
		if err != nil || f.wide == 0 && !f.codes[code] {
			return false
		}

		if f.wide == 0 {
			continue
		}
		if code == 0 || code >= f.wide {
			return false
		}

		width, ok := f.widths[code]
		if !ok {
			width = f.usual
		}
		if math.Abs(width-f.advances[code]) > 1 {
			return false
		}
	}

	return true
}
