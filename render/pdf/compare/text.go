package compare

import (
	"context"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// TextChange is a difference between the texts of two pages.
type TextChange struct {
	Change   string     `json:"change" jsonschema:"required,enum=added,enum=removed,enum=changed,enum=moved" jsonschema_description:"Kind of the difference. added: words only in the new PDF. removed: words only in the old PDF. changed: old words replaced by new ones. moved: the same words at another position in the text."`
	Old      string     `json:"old" jsonschema:"required" jsonschema_description:"Words in the old PDF; empty if added."`
	New      string     `json:"new" jsonschema:"required" jsonschema_description:"Words in the new PDF; empty if removed."`
	OldAreas []PageArea `json:"oldAreas" jsonschema:"required" jsonschema_description:"Positions of the old words, one area per line."`
	NewAreas []PageArea `json:"newAreas" jsonschema:"required" jsonschema_description:"Positions of the new words, one area per line."`
}

// The kinds of a TextChange.
const (
	textAdded   = "added"
	textRemoved = "removed"
	textChanged = "changed"
	textMoved   = "moved"
)

// ComparedWord is a word of a page with its area.
type ComparedWord struct {
	Text string
	Area PageArea
	line int
}

// Words returns the words of a page outside of ignored areas, in reading order.
func (f *Side) Words(ctx context.Context, page int, ignored []PageArea) (words []ComparedWord, err error) {
	n := strconv.Itoa(page)
	out, err := f.DrawPages(ctx, 1, engine.Program{Name: "pdftotext", MaxStdout: job.MaxTextBytes, Args: []string{
		"-q", "-bbox-layout", "-cropbox", "-enc", "UTF-8", "-f", n, "-l", n, engine.PathArg(f.Name), "-",
	}})
	if err != nil {
		return nil, f.Damaged(err)
	}

	line := 0
	err = job.EachWord(out, func(w job.ReadWord, first bool) {
		if first {
			line++
		}
		for _, area := range ignored {
			if area.contains(w.X+w.Width/2, w.Y+w.Height/2) {
				return
			}
		}
		words = append(words, ComparedWord{w.Text, PageArea{X: w.X, Y: w.Y, Width: w.Width, Height: w.Height}, line})
	})
	if err != nil {
		return nil, f.Fail(job.Damaged, err)
	}

	return words, nil
}

// maxWordCells bounds the table by which words are compared. Texts that differ in more than that are one change.
const maxWordCells = 4 << 20

// textChanges returns the differences between two texts.
func textChanges(old, latest []ComparedWord) []TextChange {
	start := 0
	for start < min(len(old), len(latest)) && old[start].Text == latest[start].Text {
		start++
	}

	end := 0
	for end < min(len(old), len(latest))-start && old[len(old)-1-end].Text == latest[len(latest)-1-end].Text {
		end++
	}
	old, latest = old[start:len(old)-end], latest[start:len(latest)-end]

	changes := []TextChange{}
	from := pagePair{}
	for _, same := range append(commonSequence(old, latest), pagePair{len(old), len(latest)}) {
		if removed, added := old[from.old:same.old], latest[from.new:same.new]; len(removed)+len(added) > 0 {
			changes = append(changes, textChange(removed, added))
		}
		from = pagePair{same.old + 1, same.new + 1}
	}

	return withMoves(changes)
}

// commonSequence returns the indices of the words of the longest common subsequence.
func commonSequence(old, latest []ComparedWord) []pagePair {
	if len(old)*len(latest) > maxWordCells {
		return nil
	}
	return align(len(old), len(latest), func(i, j int) float32 {
		if old[i].Text == latest[j].Text {
			return 1
		}
		return -1
	})
}

// textChange is the replacement of some words by others.
func textChange(removed, added []ComparedWord) TextChange {
	change := TextChange{Change: textChanged}
	change.Old, change.OldAreas = joinWords(removed)
	change.New, change.NewAreas = joinWords(added)
	switch {
	case len(removed) == 0:
		change.Change = textAdded
	case len(added) == 0:
		change.Change = textRemoved
	}
	return change
}

// joinWords returns the text of words, and their areas line by line.
func joinWords(words []ComparedWord) (string, []PageArea) {
	var text strings.Builder
	areas := []PageArea{}
	for i, w := range words {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(w.Text)

		if i > 0 && w.line == words[i-1].line {
			last := &areas[len(areas)-1]
			*last = last.join(w.Area)
			continue
		}
		areas = append(areas, w.Area)
	}

	return text.String(), areas
}

// withMoves makes one change of words that were removed at one position and added at another.
func withMoves(changes []TextChange) []TextChange {
	removed := map[string][]int{}
	for i, c := range changes {
		if c.Change == textRemoved {
			removed[c.Old] = append(removed[c.Old], i)
		}
	}

	moved := make([]bool, len(changes))
	for i := range changes {
		c := &changes[i]
		if before := removed[c.New]; c.Change == textAdded && len(before) > 0 {
			from := before[0]
			removed[c.New] = before[1:]
			c.Change = textMoved
			c.Old = changes[from].Old
			c.OldAreas = changes[from].OldAreas
			moved[from] = true
		}
	}

	remaining := changes[:0]
	for i, c := range changes {
		if !moved[i] {
			remaining = append(remaining, c)
		}
	}

	return remaining
}
