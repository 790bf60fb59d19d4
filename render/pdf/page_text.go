package pdf

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

// inRuns reads pages side by side, in as many runs as there are processors: read gets the
// number of its run, its first page, counted from 0, and the one behind its last.
func inRuns(ctx context.Context, pages int, read func(ctx context.Context, run, from, to int) error) error {
	runs := max(1, min(runtime.NumCPU(), pages/minTextRun))
	group, groupCtx := guard.WithContext(ctx)
	for i := range runs {
		group.Go(func() error { return read(groupCtx, i, pages*i/runs, pages*(i+1)/runs) })
	}
	return group.Wait()
}

// allTexts returns the text of each page.
func allTexts(ctx context.Context, d *document) ([]string, error) {
	texts := make([]string, d.pages)
	size := 0
	err := inRuns(ctx, d.pages, func(ctx context.Context, _, from, to int) error {
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
	if size > maxTextBytes {
		return nil, fmt.Errorf("text of %d bytes: %w", size, engine.ErrOutputTooLarge)
	}

	return texts, nil
}

// textsOfRun returns the text of each page of a run.
func textsOfRun(ctx context.Context, d *document, first, last int) ([]string, error) {
	texts, err := extractTexts(ctx, d, first, last)
	if err != nil || len(texts) == last-first+1 {
		return texts, err
	}

	// Some font calls a form feed a letter: only page by page is it plain
	// which one ends a page.
	texts = texts[:0]
	for page := first; page <= last; page++ {
		parts, err := extractTexts(ctx, d, page, page)
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.Join(parts, " "))
	}

	return texts, nil
}

// maxTextBytes bounds the text of a document as poppler writes it.
const maxTextBytes = 100 << 20

// extractTexts returns the text of a run of pages: one string for each, and more if a page contains form feeds.
//
// Poppler's default mode puts the columns of a page one after the other; "-layout" would mix their lines.
func extractTexts(ctx context.Context, d *document, first, last int) ([]string, error) {
	out, err := d.drawPages(ctx, last-first+1, engine.Program{
		Name: "pdftotext", MaxStdout: maxTextBytes,
		Args: []string{"-q", "-enc", "UTF-8", "-eol", "unix", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), engine.PathArg(d.name), "-"},
	})
	if err != nil {
		return nil, d.damaged(err)
	}
	var texts []string
	for page := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte("\f")), []byte("\f")) {
		texts = append(texts, strings.TrimRight(strings.ToValidUTF8(string(page), "\ufffd"), "\n"))
	}
	return texts, nil
}
