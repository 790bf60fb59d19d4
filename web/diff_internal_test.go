package web

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestDiffTurnsOneTextIntoTheOther compares texts at random: who takes the lines
// that stay and those that were added has the second, and with those that were
// removed the first.
func TestDiffTurnsOneTextIntoTheOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() []string {
		var lines []string
		for range random.IntN(30) {
			lines = append(lines, strconv.Itoa(random.IntN(6)))
		}
		return lines
	}
	for range 2000 {
		before, after := text(), text()
		edits := middle(before, after, 0)
		var first, second []string
		for _, e := range edits {
			source := after
			if e.kind == "del" {
				source = before
			}
			if e.number < 1 || e.number > len(source) || source[e.number-1] != e.text {
				t.Fatalf("%v to %v: line %d is not %q", before, after, e.number, e.text)
			}
			if e.kind != "add" {
				first = append(first, e.text)
			}
			if e.kind != "del" {
				second = append(second, e.text)
			}
		}
		if !slices.Equal(first, before) || !slices.Equal(second, after) {
			t.Fatalf("%v to %v: got %+v", before, after, edits)
		}
		if d := diff(before, after); slices.Equal(before, after) != (d.Added+d.Removed == 0) {
			t.Fatalf("%v to %v: got %+v", before, after, d)
		}
	}
}
