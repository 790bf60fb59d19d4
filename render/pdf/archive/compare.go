package archive

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// characters counts the characters of a text, in their simplest form, without spaces and signs for formats. What
// readers do not understand is not among them.
type characters map[rune]int

func (c characters) add(text string) {
	for _, r := range norm.NFKC.String(text) {
		if !unicode.IsSpace(r) && isText(string(r)) && !unicode.Is(unicode.Cf, r) {
			c[r]++
		}
	}
}

// lost returns the characters of which there are fewer in another text, but some, and how many are missing.
func (c characters) lost(after, but characters) (missing []rune, times int) {
	for _, r := range slices.Sorted(maps.Keys(c)) {
		if n := c[r] - after[r]; n > 0 && but[r] == 0 {
			missing, times = append(missing, r), times+n
		}
	}
	return missing, times
}

func (c characters) count() (n int) {
	for _, times := range c {
		n += times
	}
	return n
}

// without returns the characters without others.
func (c characters) without(others characters) characters {
	left := maps.Clone(c)
	for r, times := range others {
		left[r] -= times
	}
	return left
}

// hasFigure reports whether there is a digit among characters. A reader would not notice that one is lost, and a
// wrong amount is worse than no archive.
func hasFigure(list []rune) bool {
	return slices.ContainsFunc(list, func(r rune) bool { return r >= '0' && r <= '9' })
}

// pageCharacters are the characters of a page, and those beside its edges, which Ghostscript leaves out.
type pageCharacters struct{ shown, beside characters }

// readCharacters returns the characters of each page as MuPDF reads them.
func readCharacters(ctx context.Context, d *job.Document) ([]pageCharacters, error) {
	pages := make([]pageCharacters, d.Pages)
	err := job.InRuns(ctx, d.Pages, func(ctx context.Context, run, from, to int) error {
		return redact.ReadRun(ctx, d, run, redact.ReadInput{Input: d.Name, Output: "glyphs-", First: from, End: to}, func(n int, codes redact.PageCodes) error {
			pages[n] = pageCharacters{characters{}, characters{}}
			for _, c := range codes.Codes {
				q := c.Quad()
				around := job.Box{min(q[0], q[2], q[4], q[6]), min(q[1], q[3], q[5], q[7]), max(q[0], q[2], q[4], q[6]), max(q[1], q[3], q[5], q[7])}
				if b := codes.Bounds; around[0] < b[0] || around[1] < b[1] || around[2] > b[2] || around[3] > b[3] {
					pages[n].beside.add(c.Text)
				} else {
					pages[n].shown.add(c.Text)
				}
			}

			return nil
		})
	})

	return pages, err
}

// subsetTag matches the tag of a font of which not all glyphs are there.
var subsetTag = regexp.MustCompile(`^[A-Z]{6}\+`)

// garbledText lists pages on which readers no longer find some characters, these, and their fonts.
type garbledText struct {
	pages      []int
	characters []rune
	fonts      []string
}

func (g *garbledText) add(page int, missing []rune) {
	g.pages = append(g.pages, page)
	for _, r := range missing {
		if !slices.Contains(g.characters, r) {
			g.characters = append(g.characters, r)
		}
	}
}

// describe returns the characters, of which there may be many.
func (g *garbledText) describe() string {
	const maximum = 20
	if len(g.characters) > maximum {
		return string(g.characters[:maximum]) + "…"
	}
	return string(g.characters)
}

// findFonts notes the fonts of a document that say that a code is one of the characters; if none does, those that
// say nothing.
func (g *garbledText) findFonts(f *pdffile.File) {
	in := &redact.Inspector{File: f, Fonts: map[string]*redact.FontMeaning{}}
	var saying, silent []string

	for _, ref := range f.References() {
		entries := f.Entry(ref)
		name, isFont := entries["/BaseFont"].(string)
		if _, isBelow := entries["/CIDSystemInfo"]; !isFont || isBelow {
			continue
		}

		name = subsetTag.ReplaceAllString(strings.TrimPrefix(name, "/"), "")
		meanings := in.Meaning(ref).Unicode
		says := slices.ContainsFunc(slices.Collect(maps.Values(meanings)), func(text string) bool {
			return strings.ContainsFunc(norm.NFKC.String(text), func(r rune) bool { return slices.Contains(g.characters, r) })
		})

		switch {
		case says:
			saying = append(saying, name)
		case len(meanings) == 0:
			silent = append(silent, name)
		}
	}

	if len(saying) == 0 {
		saying = silent
	}
	slices.Sort(saying)
	g.fonts = slices.Compact(saying)
}
