package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// dataPrice is the price of pdf.data if the pages have text.
const dataPrice = 2000 * credit.Microdollar

// dataInput is the input of pdf.data.
type dataInput struct {
	schema.Common
	PDFSource

	Schema    schema.Object `json:"schema,omitzero" jsonschema_description:"JSON Schema of an object, which a model fills from the document. At most 16 KiB, with RE2 patterns and internal $refs only. The text of the pages can have 64 KiB at most. The response includes the page of each value."`
	Output    string        `json:"output,omitempty" jsonschema:"enum=markdown,default=markdown" jsonschema_description:"Form of the result. Cannot be combined with schema. Text columns are read one after the other; a line that repeats on every page appears once."`
	Pages     Pages         `json:"pages,omitzero" jsonschema_description:"Pages to read: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	OCR       *bool         `json:"ocr,omitempty" jsonschema:"default=true" jsonschema_description:"If true, read pages without text by OCR, 50 at most. If a page needs OCR, the call also costs the price of pdf.ocr, which is held until the call ends."`
	Languages []ocrLanguage `json:"languages,omitempty" jsonschema:"minItems=1,maxItems=5" jsonschema_description:"Languages for OCR: eng (default), deu, fra, or any other installed language."`
	QuoteFields
}

// DataAnswer is the result of pdf.data.
type DataAnswer struct {
	pdf.MarkdownText

	Data  json.RawMessage `json:"data,omitempty" jsonschema:"type=object" jsonschema_description:"Extracted data, valid against the schema of the request."`
	Found []FoundValue    `json:"found,omitempty" jsonschema_description:"Pages of the values in data, one entry per text, number or boolean."`
	Promised
}

// FoundValue is a value of a document's data.
type FoundValue struct {
	Path string `json:"path" jsonschema:"required" jsonschema_description:"JSON Pointer of the value in data, such as /items/0/price."`
	Page int    `json:"page" jsonschema:"required" jsonschema_description:"Number of the page with the value, from 1."`
}

// Validate checks the rules that the schema cannot express.
func (in *dataInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	in.Pages.check(&faults, "pages")

	if len(in.Languages) > 0 && !in.reads() {
		faults.Add("languages", "require ocr: true")
	}
	in.check(&faults)

	switch {
	case !in.Schema.IsZero():
		if _, err := newDataSchema(in.Schema.RawMessage); err != nil {
			faults.Add("schema", "%s", err)
		}
		if in.Output != "" {
			faults.Add("output", "is mutually exclusive with schema, which returns data")
		}
	case in.Quote:
		faults.Add("quote", "requires schema: without schema the price is fixed")
	case in.QuoteID != "":
		faults.Add("quoteId", "requires schema: without schema the price is fixed")
	}
	return failures(faults)
}

// reads reports whether OCR reads pages without text.
func (in *dataInput) reads() bool { return in.OCR == nil || *in.OCR }

// Price returns the amount of the hold: with the price of OCR, if pages may need it, and the price of the longest
// responses of a model, if one is used.
func (in *dataInput) Price(ctx context.Context, deps *Deps) (schema.Price, error) {
	switch {
	case in.Schema.IsZero():
		return schema.Price{Amount: in.maxPrice(deps)}, nil
	case deps.AI == nil:
		return schema.Price{}, errNoAI
	case in.Quote:
		return schema.Price{}, nil
	case in.QuoteID != "":
		digest, err := in.digest()
		if err != nil {
			return schema.Price{}, err
		}
		return deps.promised(ctx, in.QuoteID, digest)
	}
	return schema.Price{
		Amount: in.maxPrice(deps) + deps.AI.charge(llm.MaxExtraction(in.Schema.RawMessage, deps.AI.MaxTokens)),
	}, nil
}

// maxPrice returns the maximum price of a call without the price of the model.
func (in *dataInput) maxPrice(deps *Deps) credit.Amount {
	if in.reads() && !deps.NoOCR {
		return deps.Prices["pdf.data"] + deps.Prices["pdf.ocr"]
	}
	return deps.Prices["pdf.data"]
}

// ocrLanguages returns the languages of OCR for pages without text, or nil if such pages are not read.
func (in *dataInput) ocrLanguages(deps *Deps) []string {
	if !in.reads() || deps.NoOCR {
		return nil
	}
	return languages(in.Languages)
}

func runData(ctx context.Context, deps *Deps, in *dataInput) (schema.Result, error) {
	if !in.Schema.IsZero() {
		return runSchema(ctx, deps, in)
	}

	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args := pdf.MarkdownArgs{Selection: selection(file, in.Pages), Languages: in.ocrLanguages(deps)}
		text, about, err := render.RunBoth(ctx, deps.Render, pdf.MarkdownJob, args, file.File())
		if err != nil {
			return schema.Result{}, err
		}

		charge := deps.Prices["pdf.data"]
		if len(about.Read) > 0 {
			charge += deps.Prices["pdf.ocr"]
		}

		return schema.Result{
			Stem: "data", Extension: ".json", ContentType: "application/json", Body: text, Charge: &charge, Warnings: dataWarnings(about),
		}, nil
	})
}

// dataWarnings returns warnings about pages whose text is not their own.
func dataWarnings(about pdf.MarkdownReport) (told []schema.Warning) {
	if len(about.Read) > 0 {
		told = append(
			told,
			schema.Warning{
				Code:    "text_recognized",
				Message: pageList(about.Read) + " read by OCR and may contain recognition errors",
			},
		)
	}
	if len(about.Empty) > 0 {
		told = append(
			told, schema.Warning{Code: "page_empty", Message: pageList(about.Empty) + " without readable text"},
		)
	}
	return told
}

// pageList names pages as the subject of a sentence in the past.
func pageList(pages []int) string {
	if len(pages) == 1 {
		return fmt.Sprintf("page %d was", pages[0])
	}

	var parts []string
	for from := 0; from < len(pages); {
		to := from
		for to+1 < len(pages) && pages[to+1] == pages[to]+1 {
			to++
		}

		part := strconv.Itoa(pages[from])
		if to > from {
			part += "-" + strconv.Itoa(pages[to])
		}
		parts = append(parts, part)
		from = to + 1
	}

	return "pages " + strings.Join(parts, ", ") + " were"
}
