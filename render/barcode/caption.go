package barcode

import (
	"math"
	"strings"
	"unicode"
)

// Captions of the matrix types, which have no layout of their own for
// human-readable text: lines below the symbol, centred.

const (
	// maxCaption fits a few lines. Longer texts are for scanners.
	maxCaption = 300
	// captionPixels is the size of the font at scale 1.
	captionPixels = 9
	// The space of lines, in sizes: above the first baseline, from line to
	// line, and below the last one.
	captionRise = 0.8
	captionLine = 1.25
	captionTail = 0.5
	// minCaption is the shortest line that is broken, in sizes: short symbols
	// get a wider image rather than a column of letters.
	minCaption = 9.6
	// captionLength is longer than any line that can be.
	captionLength = maxCaption
	// captionShare is the maximum height of the text next to the symbol, as a share. Longer texts get longer lines
	// instead, because scanners search for the symbol in the middle.
	captionShare = 0.75
)

// addCaption prints the text below a symbol that has no labels.
func (s *symbol) addCaption(req Request, modulePixels int) error {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(req.Text)
	if req.GS1 {
		text = strings.TrimSpace(strings.ReplaceAll(text, "(", " (")) // elements stay on a line
	}

	runes := []rune(text)
	if len(runes) > maxCaption {
		return contentErrorf(req.Type, "must be at most %d characters with includetext; got %d",
			maxCaption, len(runes))
	}
	if r, ok := unprintable(runes); ok {
		return contentErrorf(req.Type, "must be %s with includetext; got %q", printableScripts(), r)
	}

	size := float64(captionPixels) / float64(modulePixels)
	advance := textFaces().advance
	lineWidth := max(minCaption, float64(s.width())/size)
	lines := wrap(text, lineWidth, advance)
	for lineWidth < captionLength && size*captionHeight(lines) > captionShare*float64(s.height()) {
		lineWidth *= 1.25
		lines = wrap(text, lineWidth, advance)
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
	faces := textFaces()
	for _, r := range runes {
		if !unicode.IsControl(r) && !faces.has(r) {
			return r, true
		}
	}
	return 0, false
}

// printableScripts names the scripts of the fonts.
func printableScripts() string {
	if textFaces().has('日') {
		return "Latin, Greek, Cyrillic, Chinese, Japanese or Korean"
	}
	return "Latin, Greek or Cyrillic"
}

// wrap breaks text into lines of at most the width room, at spaces if possible.
func wrap(text string, lineWidth float64, advance func(rune) float64) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		rest := []rune(strings.TrimSpace(oneLine(paragraph)))
		for {
			fits := fitting(rest, lineWidth, advance)
			if fits == len(rest) {
				break
			}

			end := fits
			for end > 0 && rest[end] != ' ' {
				end--
			}
			if end == 0 {
				end = fits
			}

			lines = append(lines, strings.TrimSpace(string(rest[:end])))
			rest = []rune(strings.TrimSpace(string(rest[end:])))
		}
		lines = append(lines, string(rest))
	}
	return lines
}

// fitting returns how many characters there is room for, at least one.
func fitting(runes []rune, lineWidth float64, advance func(rune) float64) int {
	for i, r := range runes {
		if lineWidth -= advance(r); lineWidth < 0 {
			return max(1, i)
		}
	}
	return len(runes)
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
