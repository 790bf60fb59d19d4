package pdf

import (
	"context"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// TextArgs are the arguments of a TextJob. Merge puts the text of all pages
// into one string. The output is the result as JSON.
type TextArgs struct {
	Input job.Input
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
var TextJob = job.DefineFile("pdf.text", engine.TextTime, extractText)

// extractText reads the text layer of all pages.
func extractText(ctx context.Context, w *engine.Work, args TextArgs) error {
	texts, err := inputTexts(ctx, w, args.Input)
	if err != nil {
		return err
	}

	if args.Merge {
		// Form feeds separate pages, so the text of a page must not contain any.
		return job.WriteJSON(w, textOutput, Text{PageCount: len(texts), Text: new(strings.Join(texts, "\f"))})
	}

	pages := make([]PageText, len(texts))
	for i, text := range texts {
		pages[i] = PageText{Page: i + 1, Text: text}
	}
	return job.WriteJSON(w, textOutput, Text{PageCount: len(texts), Pages: pages})
}

// inputTexts returns the text of each page of an input.
func inputTexts(ctx context.Context, w *engine.Work, in job.Input) ([]string, error) {
	doc, err := job.OpenOne(ctx, w, in)
	if err != nil {
		return nil, err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return nil, err
	}
	if _, err := job.Decrypt(ctx, doc); err != nil {
		return nil, err
	}
	return job.AllTexts(ctx, doc)
}
