package web

import (
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/views"
)

const (
	// diffContext is the number of lines around a change.
	diffContext = 3
	// maxDiffCells bounds the table that changes are found with; texts that differ
	// in more than that are shown as one change.
	maxDiffCells = 4 << 20
	// maxDiffLines is the maximum number of lines that are shown of one file, maxDiffLine the maximum number of
	// bytes of one line.
	maxDiffLines = 2000
	maxDiffLine  = 4 << 10
	// maxCompared bounds the lines of a text that are taken apart and compared.
	maxCompared = 20_000
)

// diffsOf returns the differences between two contents, file by file. Equal files are left out.
func diffsOf(before, after views.Content) []views.Diff {
	var list []views.Diff
	for _, file := range []struct{ name, before, after string }{
		{"HTML", before.HTML, after.HTML}, {"Data", before.Sample, after.Sample},
		{"Options", before.Options, after.Options},
	} {
		before, moreBefore := lines(file.before)
		after, moreAfter := lines(file.after)

		d := diff(before, after)
		cut := moreBefore != moreAfter
		if cut {
			d.Lines = append(d.Lines, views.DiffLine{
				Kind: "gap",
				Text: "… differences after line " + strconv.Itoa(maxCompared) + " are not shown",
			})
		}
		if cut || d.Added+d.Removed > 0 {
			d.Name = file.name
			list = append(list, d)
		}
	}

	return list
}

// lines returns the lines of a text that are compared, and the text after them.
func lines(text string) (list []string, more string) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil, ""
	}
	list = strings.SplitN(text, "\n", maxCompared+1)
	if len(list) > maxCompared {
		list, more = list[:maxCompared], list[maxCompared]
	}
	return list, more
}

// edit is one line of a comparison: in both texts, or only in one.
type edit struct {
	kind   string // "", add or del
	number int    // in the text that has it
	text   string
}

// diff compares two texts line by line.
func diff(before, after []string) views.Diff {
	start := 0
	for start < len(before) && start < len(after) && before[start] == after[start] {
		start++
	}

	end := 0
	for end < len(before)-start && end < len(after)-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}

	var edits []edit
	for i := range start {
		edits = append(edits, edit{"", i + 1, after[i]})
	}
	edits = append(edits, middle(before[start:len(before)-end], after[start:len(after)-end], start)...)
	for i := len(after) - end; i < len(after); i++ {
		edits = append(edits, edit{"", i + 1, after[i]})
	}
	return shownDiff(edits)
}

// middle compares the lines between the common beginning and end of both texts, by their longest common
// subsequence.
func middle(before, after []string, offset int) []edit {
	if len(before)*len(after) > maxDiffCells {
		return replaced(before, after, offset)
	}

	width := len(after) + 1
	common := make([]int32, (len(before)+1)*width)
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if before[i] == after[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}

	var edits []edit
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		switch {
		case before[i] == after[j]:
			edits = append(edits, edit{"", offset + j + 1, after[j]})
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			edits = append(edits, edit{"del", offset + i + 1, before[i]})
			i++
		default:
			edits = append(edits, edit{"add", offset + j + 1, after[j]})
			j++
		}
	}

	rest := replaced(before[i:], after[j:], 0)
	for at := range rest {
		rest[at].number += offset + j
		if rest[at].kind == "del" {
			rest[at].number += i - j
		}
	}
	return append(edits, rest...)
}

func replaced(before, after []string, offset int) []edit {
	var edits []edit
	for i, text := range before {
		edits = append(edits, edit{"del", offset + i + 1, text})
	}
	for i, text := range after {
		edits = append(edits, edit{"add", offset + i + 1, text})
	}
	return edits
}

// shownDiff leaves out lines that are far from any change.
func shownDiff(edits []edit) views.Diff {
	var d views.Diff
	near := make([]bool, len(edits))
	for i, e := range edits {
		if e.kind == "" {
			continue
		}

		if e.kind == "add" {
			d.Added++
		} else {
			d.Removed++
		}
		for at := max(0, i-diffContext); at <= min(len(edits)-1, i+diffContext); at++ {
			near[at] = true
		}
	}

	gap := 0
	for i, e := range edits {
		if !near[i] {
			gap++
			continue
		}
		d.Lines = append(d.Lines, gapOf(gap)...)
		gap = 0
		d.Lines = append(d.Lines, views.DiffLine{Kind: e.kind, Number: e.number, Text: shownLine(e.text)})
	}
	d.Lines = append(d.Lines, gapOf(gap)...)

	if len(d.Lines) > maxDiffLines {
		d.Lines = append(slices.Clone(d.Lines[:maxDiffLines]), views.DiffLine{
			Kind: "gap",
			Text: "… further changes are not shown",
		})
	}
	return d
}

// shownLine is a line, or how it begins.
func shownLine(text string) string {
	if len(text) > maxDiffLine {
		return strings.ToValidUTF8(text[:maxDiffLine], "") + "…"
	}
	return text
}

func gapOf(lines int) []views.DiffLine {
	if lines == 0 {
		return nil
	}
	return []views.DiffLine{{Kind: "gap", Text: "… " + views.Plural(lines, "line", "lines") + " unchanged"}}
}

// pairLines pairs added lines with the removed lines that they replace, line by line, as views.Sides shows them.
func pairLines(diffs []views.Diff) []views.Diff {
	for i := range diffs {
		diffs[i].Lines = paired(diffs[i].Lines)
	}
	return diffs
}

func paired(lines []views.DiffLine) []views.DiffLine {
	var list, removed, added []views.DiffLine
	pair := func() {
		for len(removed)+len(added) > 0 {
			r := min(1, len(removed))
			a := min(1, len(added))
			list = append(append(list, removed[:r]...), added[:a]...)
			removed, added = removed[r:], added[a:]
		}
	}

	for _, line := range lines {
		switch line.Kind {
		case "del":
			removed = append(removed, line)
		case "add":
			added = append(added, line)
		default:
			pair()
			list = append(list, line)
		}
	}

	pair()
	return list
}
