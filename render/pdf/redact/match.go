package redact

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// redactionTerms holds the terms and patterns to remove.
type redactionTerms struct {
	terms    []string // as fold writes them
	joined   []string // those of several words, with signs of addresses between the words
	patterns []*regexp.Regexp
}

// newRedactionTerms parses the terms and patterns to remove. Both have been checked.
func newRedactionTerms(terms, patterns []string) (s redactionTerms, err error) {
	for _, term := range terms {
		if folded := Fold([]string{term}, false); len(folded.Text) > 0 {
			s.terms = append(s.terms, folded.Text)
		}
		if words := strings.Fields(term); len(words) > 1 {
			for _, sign := range []string{"+", "-", "_", "."} {
				s.joined = append(s.joined, Fold(lettersOf(strings.Join(words, sign)), false).Text)
			}
		}
	}

	for _, pattern := range patterns {
		p, err := regexp.Compile(pattern)
		if err != nil {
			return s, err
		}
		s.patterns = append(s.patterns, p)
	}

	return s, nil
}

// Folded is a text without the differences that terms ignore: space, the case of letters, ligatures, and on request
// the hyphens at ends of lines. letters are the numbers of the letters that its bytes come from.
type Folded struct {
	Text    string
	letters []int
}

// Fold folds the letters of a text, in which a line ends with "\n".
func Fold(letters []string, joinLines bool) Folded {
	var text strings.Builder
	var from []int

	for i := 0; i < len(letters); i++ {
		letter := letters[i]
		first := i
		if joinLines && isHyphen(letter) && i+1 < len(letters) && letters[i+1] == "\n" {
			continue
		}

		for i+1 < len(letters) && isMark(letters[i+1]) && letters[first] != "\n" {
			i++
			letter += letters[i]
		}

		for _, r := range norm.NFKC.String(letter) {
			const softHyphen = '\u00ad'
			if unicode.IsSpace(r) || r == softHyphen || unicode.Is(unicode.Cf, r) {
				continue
			}
			// The simplest letter that means the same: K and the sign of Kelvin are k.
			minimum := r
			for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
				minimum = min(minimum, next)
			}

			before := text.Len()
			text.WriteRune(minimum)
			for range text.Len() - before {
				from = append(from, first)
			}
		}
	}

	return Folded{text.String(), from}
}

// isMark reports whether a letter is a mark that combines with the letter before it.
func isMark(letter string) bool {
	for _, r := range letter {
		return unicode.Is(unicode.Mn, r)
	}
	return false
}

func isHyphen(letter string) bool {
	return letter == "-" || letter == "\u2010" || letter == "\u2011" || letter == "\u00ad"
}

// find returns the numbers of the letters that are to go, in order. A line of them
// ends with "\n".
func (s redactionTerms) find(letters []string) []int {
	hit := make([]bool, len(letters))

	for _, joinLines := range []bool{false, true} {
		f := Fold(letters, joinLines)
		for _, term := range s.terms {
			for at := 0; ; {
				next := strings.Index(f.Text[at:], term)
				if next < 0 {
					break
				}
				for i := at + next; i < at+next+len(term); i++ {
					hit[f.letters[i]] = true
				}
				at += next + 1
			}
		}
	}

	for _, lineEnd := range []string{"\n", " ", ""} {
		s.findPatterns(letters, lineEnd, hit)
	}

	var found []int
	for i := range letters {
		// A mark goes with its letter.
		hit[i] = hit[i] || i > 0 && hit[i-1] && isMark(letters[i]) && letters[i-1] != "\n"
		if hit[i] && letters[i] != "\n" {
			found = append(found, i)
		}
	}

	return found
}

// findPatterns marks the letters that patterns match where lines end with something.
func (s redactionTerms) findPatterns(letters []string, lineEnd string, hit []bool) {
	if len(s.patterns) == 0 {
		return
	}

	var text strings.Builder
	var from []int
	for i := 0; i < len(letters); i++ {
		letter := letters[i]
		first := i
		for i+1 < len(letters) && isMark(letters[i+1]) && letters[first] != "\n" {
			i++
			letter += letters[i]
		}

		if letter == "\n" {
			letter = lineEnd
		} else {
			letter = norm.NFKC.String(letter)
		}

		text.WriteString(letter)
		for range len(letter) {
			from = append(from, first)
		}
	}

	for _, p := range s.patterns {
		for _, match := range p.FindAllStringIndex(text.String(), -1) {
			for i := match[0]; i < match[1]; i++ {
				hit[from[i]] = true
			}
		}
	}
}

// lettersOf are the letters of a text.
func lettersOf(text string) []string {
	letters := make([]string, 0, len(text))
	for _, r := range text {
		letters = append(letters, string(r))
	}
	return letters
}

// blacken returns a text with its secrets replaced by marks, and whether there were any.
func (s redactionTerms) blacken(text string) (string, bool) {
	letters := lettersOf(text)
	found := s.find(letters)
	return blackened(letters, found), len(found) > 0
}

// blackened joins letters, with marks in the place of some.
func blackened(letters []string, places []int) string {
	for _, i := range places {
		letters[i] = "█"
	}
	return strings.Join(letters, "")
}
