package job

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
)

// minTextRun is the minimum number of pages for another run of the program, which first reads the whole document.
const minTextRun = 16

// InRuns reads pages side by side, in as many runs as there are processors: read gets the
// number of its run, its first page, counted from 0, and the one behind its last.
func InRuns(ctx context.Context, pages int, read func(ctx context.Context, run, from, to int) error) error {
	runs := max(1, min(runtime.NumCPU(), pages/minTextRun))
	group, groupCtx := guard.WithContext(ctx)
	for i := range runs {
		group.Go(func() error { return read(groupCtx, i, pages*i/runs, pages*(i+1)/runs) })
	}
	return group.Wait()
}

// AllTexts returns the text of each page.
func AllTexts(ctx context.Context, d *Document) ([]string, error) {
	texts := make([]string, d.Pages)
	size := 0
	err := InRuns(ctx, d.Pages, func(ctx context.Context, _, from, to int) error {
		run, err := textsOfRun(ctx, d, from+1, to)
		copy(texts[from:to], run)
		return err
	})
	if err != nil {
		return nil, err
	}

	for _, text := range texts {
		size += len(text)
	}
	if size > MaxTextBytes {
		return nil, fmt.Errorf("text of %d bytes: %w", size, engine.ErrOutputTooLarge)
	}

	return texts, nil
}

// textsOfRun returns the text of each page of a run.
func textsOfRun(ctx context.Context, d *Document, first, last int) ([]string, error) {
	texts, err := ExtractTexts(ctx, d, first, last)
	if err != nil || len(texts) == last-first+1 {
		return texts, err
	}

	// Some font calls a form feed a letter: only page by page is it plain
	// which one ends a page.
	texts = texts[:0]
	for page := first; page <= last; page++ {
		parts, err := ExtractTexts(ctx, d, page, page)
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.Join(parts, " "))
	}

	return texts, nil
}

// MaxTextBytes bounds the text of a document as poppler writes it.
const MaxTextBytes = 100 << 20

// ExtractTexts returns the text of a run of pages: one string for each, and more if a page contains form feeds.
//
// Poppler's default mode puts the columns of a page one after the other; "-layout" would mix their lines.
func ExtractTexts(ctx context.Context, d *Document, first, last int) ([]string, error) {
	out, err := d.DrawPages(ctx, last-first+1, engine.Program{
		Name: "pdftotext", MaxStdout: MaxTextBytes,
		Args: []string{"-q", "-enc", "UTF-8", "-eol", "unix", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), engine.PathArg(d.Name), "-"},
	})
	if err != nil {
		return nil, d.Damaged(err)
	}
	var texts []string
	for page := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte("\f")), []byte("\f")) {
		texts = append(texts, strings.TrimRight(strings.ToValidUTF8(string(page), "\ufffd"), "\n"))
	}
	return texts, nil
}
