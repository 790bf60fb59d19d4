package call

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"relaypdf/api/apierror"
	"relaypdf/api/operation"
	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/render/pdf"
)

// MaxComparedImages is the number of pages whose differences are drawn.
const MaxComparedImages = 50

// comparedThreshold is the colour difference up to which pixels of previews are equal.
const comparedThreshold = 0.02

// PreviewComparison holds the differences between the pages of two states of a template.
type PreviewComparison struct {
	Pages []PreviewPage
}

// PreviewPage is a page of the old state and the page of the new one that it is matched with.
type PreviewPage struct {
	Status   string // equal, changed, added or removed
	Old, New int    // numbers of the pages; 0 is none
	// Image shows both pages side by side with their differences, as PNG. Equal pages have none.
	Image []byte
}

// ComparePreviews renders two states of a template and compares their pages, at no charge. It counts as two previews.
func (p *Pipeline) ComparePreviews(ctx context.Context, old, latest PreviewRequest) (made PreviewComparison, err error) {
	p.running.Add(1)
	defer p.running.Done()
	account := old.Caller.Account.ID
	for range 2 {
		verdict, err := p.limiter.Take(ctx, p.LimitKey(previewWindow.Name, account), previewWindow)
		if err != nil || !verdict.Allowed {
			return made, overPreviews(verdict, err)
		}
	}
	if p.render == nil {
		return made, &apierror.Error{Code: apierror.ConvertUnavailable, RetryAfter: WithoutRenderer, Message: "Previews are unavailable on this server. Retry in 5 seconds."}
	}
	ctx, cancel := context.WithTimeout(ctx, p.drawTime)
	defer cancel()
	renderer, leave, err := p.previews.enter(ctx, account)
	if err != nil {
		return made, err
	}
	defer leave()
	before, err := p.printPreview(ctx, old, renderer)
	if err != nil {
		return made, err
	}
	defer p.Free(ctx, before.Body)
	after, err := p.printPreview(ctx, latest, renderer)
	if err != nil {
		return made, err
	}
	defer p.Free(ctx, after.Body)
	archive, err := renderer.ComparePDFs(ctx, render.PDFFile{Content: before.Body}, render.PDFFile{Content: after.Body},
		render.PDFComparison{Threshold: comparedThreshold, Output: pdf.ComparedImages})
	if err != nil {
		return made, err
	}
	content, err := io.ReadAll(archive.Open())
	if err := errors.Join(err, archive.Close()); err != nil {
		return made, err
	}
	return readComparison(content)
}

// printPreview prints one state of a template.
func (p *Pipeline) printPreview(ctx context.Context, request PreviewRequest, renderer *render.Account) (schema.Result, error) {
	files := p.files
	files.Share = p.inputs.Share(request.Caller.Account.ID)
	bound, err := p.table.Lookup(previewRow).Bind(ctx, bytes.NewReader(request.Input), files)
	if err != nil {
		return schema.Result{}, err
	}
	defer p.Free(ctx, bound)
	c := &paidCall{Pipeline: p, Request: Request{Operation: p.table.Lookup(previewRow), Caller: request.Caller}}
	env := c.env()
	if env.Render = renderer; request.Partials != nil {
		env.Templates = ownPartials{env.Templates, request.Partials}
	}
	return bound.Run(ctx, env)
}

// ownPartials are the templates of an account with the partials of a version.
type ownPartials struct {
	operation.Templates

	partials map[string]string
}

// Partials returns the partials of the version.
func (t ownPartials) Partials(context.Context) (map[string]string, error) { return t.partials, nil }

// readComparison reads the archive of a comparison: an image for each page that differs, in order, and the report.
func readComparison(archive []byte) (made PreviewComparison, err error) {
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return made, err
	}
	images := files.File[:max(0, len(files.File)-1)]
	text, err := readZipped(files.File[len(images)])
	if err != nil {
		return made, err
	}
	var report pdf.Comparison
	if err := json.Unmarshal(text, &report); err != nil {
		return made, err
	}
	for _, found := range report.Pages {
		page := PreviewPage{Status: found.Status}
		if found.OldPage != nil {
			page.Old = *found.OldPage
		}
		if found.NewPage != nil {
			page.New = *found.NewPage
		}
		if found.Status != "equal" && len(images) > 0 {
			if len(files.File)-len(images) <= MaxComparedImages {
				if page.Image, err = readZipped(images[0]); err != nil {
					return made, err
				}
			}
			images = images[1:]
		}
		made.Pages = append(made.Pages, page)
	}
	return made, nil
}
