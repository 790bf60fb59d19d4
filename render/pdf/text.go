package pdf

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
)

// TextArgs are the arguments of a TextJob. Merge puts the text of all pages
// into one string. The output is the result as JSON.
type TextArgs struct {
	Input Input
	Merge bool
}

// PageText is the text of one page, in the order in which it is read: columns
// one after the other.
type PageText struct {
	Page int    `json:"page" jsonschema:"required" jsonschema_description:"Number of the page, from 1."`
	Text string `json:"text" jsonschema:"required" jsonschema_description:"Text of the page; empty if there is none."`
}

// Text is the result of a TextJob: the text of each page, or the text of all.
type Text struct {
	PageCount int        `json:"pageCount" jsonschema:"required" jsonschema_description:"Number of pages."`
	Pages     []PageText `json:"pages,omitempty" jsonschema_description:"Pages in order; absent with mergePages."`
	Text      *string    `json:"text,omitempty" jsonschema_description:"Text of all pages with form feeds between them; only with mergePages."`
}

// textOutput is the name of a TextJob's output.
const textOutput = "text.json"

// TextJob reads the text of a PDF. The output is a Text as JSON.
var TextJob = defineFile("pdf.text", engine.TextTime, extractText)

// extractText reads the text layer of all pages.
func extractText(ctx context.Context, w *engine.Work, args TextArgs) error {
	texts, err := inputTexts(ctx, w, args.Input)
	if err != nil {
		return err
	}

	if args.Merge {
		// Form feeds separate pages, so the text of a page must not contain any.
		return writeJSON(w, textOutput, Text{PageCount: len(texts), Text: new(strings.Join(texts, "\f"))})
	}

	pages := make([]PageText, len(texts))
	for i, text := range texts {
		pages[i] = PageText{Page: i + 1, Text: text}
	}
	return writeJSON(w, textOutput, Text{PageCount: len(texts), Pages: pages})
}

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

// inputTexts returns the text of each page of an input.
func inputTexts(ctx context.Context, w *engine.Work, in Input) ([]string, error) {
	doc, err := openOne(ctx, w, in)
	if err != nil {
		return nil, err
	}
	if err := checkPages(doc.pages); err != nil {
		return nil, err
	}
	if _, err := decrypt(ctx, doc); err != nil {
		return nil, err
	}
	return allTexts(ctx, doc)
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

// writeJSON makes a value, as JSON, an output of the job.
func writeJSON(w *engine.Work, name string, v any) error {
	w.Output(name)
	return saveJSON(w, name, v)
}

// saveJSON writes a value, as JSON, to a new file of the job's folder.
func saveJSON(w *engine.Work, name string, v any) (err error) {
	out, err := os.OpenFile(w.Path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return buffered.Flush()
}
