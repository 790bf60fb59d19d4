package barcode

import (
	"math"
	"strings"
	"unicode"
)

// Captions of the matrix types, which have no layout of their own for
// human-readable text: lines below the symbol, centred.

const (
	// maxCaption is what fits a few lines. Who reads more reads the code.
	maxCaption = 300
	// captionPixels is the size of the font at scale 1.
	captionPixels = 9
	// The space of lines, in sizes: above the first baseline, from line to
	// line, and below the last one.
	captionRise = 0.8
	captionLine = 1.25
	captionTail = 0.5
	// captionColumns is the shortest line that is broken: short symbols get
	// a wider image rather than a column of letters.
	captionColumns = 16
	// captionShare is how high the text may be beside the symbol before the
	// lines get longer instead: readers look for the symbol in the middle.
	captionShare = 0.75
)

// addCaption prints the text below a symbol without labels of its own.
func (s *symbol) addCaption(req Request, modulePixels int) error {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(req.Text)
	runes := []rune(text)
	if len(runes) > maxCaption {
		return contentErrorf(req.Type, "must be at most %d characters long where includetext prints it; got %d: leave includetext out",
			maxCaption, len(runes))
	}
	if r, ok := unprintable(runes); ok {
		return contentErrorf(req.Type, "must be Latin, Greek or Cyrillic where includetext prints it; got %q: leave includetext out", r)
	}
	size := float64(captionPixels) / float64(modulePixels)
	advance := size * glyphAdvance
	columns := max(captionColumns, int(float64(s.width())/advance))
	lines := wrap(text, columns)
	for columns < maxCaption && size*captionHeight(lines) > captionShare*float64(s.height()) {
		columns += columns / 4
		lines = wrap(text, columns)
	}

	longest := 0
	for _, line := range lines {
		longest = max(longest, len([]rune(line)))
	}
	if missing := float64(longest)*advance + 2 - float64(s.width()); missing > 0 {
		side := int(math.Ceil(missing / 2))
		s.quiet.left += side
		s.quiet.right += side
	}
	below := float64(s.height()) // leaves the quiet zone alone
	for i, line := range lines {
		s.labels = append(s.labels, label{
			text:     line,
			centre:   float64(s.width()) / 2,
			baseline: below + size*(captionRise+captionLine*float64(i)),
			size:     size,
		})
	}
	s.labelSpace = int(math.Ceil(size * captionHeight(lines)))
	return nil
}

// captionHeight returns the height of lines, in sizes.
func captionHeight(lines []string) float64 {
	return captionRise + captionLine*float64(len(lines)-1) + captionTail
}

// unprintable finds a character that the font does not have.
func unprintable(runes []rune) (rune, bool) {
	f := glyphs()
	for _, r := range runes {
		if !unicode.IsControl(r) && !f.has(r) {
			return r, true
		}
	}
	return 0, false
}

// wrap breaks text into lines of at most columns characters, at spaces where
// it can.
func wrap(text string, columns int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		rest := []rune(strings.TrimSpace(oneLine(paragraph)))
		for len(rest) > columns {
			end := columns
			for end > 0 && rest[end] != ' ' {
				end--
			}
			if end == 0 {
				end = columns
			}
			lines = append(lines, strings.TrimSpace(string(rest[:end])))
			rest = []rune(strings.TrimSpace(string(rest[end:])))
		}
		lines = append(lines, string(rest))
	}
	return lines
}

// oneLine replaces control characters, which cannot be printed, by spaces.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
