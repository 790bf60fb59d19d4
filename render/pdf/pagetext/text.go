package pagetext

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plain normalises a word: it replaces ligatures and positional forms of letters, and
// removes invisible characters.
func plain(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		switch {
		case r >= 0xfb00 && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc || r >= 0x2e80 && r <= 0x2fdf:
			b.WriteString(norm.NFKC.String(string(r)))
		case r == 0xf0b7 || r == 0xf0a7 || r == 0xf0fc: // bullets of symbol fonts
			b.WriteRune('•')
		case r == softHyphen || r != '\u200c' && r != '\u200d' && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
			b.WriteRune(r)
		}
	}
	return b.String()
}

const softHyphen = '\u00ad'

// rightToLeft reports whether a letter belongs to a script that is read from right to left.
func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// directions counts the letters of a text that are read from right to left, and from
// left to right.
func directions(text string) (right, left int) {
	for _, r := range text {
		switch {
		case rightToLeft(r) && unicode.IsLetter(r):
			right++
		case unicode.IsLetter(r):
			left++
		}
	}
	return right, left
}

// Logical returns the letters of a word in reading order. places are their positions from left to right.
func Logical(text string, places []float64) string {
	letters := []rune(text)
	if right, _ := directions(text); right == 0 || len(places) != len(letters) {
		return text
	}

	order := make([]int, len(letters))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case places[a] > places[b]:
			return -1
		case places[a] < places[b]:
			return 1
		}
		return 0
	})

	read := make([]rune, len(letters))
	for i, from := range order {
		read[i] = letters[from]
	}

	// Numbers and words of other scripts are read from left to right.
	for from := 0; from < len(read); {
		if !leftToRight(read[from]) {
			from++
			continue
		}

		to := from
		for i := from; i < len(read) && (leftToRight(read[i]) || strings.ContainsRune(".,:/-", read[i])); i++ {
			if leftToRight(read[i]) {
				to = i + 1
			}
		}
		slices.Reverse(read[from:to])
		from = to
	}

	return string(read)
}

func leftToRight(r rune) bool {
	return unicode.IsDigit(r) || unicode.IsLetter(r) && !rightToLeft(r)
}

// rightward returns the words of a row in reading order, if that is from right to left.
func rightward(words []Word) []Word {
	ordered := slices.Clone(words)
	slices.Reverse(ordered)

	left := func(w Word) bool {
		right, left := directions(w.Text)
		return right == 0 && (left > 0 || strings.ContainsFunc(w.Text, unicode.IsDigit))
	}

	for from := 0; from < len(ordered); from++ {
		to := from
		for to < len(ordered) && left(ordered[to]) {
			to++
		}
		slices.Reverse(ordered[from:to])
		from = max(from, to-1)
	}

	// A word joined to its left neighbour is joined to the one that is read before it.
	for i := range ordered {
		ordered[i].Joined = i > 0 && (ordered[i-1].Joined && ordered[i-1].Left > ordered[i].Left && ordered[i-1].Left-ordered[i].Right < 0.1*ordered[i].Size)
	}
	return ordered
}

// unspaced reports whether a letter belongs to a script without spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// bullets are the signs that begin items of lists.
const bullets = "•‣◦▪▫●○■□–—-*·➢✓✔➤►▶∙⁃"

// marker returns the beginning of a list item: "-" or a number with a full stop. It is empty for other text.
func marker(text string) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) == 1 && strings.ContainsAny(text, bullets) {
		return "-"
	}

	number := strings.TrimPrefix(text, "(")
	digits := strings.TrimRight(number, ".)")
	if digits == number || len(number)-len(digits) > 1 || len(digits) == 0 || len(digits) > 3 {
		return ""
	}

	for _, r := range digits {
		if r < '0' || r > '9' {
			return ""
		}
	}
	return digits + "."
}

// hyphens are the characters that end a word that is divided at the end of a line.
const hyphens = "-\u2010\u00ad"
