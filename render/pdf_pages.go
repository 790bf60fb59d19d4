package render

import (
	"context"
	"errors"
	"fmt"
	"html"
	"time"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/spool"
)

// picturesOmitted is the code of the warning that the result lacks some images of a file.
const picturesOmitted = "pictures_omitted"

// OmittedPictures returns the warning that the result contains only the first image of a file.
func OmittedPictures(file string) chrome.Warning {
	return chrome.Warning{
		Code:    picturesOmitted,
		Message: file + " contains several images, such as animation frames or pages; the result has only the first",
	}
}

// PDFFromImages makes a PDF with one page per image. Omitted holds the indices of animated images, from 0; their
// page shows the first frame.
func (e *Engines) PDFFromImages(
	ctx context.Context, pictures []engine.Content, args images.FromImagesArgs,
) (_ *spool.File, omitted []int, err error) {
	var files []engine.File
	for i, image := range pictures {
		name := fmt.Sprintf("image%d", i)
		files = append(files, engine.File{Name: name, Content: image})
		args.Inputs = append(args.Inputs, job.Input{Name: name})
	}

	made, about, err := RunBoth(ctx, e, images.FromImagesJob, args, files...)
	return made, about.Omitted, err
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
	args := pdf.StampArgs{Input: file.Input()}
	files := []engine.File{file.File()}

	var texts []*spool.File
	defer func() {
		for _, text := range texts {
			err = errors.Join(err, text.Close())
		}
	}()

	for i, s := range stamps {
		mark := pdf.Mark{
			Stamp: job.Input{Name: fmt.Sprintf("stamp%d", i)}, Image: s.Image != nil,
			Pages: s.Pages, Position: s.Position, X: s.X, Y: s.Y,
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
	return RunFile(ctx, a, pdf.StampJob, args, files...)
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
		Account: a.id, RenderMode: chrome.ModeRealm, HTML: page, Timeout: stampTimeout, WaitUntil: "load",
	}, chrome.PDF{PreferCSSPageSize: true, Scale: 1, MaxPages: MaxPages, MaxBytes: MaxBytes})
	if err != nil {
		return nil, fmt.Errorf("print the stamp: %w", err)
	}
	return doc.Body, nil
}
