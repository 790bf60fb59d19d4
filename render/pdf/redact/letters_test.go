package redact

import (
	"slices"
	"testing"
)

// TestLettersOfAWordAreRedactedTogether has letters of a word go as one where they stand straight: the
// rectangle around a word that is aslant has others in it, and a space stays.
func TestLettersOfAWordAreRedactedTogether(t *testing.T) {
	straightLetter := func(x float64) []float64 { return []float64{x, 0, x + 10, 0, x, 20, x + 10, 20} }
	sideways := func(y float64) []float64 { return []float64{0, y, 0, y + 10, -20, y, -20, y + 10} }
	aslant := func(x float64) []float64 { return []float64{x, x, x + 10, x + 10, x - 10, x + 10, x, x + 20} }
	for name, c := range map[string]struct {
		letter       func(float64) []float64
		CountLetters [][]float64
	}{
		"straight": {straightLetter, [][]float64{{0, 0, 20, 0, 0, 20, 20, 20}, {30, 0, 50, 0, 30, 20, 50, 20}}},
		"sideways": {sideways, [][]float64{{0, 0, 0, 20, -20, 0, -20, 20}, {0, 30, 0, 50, -20, 30, -20, 50}}},
		"aslant":   {aslant, [][]float64{aslant(0), aslant(10), aslant(30), aslant(40)}},
	} {
		page := pageLetters{Text: []string{"a", "b", " ", "c", "d"}}
		for i := range page.Text {
			page.Quads = append(page.Quads, c.letter(float64(10*i))...)
		}
		found := page.found([]int{0, 1, 2, 3, 4})
		if !slices.EqualFunc(found.letters, c.CountLetters, slices.Equal) {
			t.Errorf("%s: letters %v, want %v", name, found.letters, c.CountLetters)
		}
		if len(found.covers) != 1 {
			t.Errorf("%s: covered are %v, want all as one", name, found.covers)
		}
	}
}
