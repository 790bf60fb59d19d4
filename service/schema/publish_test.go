package schema

import (
	"regexp"
	"testing"
)

// TestAnyCaseMatchesExactlyItsWords checks the pattern of words of which some begin with others.
func TestAnyCaseMatchesExactlyItsWords(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile("^(" + AnyCase([]string{"a4", "gold", "goldenrod", "green", "greenyellow", "px", "pt"}) + ")$")
	for _, word := range []string{"A4", "gold", "GoldenRod", "GREEN", "greenyellow", "pX", "pt"} {
		if !pattern.MatchString(word) {
			t.Errorf("%s does not match %s", word, pattern)
		}
	}
	for _, word := range []string{"", "a", "A40", "golden", "goldgreen", "gree", "yellow", "goldrod", "p", "pxpt"} {
		if pattern.MatchString(word) {
			t.Errorf("%s matches %s", word, pattern)
		}
	}
}
