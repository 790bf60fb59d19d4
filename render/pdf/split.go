package pdf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// SplitArgs are the arguments of SplitJob. Exactly one of the ways to split is set. The output is a ZIP archive.
type SplitArgs struct {
	job.Input

	Every    int    // pages of a part
	Level    int    // of the outline: its entries of this level and above begin parts
	Text     string // pages with it begin parts
	MaxBytes int64  // of a part
	// TestMark draws the test mark on the pages.
	TestMark bool
}

// maxParts is the maximum number of parts of a document.
const maxParts = 5000

// piece is a part of a document: its first and its last page, from 1.
type piece struct {
	first, last int
	title       string
}

// SplitJob makes a ZIP archive of parts of a PDF.
var SplitJob = job.DefineFile("pdf.split", engine.MakeTime, split)

// split makes an archive of parts of a document, in order.
func split(ctx context.Context, w *engine.Work, args SplitArgs) error {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return err
	}

	if doc.Pages > maxKeptFrom {
		return &job.Error{Kind: job.TooManyPages, Pages: doc.Pages, Max: maxKeptFrom}
	}
	if args.Every > 0 && doc.Pages > args.Every*maxParts {
		return tooManyParts((doc.Pages-1)/args.Every + 1)
	}

	s, err := newSplitter(ctx, doc, args.TestMark)
	if err != nil {
		return err
	}
	if args.MaxBytes > 0 {
		return s.pack(ctx, func(from int) (piece, []byte, error) { return s.fill(from, args.MaxBytes) })
	}

	pieces, err := args.pieces(ctx, s)
	if err != nil {
		return err
	}
	if len(pieces) > maxParts {
		return tooManyParts(len(pieces))
	}

	for _, p := range pieces {
		if err := job.CheckPages(p.last - p.first + 1); err != nil {
			return err
		}
	}

	return s.pack(ctx, func(from int) (piece, []byte, error) {
		next := slices.IndexFunc(pieces, func(p piece) bool { return p.first == from })
		content, err := s.write(pieces[next])
		return pieces[next], content, err
	})
}

func tooManyParts(n int) error {
	return &job.Error{Kind: job.Unsplit, Text: fmt.Sprintf("makes %d parts; the limit is %d", n, maxParts)}
}

// pieces returns the parts of a document by pages, bookmarks or text.
func (a SplitArgs) pieces(ctx context.Context, s *splitter) ([]piece, error) {
	titles := map[int]string{} // of parts, by their first page

	var starts []int
	switch {
	case a.Every > 0:
		for n := 1; n <= s.Document.Pages; n += a.Every {
			starts = append(starts, n)
		}
	case a.Level > 0:
		starts = headings(s.outline, a.Level, titles, nil)
		if len(starts) == 0 {
			return nil, &job.Error{Kind: job.Unsplit, Text: fmt.Sprintf("must be a level with bookmarks; the document has none of level %d or above", a.Level)}
		}
	default:
		texts, err := job.AllTexts(ctx, s.Document)
		if err != nil {
			return nil, err
		}

		wanted := redact.Fold([]string{a.Text}, false).Text
		for i, text := range texts {
			if strings.Contains(redact.Fold(strings.Split(text, ""), true).Text, wanted) {
				starts = append(starts, i+1)
			}
		}
		if len(starts) == 0 {
			return nil, &job.Error{Kind: job.Unsplit, Text: "was not found on any page"}
		}
	}

	starts = job.Unique(append(starts, 1))
	pieces := make([]piece, len(starts))
	for i, first := range starts {
		pieces[i] = piece{first, s.Document.Pages, titles[first]}
		if i > 0 {
			pieces[i-1].last = first - 1
		}
	}

	return pieces, nil
}

// headings returns the pages to which the entries of an outline lead, down to a level, and sets their titles.
func headings(nodes []pageNode, level int, titles map[int]string, pages []int) []int {
	for _, node := range nodes {
		if node.page > 0 {
			pages = append(pages, node.page)
			if titles[node.page] == "" {
				titles[node.page] = pdffile.Text(node.entry["/Title"])
			}
		}
		if level > 1 {
			pages = headings(node.kids, level-1, titles, pages)
		}
	}
	return pages
}

// fill returns the part from a page with as many pages as fit into a number of bytes.
func (s *splitter) fill(from int, maximum int64) (piece, []byte, error) {
	var best []byte
	fits := 0                                                // a number of pages that fits
	beyond := min(s.Document.Pages-from+1, job.MaxPages) + 1 // one that does not

	for n := min(max(1, s.filled), beyond-1); fits+1 < beyond; {
		content, err := s.write(piece{first: from, last: from + n - 1})
		switch {
		case err != nil:
			return piece{}, nil, err
		case int64(len(content)) <= maximum:
			best = content
			fits = n
		case n == 1:
			return piece{}, nil, &job.Error{Kind: job.Unsplit, Text: fmt.Sprintf("must be larger: page %d alone has %d bytes", from, len(content))}
		default:
			beyond = n
		}
		if n = (fits + beyond) / 2; beyond > min(s.Document.Pages-from+1, job.MaxPages) {
			n = min(2*fits, beyond-1)
		}
	}

	s.filled = fits
	return piece{first: from, last: from + fits - 1}, best, nil
}

// pack makes an archive of parts the job's output. next returns the part that begins with a page, and its content.
func (s *splitter) pack(ctx context.Context, next func(from int) (piece, []byte, error)) error {
	digits := max(3, len(strconv.Itoa(s.Document.Pages)))
	const part = "part.pdf"

	return job.PackStored(s.Work, "parts.zip", func(add func(file, name string) error) error {
		for from, n := 1, 1; from <= s.Document.Pages; n++ {
			if n > maxParts {
				return &job.Error{Kind: job.Unsplit, Text: fmt.Sprintf("makes more than %d parts, the limit", maxParts)}
			}
			made, content, err := next(from)
			if err := errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			if err := os.WriteFile(s.Work.Path(part), content, 0o600); err != nil {
				return fmt.Errorf("part: %w", err)
			}

			name := fmt.Sprintf("%0*d", digits, n)
			if title := fileTitle(made.title); title != "" {
				name += "-" + title
			}
			if err := add(part, name+".pdf"); err != nil {
				return err
			}
			from = made.last + 1
		}
		return nil
	})
}

// maxFileTitle is the maximum length of a title in a file name in bytes.
const maxFileTitle = 100

// fileTitle returns a title as a part of a file name that any file system accepts.
func fileTitle(title string) string {
	words := strings.FieldsFunc(norm.NFC.String(title), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M) && !strings.ContainsRune("_+&'(),.", r)
	})
	name := strings.Join(words, "-")
	for len(name) > maxFileTitle {
		name = strings.TrimRightFunc(name[:len(name)-1], func(r rune) bool { return r == unicode.ReplacementChar })
	}
	return strings.Trim(name, ".-")
}
