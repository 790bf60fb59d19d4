package operation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

const (
	// expectedPage is the expected text of a page that is read by OCR, in bytes.
	expectedPage = 3000
	// aroundData is the assumed size of the names in data, in bytes.
	aroundData = 1 << 10
	// longerThanQuoted is the maximum ratio of a call's price to its quote: pages that OCR reads may have more text
	// than expected.
	longerThanQuoted = 2
	// visionDPI is the resolution of pages that a model looks at.
	visionDPI = 100
)

// digest returns the digest that a quote is bound to. Of the document it covers the length of its text: see
// runSchema.
func (in *dataInput) digest() ([]byte, error) {
	var wanted bytes.Buffer
	if err := json.Compact(&wanted, in.Schema.RawMessage); err != nil {
		return nil, err
	}
	text, err := json.Marshal([]any{"pdf.data", wanted.String(), in.Pages.text(), in.ocrLanguages(&Deps{})})
	sum := sha256.Sum256(text)
	return sum[:], err
}

// runSchema promises a price, or has the model fill the schema.
func runSchema(ctx context.Context, deps *Deps, in *dataInput) (schema.Result, error) {
	if deps.AI == nil {
		return schema.Result{}, errNoAI
	}

	wanted, err := newDataSchema(in.Schema.RawMessage)
	if err != nil {
		return schema.Result{}, wire.Invalid("schema", err.Error())
	}

	said, err := in.read(ctx, deps)
	if err != nil {
		return schema.Result{}, err
	}

	c := llm.BeginExtraction(llm.ExtractionRequest{Schema: in.Schema.RawMessage, Text: said.whole, Images: said.pictures})
	c.MaxTokens = deps.AI.MaxTokens
	length := len(said.whole) + said.assumed
	expected := c.ExpectedUsage(min(expectedAnswer, aroundData+length)).Add(llm.TextUsage(said.assumed))
	price := said.price(deps, expected)

	if in.Quote {
		digest, err := in.digest()
		if err != nil {
			return schema.Result{}, err
		}
		promised, err := deps.promise(ctx, digest, price)
		return schema.Result{
			Stem:   "quote",
			JSON:   DataAnswer{MarkdownText: said.MarkdownText, Promised: promised},
			Charge: new(credit.Amount(0)),
		}, err
	}

	if in.QuoteID != "" && price > longerThanQuoted*deps.Held {
		return schema.Result{}, wire.Invalid(
			"quoteId", "is for a shorter document. Request a new quote with quote: true",
		)
	}

	var made foundData
	used, err := deps.ask(ctx, c, func(_ context.Context, answer llm.Response) (faults []string, err error) {
		made, faults = readData(answer, wanted, said.texts)
		return faults, nil
	})
	if err != nil {
		return schema.Result{}, err
	}

	result := schema.Result{
		Stem: "data", JSON: DataAnswer{MarkdownText: said.MarkdownText, Data: made.data, Found: made.found}, Warnings: append(dataWarnings(said.about), strangeValues(made.strange)...),
	}

	if in.QuoteID == "" {
		// A provider that counts more than it was asked for is not the customer's matter.
		charge := min(said.price(deps, used), deps.Held)
		result.Charge = &charge
	}

	return result, nil
}

// saidDocument is a document as the model gets it.
type saidDocument struct {
	pdf.MarkdownText // without the text of the pages

	about    pdf.MarkdownReport
	whole    string
	texts    map[int]string // of the pages that are shown, by their numbers
	pictures []llm.Image
	// assumed is the expected text of pages that OCR would read, in bytes.
	assumed int
}

// price returns the price of filling the schema with that many tokens.
func (s *saidDocument) price(deps *Deps, used llm.Usage) credit.Amount {
	price := deps.Prices["pdf.data"] + deps.AI.charge(used)
	if len(s.about.Read) > 0 || s.assumed > 0 {
		price += deps.Prices["pdf.ocr"]
	}
	return price
}

// read returns the text of the pages: their own, or else the text that OCR finds in their images. For a document
// without text the model gets images. A quote reads no image.
func (in *dataInput) read(ctx context.Context, deps *Deps) (*saidDocument, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (*saidDocument, error) {
		args := pdf.MarkdownArgs{Selection: selection(file, in.Pages), Apart: true}
		if !in.Quote {
			args.Languages = in.ocrLanguages(deps)
		}

		body, about, err := render.RunBoth(ctx, deps.Render, pdf.MarkdownJob, args, file.File())
		if err != nil {
			return nil, err
		}

		said := &saidDocument{about: about, texts: map[int]string{}}
		if err := errors.Join(said.take(body), body.Close()); err != nil {
			return nil, err
		}

		if in.reads() && len(about.Unread) > 0 {
			if in.Quote {
				said.assumed = min(len(about.Unread)*expectedPage, llm.MaxText)
			} else if len(said.texts) == 0 {
				err = said.look(ctx, deps, file)
			}
		}

		if err == nil && len(said.texts) == 0 && said.assumed == 0 {
			err = &wire.Error{
				Code:    wire.InvalidRequest,
				Message: "Nothing to extract: the document has no readable text.",
			}
		}

		return said, err
	})
}

// take reads the text of pages.
func (s *saidDocument) take(body schema.Body) error {
	const maximum = 32 << 20 // of JSON, which no text that is short enough has
	if body.Size() <= maximum {
		if err := json.NewDecoder(body.Open()).Decode(&s.MarkdownText); err != nil {
			return fmt.Errorf("text of pages: %w", err)
		}
	}

	var whole strings.Builder
	for i := range s.Pages {
		page := &s.Pages[i]
		if page.Markdown != "" {
			fmt.Fprintf(&whole, "<!-- page %d -->\n\n%s\n\n", page.Page, page.Markdown)
			s.texts[page.Page] = page.Markdown
			page.Markdown = ""
		}
	}

	if s.whole = whole.String(); len(s.whole) > llm.MaxText || body.Size() > maximum {
		return wire.Invalid(
			"pages",
			fmt.Sprintf("have more than %d bytes of text, the limit of the model. Select fewer pages", llm.MaxText),
		)
	}
	return nil
}

// look renders the pages of a document without text.
func (s *saidDocument) look(ctx context.Context, deps *Deps, file render.PDFFile) error {
	if len(s.about.Unread) > llm.MaxImages {
		return wire.Invalid(
			"pages",
			fmt.Sprintf(
				"include %d pages without readable text; the limit is %d. Select fewer pages",
				len(s.about.Unread), llm.MaxImages,
			),
		)
	}

	for _, n := range s.about.Unread {
		drawn, _, err := deps.Render.RasterPages(
			ctx, file, pdf.RasterArgs{Pages: strconv.Itoa(n), JPEG: true, DPI: visionDPI},
		)
		if err != nil {
			return err
		}

		picture, err := io.ReadAll(drawn.Open())
		if err := errors.Join(err, drawn.Close()); err != nil {
			return fmt.Errorf("picture of a page: %w", err)
		}

		s.pictures = append(s.pictures, llm.Image{Page: n, JPEG: picture})
		s.texts[n] = ""
	}

	for i := range s.Pages {
		if _, seen := s.texts[s.Pages[i].Page]; seen {
			s.Pages[i].Source = "vision"
		}
	}

	return nil
}

// strangeValues warns of values that may be invented.
func strangeValues(paths []string) []schema.Warning {
	if len(paths) == 0 {
		return nil
	}
	const maximum = 20
	list := strings.Join(paths[:min(len(paths), maximum)], ", ")
	if len(paths) > maximum {
		list += fmt.Sprintf(" and %d more", len(paths)-maximum)
	}
	return []schema.Warning{
		{Code: "value_not_found", Message: "these values do not appear literally on their pages: " + list},
	}
}
