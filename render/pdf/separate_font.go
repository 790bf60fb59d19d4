package pdf

import (
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"relaypdf/render/pdffile"
)

// narrowFont is an embedded TrueType font whose codes are its glyphs, as Chromium writes them.
type narrowFont struct {
	descendant, program, unicode string // references
	entries                      pdffile.Dict
	widths                       map[int]any
	texts                        map[int]string // of codes, in hexadecimal digits
	cmap                         []byte         // up to the first text
	tables                       map[string][]byte
	long                         bool                  // offsets of glyphs have four bytes
	advances                     int                   // glyphs with a width of their own
	parts                        map[string]narrowPart // by their codes: many pages use the same
}

// narrowPart is a part of a font: its widths, texts and program.
type narrowPart struct {
	widths           []any
	unicode, program pdffile.Stream
}

// readNarrowFont reads a font; nil if it is of another kind.
func readNarrowFont(f *pdffile.File, ref string) *narrowFont {
	entries := f.Dict(ref)
	if entries["/Subtype"] != "/Type0" || entries["/Encoding"] != "/Identity-H" {
		return nil
	}
	list, _ := f.Target(entries["/DescendantFonts"]).([]any)
	if len(list) != 1 {
		return nil
	}
	n := &narrowFont{descendant: pdffile.Reference(list[0]), unicode: pdffile.Reference(entries["/ToUnicode"]), parts: map[string]narrowPart{}}
	n.entries = f.Dict(n.descendant)
	mapping := n.entries["/CIDToGIDMap"]
	if n.entries["/Subtype"] != "/CIDFontType2" || mapping != "/Identity" {
		return nil
	}
	n.program = pdffile.Reference(f.Entry(n.entries["/FontDescriptor"])["/FontFile2"])
	if !n.readWidths(f) || !n.readTexts(f) || !n.readProgram(f) {
		return nil
	}
	return n
}

// readWidths reads the widths of glyphs.
func (n *narrowFont) readWidths(f *pdffile.File) bool {
	n.widths = map[int]any{}
	list, _ := f.Target(n.entries["/W"]).([]any)
	for len(list) >= 2 {
		first, ok := list[0].(float64)
		if !ok {
			return false
		}
		if several, isList := f.Target(list[1]).([]any); isList {
			for i, width := range several {
				n.widths[int(first)+i] = width
			}
			list = list[2:]
			continue
		}
		last, ok := list[1].(float64)
		if !ok || len(list) < 3 || last > 0xFFFF {
			return false
		}
		for code := int(first); code <= int(last); code++ {
			n.widths[code] = list[2]
		}
		list = list[3:]
	}
	return len(list) == 0
}

var (
	textsPattern = regexp.MustCompile(`(?s)\d+ beginbf(char|range)\n(.*?)endbf(?:char|range)\n`)
	charPattern  = regexp.MustCompile(`<([0-9A-Fa-f]{4})>\s*<([0-9A-Fa-f]+)>\s*\n`)
	rangePattern = regexp.MustCompile(`<([0-9A-Fa-f]{4})>\s*<([0-9A-Fa-f]{4})>\s*<([0-9A-Fa-f]{4})>\s*\n`)
)

// readTexts reads the texts of codes. All of its tables must be read.
func (n *narrowFont) readTexts(f *pdffile.File) bool {
	n.texts = map[int]string{}
	if n.unicode == "" {
		return true
	}
	stream, ok := f.Stream(n.unicode)
	if !ok {
		return false
	}
	plain, err := f.Plain(stream)
	if err != nil {
		return false
	}
	number := func(digits []byte) int {
		v, _ := strconv.ParseUint(string(digits), 16, 32)
		return int(v)
	}
	end := len(plain)
	for _, at := range textsPattern.FindAllSubmatchIndex(plain, -1) {
		end = min(end, at[0])
		body := plain[at[4]:at[5]]
		if string(plain[at[2]:at[3]]) == "char" {
			for _, m := range charPattern.FindAllSubmatch(body, -1) {
				n.texts[number(m[1])] = string(m[2])
			}
			continue
		}
		for _, m := range rangePattern.FindAllSubmatch(body, -1) {
			for code, i := number(m[1]), 0; code <= number(m[2]); code, i = code+1, i+1 {
				n.texts[code] = fmt.Sprintf("%04X", number(m[3])+i)
			}
		}
	}
	n.cmap = plain[:end]
	return true
}

// readProgram reads the tables of the font.
func (n *narrowFont) readProgram(f *pdffile.File) bool {
	stream, ok := f.Stream(n.program)
	if !ok {
		return false
	}
	plain, err := f.Plain(stream)
	const header, row = 12, 16
	if err != nil || len(plain) < header {
		return false
	}
	n.tables = map[string][]byte{}
	count := int(binary.BigEndian.Uint16(plain[4:]))
	if len(plain) < header+count*row {
		return false
	}
	for i := range count {
		entry := plain[header+i*row:]
		start, size := uint64(binary.BigEndian.Uint32(entry[8:])), uint64(binary.BigEndian.Uint32(entry[12:]))
		if start+size > uint64(len(plain)) {
			return false
		}
		// Others list the characters of the font, and readers of PDF do not need them.
		if name := string(entry[:4]); slices.Contains([]string{"glyf", "loca", "head", "hhea", "hmtx", "maxp", "cvt ", "fpgm", "prep"}, name) {
			n.tables[name] = plain[start : start+size]
		}
	}
	head, hhea := n.tables["head"], n.tables["hhea"]
	if len(head) < 54 || len(hhea) < 36 || n.tables["loca"] == nil || n.tables["glyf"] == nil {
		return false
	}
	n.long = head[51] == 1
	n.advances = int(binary.BigEndian.Uint16(hhea[34:]))
	return len(n.tables["hmtx"]) >= n.advances*4
}

// glyphs returns the number of glyphs.
func (n *narrowFont) glyphs() int {
	if n.long {
		return len(n.tables["loca"])/4 - 1
	}
	return len(n.tables["loca"])/2 - 1
}

// offset returns the start of a glyph.
func (n *narrowFont) offset(glyph int) int {
	loca := n.tables["loca"]
	if n.long {
		return int(binary.BigEndian.Uint32(loca[glyph*4:]))
	}
	return int(binary.BigEndian.Uint16(loca[glyph*2:])) * 2
}

// outline returns the description of a glyph, which may be empty.
func (n *narrowFont) outline(glyph int) []byte {
	if glyph < 0 || glyph >= n.glyphs() {
		return nil
	}
	start, end := n.offset(glyph), n.offset(glyph+1)
	if start >= end || end > len(n.tables["glyf"]) {
		return nil
	}
	return n.tables["glyf"][start:end]
}

// withParts adds the glyphs that a glyph is made of.
func (n *narrowFont) withParts(glyph int, all map[int]bool) {
	if all[glyph] {
		return
	}
	all[glyph] = true
	data := n.outline(glyph)
	const header = 10
	if len(data) < header || int16(binary.BigEndian.Uint16(data)) >= 0 {
		return
	}
	const words, scale, more, twoScales, matrix = 1 << 0, 1 << 3, 1 << 5, 1 << 6, 1 << 7
	for at := header; at+4 <= len(data); {
		flags := binary.BigEndian.Uint16(data[at:])
		n.withParts(int(binary.BigEndian.Uint16(data[at+2:])), all)
		at += 6
		if flags&words != 0 {
			at += 2
		}
		switch {
		case flags&scale != 0:
			at += 2
		case flags&twoScales != 0:
			at += 4
		case flags&matrix != 0:
			at += 8
		}
		if flags&more == 0 {
			return
		}
	}
}

// narrow leaves in the font only the glyphs of some codes.
func (n *narrowFont) narrow(changes *pdffile.Update, used map[int]bool) {
	codes := slices.Sorted(maps.Keys(used))
	var name []byte
	for _, code := range codes {
		name = binary.BigEndian.AppendUint16(name, uint16(code))
	}
	part, known := n.parts[string(name)]
	if !known {
		part = n.part(codes)
		n.parts[string(name)] = part
	}
	entries := maps.Clone(n.entries)
	entries["/W"] = part.widths
	changes.Set(n.descendant, entries)
	if n.unicode != "" {
		changes.Set(n.unicode, part.unicode)
	}
	changes.Set(n.program, part.program)
}

// part makes the part of some codes.
func (n *narrowFont) part(codes []int) narrowPart {
	var widths []any
	var run []any
	end := -1 // the code after the run
	for _, code := range codes {
		width, known := n.widths[code]
		switch {
		case !known:
			continue
		case code == end:
			run = append(run, width)
			widths[len(widths)-1] = run
		default:
			run = []any{width}
			widths = append(widths, code, run)
		}
		end = code + 1
	}
	all := map[int]bool{}
	n.withParts(0, all)
	for _, code := range codes {
		n.withParts(code, all)
	}
	program := n.write(all)
	return narrowPart{widths, pdffile.QuickDeflated(pdffile.Dict{}, n.characterMap(codes)), pdffile.QuickDeflated(pdffile.Dict{"/Length1": len(program)}, program)}
}

// characterMap returns the texts of codes as a character map.
func (n *narrowFont) characterMap(codes []int) []byte {
	codes = slices.DeleteFunc(slices.Clone(codes), func(code int) bool { return n.texts[code] == "" })
	out := slices.Clone(n.cmap)
	for part := range slices.Chunk(codes, 100) {
		out = fmt.Appendf(out, "%d beginbfchar\n", len(part))
		for _, code := range part {
			out = fmt.Appendf(out, "<%04X> <%s>\n", code, n.texts[code])
		}
		out = append(out, "endbfchar\n"...)
	}
	return append(out, "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend"...)
}

// write returns the font with some glyphs. The numbers of the others are those of empty glyphs.
func (n *narrowFont) write(all map[int]bool) []byte {
	var outlines []byte
	places := make([]byte, 0, len(n.tables["loca"]))
	place := func() {
		if n.long {
			places = binary.BigEndian.AppendUint32(places, uint32(len(outlines)))
		} else {
			places = binary.BigEndian.AppendUint16(places, uint16(len(outlines)/2))
		}
	}
	metrics := make([]byte, len(n.tables["hmtx"]))
	for glyph := range n.glyphs() {
		place()
		if !all[glyph] {
			continue
		}
		outlines = append(outlines, n.outline(glyph)...)
		if len(outlines)%2 == 1 {
			outlines = append(outlines, 0)
		}
		start, size := glyph*4, 4
		if glyph >= n.advances {
			start, size = n.advances*4+(glyph-n.advances)*2, 2
		}
		if start+size <= len(metrics) {
			copy(metrics[start:start+size], n.tables["hmtx"][start:])
		}
	}
	if n.advances > 0 {
		copy(metrics[(n.advances-1)*4:n.advances*4], n.tables["hmtx"][(n.advances-1)*4:])
	}
	place()
	tables := maps.Clone(n.tables)
	tables["glyf"], tables["loca"], tables["hmtx"] = outlines, places, metrics
	return fontTables(tables)
}
