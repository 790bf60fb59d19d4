package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"time"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// Raster holds the settings for rendering pages as images.
type Raster struct {
	Pages string // in the grammar of CheckPageRanges; empty is all
	JPEG  bool   // or else PNG
	DPI   int    // pixels per inch
	// TestMark draws the test mark on the pages.
	TestMark bool
}

// RasterPages renders pages of a PDF. It returns one image and false, or a ZIP archive of several images and true.
func (t *Tools) RasterPages(ctx context.Context, file PDFFile, how Raster) (_ *spool.File, archive bool, err error) {
	files, input := file.input()
	args := pdf.RasterArgs{Input: input, Pages: how.Pages, JPEG: how.JPEG, DPI: how.DPI, TestMark: how.TestMark}
	result, err := t.runTool(ctx, engine.Job{Name: pdf.RasterJob, Args: args, Files: files})
	if err != nil {
		return nil, false, err
	}
	var made pdf.RasterResult
	if err := json.Unmarshal(result.Body, &made); err != nil {
		return nil, false, errors.Join(err, result.Close())
	}
	return result.Output(0), made.Images > 1, nil
}

// ImagePages holds the settings of pages made of images.
type ImagePages struct {
	// Width and Height are in points. Zero means the size of each image.
	Width, Height float64
	Margin        pdf.Margin
	// Fit is contain (when empty), cover, fill or none, as in CSS.
	Fit string
}

// PicturesOmitted is the code of the warning that the result lacks some images of a file.
const PicturesOmitted = "pictures_omitted"

// OmittedPictures returns the warning that the result contains only the first image of a file.
func OmittedPictures(file string) chrome.Warning {
	return chrome.Warning{Code: PicturesOmitted, Message: file + " contains several images, such as animation frames or pages; the result has only the first"}
}

// PDFFromImages makes a PDF with one page per image. Omitted holds the indices of animated images, from 0; their
// page shows the first frame.
func (t *Tools) PDFFromImages(ctx context.Context, images []engine.Content, pages ImagePages) (_ *spool.File, omitted []int, err error) {
	args := pdf.FromImagesArgs{Width: pages.Width, Height: pages.Height, Margin: pages.Margin, Fit: pdf.Fit(pages.Fit)}
	job := engine.Job{Name: pdf.FromImagesJob}
	for i, image := range images {
		name := fmt.Sprintf("image%d", i)
		job.Files = append(job.Files, engine.File{Name: name, Content: image})
		args.Inputs = append(args.Inputs, pdf.Input{Name: name})
	}
	job.Args = args
	result, err := t.runTool(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	var made pdf.MadeOfImages
	if err := json.Unmarshal(result.Body, &made); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", pdf.FromImagesJob, err), result.Close())
	}
	return result.Output(0), made.Omitted, nil
}

// Stamp is a text or an image to draw on pages. Exactly one of Text and Image is set.
type Stamp struct {
	Text string
	Bold bool
	// FontSize is in points. Color is a CSS colour that the caller has checked.
	FontSize float64
	Color    string
	Image    engine.Content

	Pages string // in the grammar of CheckPageRanges; empty is all
	// Position is center, top, bottom, top-left, top-right, bottom-left or bottom-right. If it is nil, X and Y are
	// in points from the top left of the page as it is shown.
	Position *string
	X, Y     float64
	Opacity  float64 // 0 to 1
	Rotate   float64 // counter-clockwise in degrees
	Scale    float64
	Below    bool
	Tiled    bool // repeated over the whole page; Position is ignored
}

// StampPDF draws texts and images on pages of a PDF, in order. The browser prints a text first, because it supports
// every script and direction of writing.
func (a *Account) StampPDF(ctx context.Context, file PDFFile, stamps []Stamp) (_ *spool.File, err error) {
	files, input := file.input()
	args := pdf.StampArgs{Input: input}
	var texts []*spool.File
	defer func() {
		for _, text := range texts {
			err = errors.Join(err, text.Close())
		}
	}()
	for i, s := range stamps {
		mark := pdf.Mark{
			Stamp: pdf.Input{Name: fmt.Sprintf("stamp%d", i)}, Image: s.Image != nil, Pages: s.Pages, Position: s.Position, X: s.X, Y: s.Y,
			Opacity: s.Opacity, Rotate: s.Rotate, Scale: s.Scale, Below: s.Below, Tiled: s.Tiled,
		}
		content := s.Image
		if content == nil {
			printed, printErr := a.printStamp(ctx, s)
			if printErr != nil {
				return nil, printErr
			}
			texts = append(texts, printed)
			content = printed
			mark.Scale *= s.FontSize / stampPoints
		}
		files = append(files, engine.File{Name: mark.Stamp.Name, Content: content})
		args.Marks = append(args.Marks, mark)
	}
	return a.runPDF(ctx, engine.Job{Name: pdf.StampJob, Args: args, Files: files})
}

// The size of a stamp's letters as they are printed. They are outlines, so the stamp is enlarged without loss.
// Small letters keep a long text within the maximum page size.
const (
	stampPixels  = 16
	stampPoints  = stampPixels * 0.75
	stampTimeout = 30 * time.Second
)

// stampPage is a page as large as its text. The text has padding for accents above the line and swashes next to it.
// Colours are exact, because the browser prints light ones darker otherwise.
const stampPage = `<!DOCTYPE html>
<meta charset="utf-8">
<title>Stamp</title>
<style>
* { margin: 0; padding: 0; print-color-adjust: exact }
html, body { background: none }
div { position: absolute; top: 0; left: 0; white-space: pre; unicode-bidi: plaintext;
	font: %s %dpx "Liberation Sans", "Noto Sans", "Noto Sans CJK SC", sans-serif; color: %s }
</style>
<div>%s</div>
<script>
const box = document.querySelector("div").getBoundingClientRect(), style = document.createElement("style");
style.textContent = "@page { margin: 0; size: " + Math.max(4, Math.ceil(box.width)) + "px " + Math.max(4, Math.ceil(box.height)) + "px }";
document.head.append(style);
</script>
`

// printStamp prints the text of a stamp on a page of the text's size.
func (a *Account) printStamp(ctx context.Context, s Stamp) (*spool.File, error) {
	weight := "normal"
	if s.Bold {
		weight = "bold"
	}
	page := fmt.Sprintf(stampPage, weight, stampPixels, html.EscapeString(s.Color), html.EscapeString(s.Text))
	doc, err := a.render.browser.PDF(ctx, chrome.Job{
		Account: a.id, Lane: chrome.Realm, HTML: page, Timeout: stampTimeout, WaitUntil: "load",
	}, chrome.PDF{PreferCSSPageSize: true, Scale: 1, MaxPages: MaxPages, MaxBytes: MaxBytes})
	if err != nil {
		return nil, fmt.Errorf("print the stamp: %w", err)
	}
	return doc.Body, nil
}

// PDFText reads the text of a PDF. The result is JSON. With merge, it is an object of pageCount and text, with form
// feeds between pages; otherwise it is an object of pageCount and pages, each an object of page and text.
func (t *Tools) PDFText(ctx context.Context, file PDFFile, merge bool) (*spool.File, error) {
	files, input := file.input()
	return t.runPDF(ctx, engine.Job{Name: pdf.TextJob, Args: pdf.TextArgs{Input: input, Merge: merge}, Files: files})
}

// PDFFormFields lists the fields of a PDF's form. The list is empty if the PDF has no form.
func (t *Tools) PDFFormFields(ctx context.Context, file PDFFile) (pdf.Form, error) {
	var form pdf.Form
	files, input := file.input()
	result, err := t.runTool(ctx, engine.Job{Name: pdf.FormFieldsJob, Args: pdf.FormFieldsArgs{Input: input}, Files: files})
	if err != nil {
		return form, err
	}
	err = errors.Join(json.Unmarshal(result.Body, &form), result.Close())
	return form, err
}

// FormError holds the reasons why values do not fit a form, by field name. Each text continues a sentence that
// begins with the field's name. The entry of an empty name concerns the whole form.
type FormError struct{ Faults map[string]string }

func (e *FormError) Error() string { return fmt.Sprintf("values do not fit the form: %v", e.Faults) }

// FillPDFForm fills the form of a PDF. Values are keyed by field name and have the types of decoded JSON; nil
// clears a field. Flatten draws them on the pages and removes the form. The error is a *FormError if values do not
// fit.
func (t *Tools) FillPDFForm(ctx context.Context, file PDFFile, values map[string]any, flatten bool) (*spool.File, error) {
	files, input := file.input()
	args := pdf.FormFillArgs{Input: input, Values: values, Flatten: flatten}
	result, err := t.runTool(ctx, engine.Job{Name: pdf.FormFillJob, Args: args, Files: files})
	if err != nil {
		return nil, err
	}
	var faults pdf.FormFaults
	if err := json.Unmarshal(result.Body, &faults); err != nil {
		return nil, errors.Join(err, result.Close())
	}
	if len(faults) > 0 {
		return nil, errors.Join(&FormError{Faults: faults}, result.Close())
	}
	return result.Output(0), nil
}
