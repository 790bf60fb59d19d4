package operation

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"relaypdf/api/op"
	"relaypdf/render"
	"relaypdf/store/credit"
)

// dataPrice is what pdf.data costs where pages have text.
const dataPrice = 2000 * credit.Microdollar

// DataInput is the input of pdf.data.
type DataInput struct {
	op.Common
	PDFSource

	Output    string     `json:"output,omitempty" jsonschema:"enum=markdown,default=markdown" jsonschema_description:"Columns are read one after the other, and lines that repeat on each page are left out but once."`
	Pages     Pages      `json:"pages,omitzero" jsonschema_description:"Pages to read: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	OCR       *bool      `json:"ocr,omitempty" jsonschema:"default=true" jsonschema_description:"Reads pages that have no text by OCR, 50 at most. Where a page needs it, the price of pdf.ocr is added, which is held until then."`
	Languages []Language `json:"languages,omitempty" jsonschema:"minItems=1,maxItems=5" jsonschema_description:"Languages of the text: eng (default), deu, fra, or what else is installed. They matter where pages are read by OCR."`
}

// Validate checks what the schema cannot state.
func (in *DataInput) Validate() error {
	var faults op.Faults
	in.validate(&faults)
	in.Pages.check(&faults, "pages")
	if len(in.Languages) > 0 && !in.reads() {
		faults.Add("languages", "are for ocr, which is false")
	}
	return failures(faults)
}

// reads tells whether pages without text are read by OCR.
func (in *DataInput) reads() bool { return in.OCR == nil || *in.OCR }

// Price is what is held: with what OCR costs, where pages may need it.
func (in *DataInput) Price(_ context.Context, env *Env) (op.Price, error) {
	return op.Price{Amount: in.most(env)}, nil
}

// most is the most that a call costs.
func (in *DataInput) most(env *Env) credit.Amount {
	if in.reads() {
		return env.Prices["pdf.data"] + env.Prices["pdf.ocr"]
	}
	return env.Prices["pdf.data"]
}

// how says how pages are read.
func (in *DataInput) how() render.Markdown {
	how := render.Markdown{Pages: in.Pages.text()}
	if !in.reads() {
		return how
	}
	for _, language := range in.Languages {
		how.Languages = append(how.Languages, string(language))
	}
	if len(how.Languages) == 0 {
		how.Languages = []string{"eng"}
	}
	return how
}

func runData(ctx context.Context, env *Env, in *DataInput) (op.Result, error) {
	return withPDF(ctx, env, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (op.Result, error) {
		text, about, err := render.PDFPages{Account: env.Render}.Markdown(ctx, file, in.how())
		if err != nil {
			return op.Result{}, err
		}
		charge := env.Prices["pdf.data"]
		if len(about.Read) > 0 {
			charge += env.Prices["pdf.ocr"]
		}
		return op.Result{
			Stem: "data", Extension: ".json", ContentType: "application/json", Body: text, Charge: &charge, Warnings: dataWarnings(about),
		}, nil
	})
}

// dataWarnings tells of pages whose text is not their own.
func dataWarnings(about render.MarkdownAbout) (told []op.Warning) {
	if len(about.Read) > 0 {
		told = append(told, op.Warning{Code: "text_recognized", Message: pageList(about.Read) + " read by OCR, which may mistake letters"})
	}
	if len(about.Empty) > 0 {
		told = append(told, op.Warning{Code: "page_empty", Message: pageList(about.Empty) + " without text that could be read"})
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
