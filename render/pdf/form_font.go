package pdf

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"relaypdf/render/engine"
)

// fontGroup are the fields that one font can draw. The font is as pdftk takes
// it; empty where nothing is drawn.
type fontGroup struct {
	font    string
	entries []entry
}

// fontFamilies are the families that are taken first, in this order. DejaVu
// has the joined forms of Arabic letters.
var fontFamilies = []string{"Liberation Sans", "DejaVu Sans", "WenQuanYi Micro Hei", "Noto Sans"}

// groupByFont chooses a font for each field: a form's own fonts have, as a
// rule, only the letters of some Western languages. Characters that no font
// has are a fault.
func groupByFont(ctx context.Context, w *engine.Work, entries []entry) ([]fontGroup, FormFaults, error) {
	fonts := &fontFinder{work: w, known: make(map[string]string)}
	groups := make(map[string][]entry)
	var silent []entry
	faults := FormFaults{}
	for _, e := range entries {
		if strings.TrimSpace(e.drawn) == "" {
			silent = append(silent, e)
			continue
		}
		font, err := fonts.find(ctx, e.drawn)
		if err != nil {
			return nil, nil, err
		}
		if font == "" {
			faults[e.name] = "has characters that cannot be drawn together in a form field: no installed font has all of them"
			continue
		}
		groups[font] = append(groups[font], e)
	}
	var sorted []fontGroup
	for _, font := range slices.Sorted(maps.Keys(groups)) {
		sorted = append(sorted, fontGroup{font, groups[font]})
	}
	if len(sorted) == 0 {
		sorted = []fontGroup{{}}
	}
	sorted[0].entries = append(sorted[0].entries, silent...)
	return sorted, faults, nil
}

// fontFinder looks for fonts with fontconfig.
type fontFinder struct {
	work  *engine.Work
	known map[string]string // by the characters, as charset writes them
}

// find returns the font to draw a text with, or "".
func (f *fontFinder) find(ctx context.Context, text string) (string, error) {
	chars := charset(text)
	if font, known := f.known[chars]; known {
		return font, nil
	}
	// pdftk embeds outlines of the TrueType kind only.
	pattern := ":charset=" + chars + ":fontformat=TrueType:color=False:variable=False:slant=0"
	out, err := f.work.Exec(ctx, engine.Program{Name: "fc-list", Args: []string{
		"-f", `%{family[0]}|%{weight}|%{file}|%{index}\n`, pattern,
	}})
	if err != nil {
		return "", fmt.Errorf("find a font: %w", err)
	}
	f.known[chars] = bestFont(out)
	return f.known[chars], nil
}

// charset writes the characters of a text as fontconfig takes them: once each,
// in hexadecimal.
func charset(text string) string {
	seen := make(map[rune]bool)
	for _, r := range text {
		if r > ' ' && r != '\u00a0' {
			seen[r] = true
		}
	}
	var parts []string
	for _, r := range slices.Sorted(maps.Keys(seen)) {
		parts = append(parts, strconv.FormatInt(int64(r), 16))
	}
	return strings.Join(parts, " ")
}

// bestFont chooses among the fonts of a listing: by family, then by how far it
// is from regular weight, then by name.
func bestFont(listing []byte) string {
	type font struct {
		rank, weight int
		file         string
	}
	var fonts []font
	for line := range bytes.Lines(listing) {
		part := strings.Split(strings.TrimSpace(string(line)), "|")
		if len(part) != 4 {
			continue
		}
		const regular = 80
		weight, _ := strconv.Atoi(part[1])
		file := part[2]
		if strings.HasSuffix(file, ".ttc") {
			file += "," + part[3]
		}
		rank := slices.Index(fontFamilies, part[0])
		switch {
		case rank < 0 && strings.HasPrefix(part[0], "Noto Sans"):
			rank = len(fontFamilies)
		case rank < 0:
			rank = len(fontFamilies) + 1
		}
		fonts = append(fonts, font{rank, max(weight-regular, regular-weight), file})
	}
	if len(fonts) == 0 {
		return ""
	}
	best := slices.MinFunc(fonts, func(a, b font) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		if a.weight != b.weight {
			return a.weight - b.weight
		}
		return strings.Compare(a.file, b.file)
	})
	return best.file
}
