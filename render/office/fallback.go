package office

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/relaypdf/relaypdf/render/engine"
)

// fallback is a font for characters that the fonts of a document may lack. LibreOffice finds such fonts by itself, but
// loses characters, or draws them over each other, where a line needs two or more. So the document gets the fonts
// before its pages are made (fallback.py).
type fallback struct {
	// Family is the name of the font. It is empty for characters that stay as they are: no font has them, or the
	// language of the text decides.
	Family string `json:"family"`
	// Class has the characters in the form of a class of a regular expression, of ICU and of Python.
	Class string `json:"class"`
	// Complex characters have the font for complex scripts.
	Complex bool `json:"complex"`
	// Emoji are single characters, or sequences with selectEmoji and others.
	Emoji bool `json:"emoji"`
	// Symbols may need a font each, letters of one script have one.
	Symbols bool `json:"symbols"`
}

// rare are the characters that common fonts of text may lack.
var rare = []span{
	{0x250, 0x2ff}, {0x370, 0x1fff}, {0x2070, 0x209f}, {0x2100, 0xd7ff}, {0xf900, 0xfdff},
	{0xfe30, 0xfefe}, {0xff00, 0xffef}, {0x10000, 0x1ffff}, {0x20000, 0x3ffff},
}

// asian are the characters whose font depends on the language.
var asian = []span{
	{0x1100, 0x11ff}, {0x2e80, 0x9fff}, {0xa960, 0xa97f}, {0xac00, 0xd7ff}, {0xf900, 0xfaff},
	{0xfe30, 0xfe4f}, {0xff00, 0xffef}, {0x1b000, 0x1b16f}, {0x20000, 0x3ffff},
}

// complexScripts are the characters of scripts for which documents have a font of their own.
var complexScripts = []span{
	{0x590, 0x109f}, {0x1780, 0x18af}, {0x1900, 0x1cff}, {0xa840, 0xa95f}, {0xa980, 0xa9ff},
	{0xaa00, 0xaadf}, {0xabc0, 0xabff}, {0xfb1d, 0xfdff}, {0xfe70, 0xfefe},
}

// within reports whether a character is in one of the spans, which are in order.
func within(spans []span, c rune) bool {
	_, found := slices.BinarySearchFunc(spans, c, func(s span, c rune) int {
		switch {
		case s.last < c:
			return -1
		case s.first > c:
			return 1
		}
		return 0
	})
	return found
}

// fallbackFonts are the fonts for rare characters.
type fallbackFonts map[rune]string

// fallbacksFor returns the fonts for characters of a document, or none if LibreOffice needs no help with them.
func (r *instance) fallbacksFor(
	ctx context.Context, w *engine.Work, input string, format Format,
) (list []fallback, err error) {
	letters, known := lettersOf(input, format)
	if known && len(letters) == 0 {
		return nil, nil
	}

	if r.fallbacks == nil {
		if r.fallbacks, err = fontsFor(ctx, w, r.fontConfig); err != nil {
			return nil, err
		}
	}

	if !known {
		letters = map[rune]bool{asian[1].first: true, selectEmoji: true}
		for c := range r.fallbacks {
			letters[c] = true
		}
	}
	return r.fallbacks.choose(letters, r.emojiName), nil
}

// fontsFor returns the fonts for rare characters, of a configuration of fontconfig.
func fontsFor(ctx context.Context, w *engine.Work, config string) (fallbackFonts, error) {
	out, err := w.Exec(ctx, engine.Program{
		Name: "fc-match",
		Args: []string{"--sort", "--format=%{family[0]}\t%{charset}\n", "sans-serif"},
		Env:  []string{"FONTCONFIG_FILE=" + config},
	})
	if err != nil {
		return nil, err
	}

	// The lines of this font are as high as its integrals.
	const tall = "DejaVu Math"
	lines := slices.Collect(strings.Lines(string(out)))
	slices.SortStableFunc(lines, func(a, b string) int {
		return cmp.Compare(strings.Count(a, tall), strings.Count(b, tall))
	})

	fonts := fallbackFonts{}
	for _, line := range lines {
		family, charset, _ := strings.Cut(strings.TrimSpace(line), "\t")
		for _, s := range spansOf(charset) {
			for c := s.first; c <= s.last; c++ {
				if fonts[c] == "" && within(rare, c) && !within(asian, c) {
					fonts[c] = family
				}
			}
		}
	}
	return fonts, nil
}

// spansOf reads a set of characters as fontconfig writes it: 20-7e a0.
func spansOf(charset string) (spans []span) {
	for field := range strings.FieldsSeq(charset) {
		first, last, isSpan := strings.Cut(field, "-")
		if !isSpan {
			last = first
		}
		from, err := strconv.ParseUint(first, 16, 21)
		to, err2 := strconv.ParseUint(last, 16, 21)
		if err == nil && err2 == nil {
			spans = append(spans, span{rune(from), rune(to)})
		}
	}
	return spans
}

// choose returns the fonts for letters, or none if LibreOffice needs no help with these. It needs help where it has to
// find two fonts, and where selectEmoji makes an emoji of a letter that other fonts have too.
func (f fallbackFonts) choose(letters map[rune]bool, emojiName string) []fallback {
	type key struct{ family, script string }
	emoji := key{emojiName, "emoji"}
	groups := map[key][]rune{}
	var script scripts
	for _, c := range slices.Sorted(maps.Keys(letters)) {
		group := key{f[c], script.of(c)}
		switch {
		case emojiName != "" && (c == selectEmoji || isPresented(c)):
			group = emoji
		case c == selectEmoji:
			continue
		case within(asian, c):
			group = key{"", "asian"} // The language decides, which LibreOffice knows.
		}
		groups[group] = append(groups[group], c)
	}

	fonts := len(groups)
	var list []fallback
	for group, letters := range groups {
		font := fallback{
			Family:  group.family,
			Class:   classOf(letters),
			Emoji:   group == emoji,
			Symbols: group.script == symbols,
		}
		font.Complex = !slices.ContainsFunc(letters, func(c rune) bool { return !within(complexScripts, c) })
		if font.Symbols {
			fonts += len(letters) - 1
		}
		list = append(list, font)
	}
	if fonts < 2 && (emojiName == "" || !letters[selectEmoji]) {
		return nil
	}

	// The emoji are last, because selectEmoji turns symbols into these.
	slices.SortFunc(list, func(a, b fallback) int {
		if a.Emoji != b.Emoji {
			return map[bool]int{false: -1, true: 1}[a.Emoji]
		}
		return cmp.Compare(a.Class, b.Class)
	})
	return list
}

// symbols is the script of letters that every script has.
const symbols = "Common"

// scripts finds the scripts of letters in order.
type scripts struct {
	name  string
	table *unicode.RangeTable
}

// of returns the name of a letter's script, or "" if it has none.
func (s *scripts) of(c rune) string {
	if s.table != nil && unicode.Is(s.table, c) {
		return s.name
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, c) {
			s.name = name
			s.table = table
			return name
		}
	}
	return ""
}

// classOf returns sorted characters in the form of a part of a class of a regular expression.
func classOf(letters []rune) string {
	var class strings.Builder
	for i := 0; i < len(letters); {
		last := i
		for last+1 < len(letters) && letters[last+1] == letters[last]+1 {
			last++
		}
		fmt.Fprintf(&class, `\U%08x-\U%08x`, letters[i], letters[last])
		i = last + 1
	}
	return class.String()
}

// lettersOf returns the characters of a document that may need another font, of the Asian ones only some. It knows
// the formats that are text, or text in ZIP archives; known reports whether the document is one.
func lettersOf(input string, format Format) (letters map[rune]bool, known bool) {
	letters = map[rune]bool{}
	switch format {
	case FormatText, FormatHTML, FormatCSV, FormatMarkdown:
		file, err := os.Open(input)
		if err != nil {
			return nil, false
		}
		defer file.Close()
		return letters, addLetters(letters, file) == nil
	case FormatOOXML, FormatODF:
	default:
		return nil, false
	}

	archive, err := zip.OpenReader(input)
	if err != nil {
		return nil, false
	}
	defer archive.Close()

	for _, f := range archive.File {
		if path.Ext(f.Name) != ".xml" {
			continue
		}
		part, err := f.Open()
		if err != nil {
			return nil, false // encrypted, for example
		}
		err = addLetters(letters, part)
		if err = errors.Join(err, part.Close()); err != nil {
			return nil, false
		}
	}
	return letters, true
}

// addLetters adds the characters of a text in UTF-8 or with numeric references.
func addLetters(letters map[rune]bool, text io.Reader) error {
	in := bufio.NewReaderSize(text, 64<<10)
	for {
		c, _, err := in.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case c == '&':
			c = reference(in)
		}

		if c < rare[0].first || letters[c] || c != selectEmoji && !within(rare, c) {
			continue
		}
		// Thousands of characters would be one group.
		if within(asian, c) {
			c = asian[1].first
		}
		letters[c] = true
	}
}

// reference reads the rest of a reference such as &#x1f389; and returns its character, or 0.
func reference(in *bufio.Reader) rune {
	const longest = len("#x10FFFF;")
	text, _ := in.Peek(longest)
	digits, _, found := strings.Cut(string(text), ";")
	digits, isNumber := strings.CutPrefix(digits, "#")
	if !found || !isNumber {
		return 0
	}

	base := 10
	if hex, isHex := strings.CutPrefix(strings.ToLower(digits), "x"); isHex {
		digits = hex
		base = 16
	}

	c, err := strconv.ParseUint(digits, base, 21)
	if err != nil {
		return 0
	}
	return rune(c)
}
