package web

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/views"
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

// TestPairedLinesAreNextToEachOther: added lines come after those that they replace, and no line is lost if there
// are more of one kind.
func TestPairedLinesAreNextToEachOther(t *testing.T) {
	var lines []views.DiffLine
	for _, word := range strings.Fields("+new same -a -b -c +x +y same +z -d same -e") {
		line := views.DiffLine{Text: word}
		switch word[0] {
		case '+':
			line.Kind = "add"
		case '-':
			line.Kind = "del"
		}
		lines = append(lines, line)
	}
	var got []string
	for _, line := range paired(lines) {
		got = append(got, line.Text)
	}
	if want := "+new same -a +x -b +y -c same -d +z same -e"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}

// TestDiffOfManyLinesIsBounded compares texts of 36 MB of line breaks, and lines of many megabytes: the cost
// depends on the shown part, and not on the texts.
func TestDiffOfManyLinesIsBounded(t *testing.T) {
	many := strings.Repeat("\n", 36<<20)
	long := strings.Repeat("x", 16<<20)
	mine, theirs := views.Content{HTML: many + "a", Sample: "same" + many, Options: long}, views.Content{HTML: "b" + many + "c", Sample: "same" + many + "\n", Options: long + "y"}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all := diffsOf(mine, theirs)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
		t.Errorf("allocated %d bytes", used)
	}
	if len(all) != 2 || all[0].Name != "HTML" || all[1].Name != "Options" {
		t.Fatalf("got %d files", len(all))
	}
	last := all[0].Lines[len(all[0].Lines)-1]
	if !strings.Contains(last.Text, "differences after line") || len(all[0].Lines) > maxDiffLines+2 {
		t.Errorf("of %d lines, the last is %q", len(all[0].Lines), last.Text)
	}
	for _, line := range all[1].Lines {
		if len(line.Text) > maxDiffLine+len("…") {
			t.Errorf("a line of %d bytes is shown", len(line.Text))
		}
	}
	if same := diffsOf(views.Content{HTML: many + "a"}, views.Content{HTML: many + "a"}); len(same) != 0 {
		t.Errorf("equal texts differ: %d files", len(same))
	}
}
