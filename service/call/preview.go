package call

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Previews of a template while a user writes it are free, so they have their own limits.
const (
	// maxPreviewPages is the number of pages rendered for a preview; the others are only counted.
	maxPreviewPages = 10
	// previewYield is the maximum time for which a preview waits to let calls go first.
	previewYield = 2 * time.Second
	// cssDPI is the number of CSS pixels per inch.
	cssDPI     = 96
	minDPI     = 36
	previewRow = "templates.preview"
	// previewLimit begins the message of a refused preview.
	previewLimit = "Preview limit reached"
	browserPool  = "browser"
)

// MaxPreviews is the maximum number of previews per account and day.
const MaxPreviews = 2000

var (
	previewWindow = ratelimit.Window{Name: "previews", Limit: MaxPreviews, Length: 24 * time.Hour}
	// filledWindow limits requests that need no browser.
	filledWindow = ratelimit.Window{Name: "fillings", Limit: 5 * MaxPreviews, Length: 24 * time.Hour}
)

// PreviewRequest asks for a look at a template.
type PreviewRequest struct {
	Caller Caller
	// Input is the input of templates.preview, as JSON.
	Input []byte
	// Scale is the number of pixels for one CSS pixel; at most 2.
	Scale float64
	// Pages is the maximum number of rendered pages; 0 means MaxPreviewPages.
	Pages int
	// Partials replaces the account's partials, for the content of a version; nil means those of the account.
	Partials map[string]string
	// View selects the output: images of the pages, the HTML, or the places of its elements.
	View operation.View
}

// Preview is the preview of a template.
type Preview struct {
	// HTML is the filled template, for operation.Filled only; Places are the positions of its elements, for
	// operation.Placed.
	HTML   string
	Places []render.ElementPosition
	// Warnings name what prevents PDF/UA-1, for operation.Accessible only.
	Warnings  []wire.Warning
	Pages     int      // that the document has
	Images    [][]byte // the first of them, as PNG
	Took      time.Duration
	Remaining int // previews that the account may have today
}

// Preview fills and prints a template as templates.preview does, and draws its
// pages. Nothing is held, charged or written down.
func (r *Runner) Preview(ctx context.Context, request PreviewRequest) (Preview, error) {
	r.running.Add(1)
	defer r.running.Done()

	window := previewWindow
	if request.View == operation.Filled {
		window = filledWindow
	}
	verdict, err := r.limiter.Take(ctx, r.LimitKey(window.Name, request.Caller.Account.ID), window)
	if err != nil || !verdict.Allowed {
		return Preview{}, overPreviews(verdict, err)
	}

	ctx, cancel := context.WithTimeout(ctx, r.drawTime)
	defer cancel()
	made, err := r.preview(ctx, request)
	for _, state := range verdict.States {
		made.Remaining = state.Remaining
	}
	return made, err
}

func overPreviews(verdict ratelimit.Verdict, err error) error {
	if err != nil {
		return err
	}
	return &wire.Error{
		Code: wire.RateLimited, RetryAfter: wire.Seconds(verdict.RetryAfter), Cause: &RateError{verdict},
		Message: exceeded(previewLimit, verdict, "previews") +
			" The template is saved, and POST /v1/templates/preview still works.",
	}
}

func (r *Runner) preview(ctx context.Context, request PreviewRequest) (made Preview, err error) {
	bound, env, err := r.bindPreview(ctx, request)
	if err != nil {
		return made, err
	}
	defer r.Free(ctx, bound)
	if err := bound.Pin(ctx, env); err != nil {
		return made, err
	}

	if request.View == operation.Filled {
		filled, err := bound.Run(ctx, env)
		made.HTML, _ = filled.JSON.(string)
		return made, err
	}

	renderer, leave, err := r.previews.enter(ctx, request.Caller.Account.ID)
	if err != nil {
		return made, err
	}
	defer leave()
	env.Render = renderer

	began := time.Now()
	result, err := bound.Run(ctx, env)
	if err != nil {
		return made, err
	}
	defer r.Free(ctx, result.Body)
	made.Pages = result.Pages
	if request.View == operation.Accessible {
		made.Warnings = append([]wire.Warning{}, result.Warnings...)
	}

	maxPages := request.Pages
	if maxPages <= 0 || maxPages > maxPreviewPages {
		maxPages = maxPreviewPages
	}
	if request.View == operation.Placed {
		made.Places, err = render.ElementPositions(result.Body, maxPages)
	} else {
		made.Images, err = drawPages(ctx, env.Render, result, min(maxPages, made.Pages), request.Scale)
	}

	made.Took = time.Since(began)
	return made, err
}

// bindPreview binds the input of a preview, and returns what it runs with.
func (r *Runner) bindPreview(ctx context.Context, request PreviewRequest) (*operation.Call, *operation.Deps, error) {
	row := r.table.Lookup(previewRow)
	if row == nil || r.render == nil {
		return nil, nil, &wire.Error{
			Code: wire.ConvertUnavailable, RetryAfter: WithoutRenderer,
			Message: "Previews are unavailable on this server. Retry in 5 seconds.",
		}
	}

	files := r.files
	files.Share = r.inputs.Share(request.Caller.Account.ID)
	bound, err := row.Bind(ctx, bytes.NewReader(request.Input), files)
	if err != nil {
		return nil, nil, err
	}

	c := &paidCall{Runner: r, Request: Request{Operation: row, Caller: request.Caller}}
	env := c.env()
	if env.View = request.View; request.Partials != nil {
		env.Templates = ownPartials{env.Templates, request.Partials}
	}
	return bound, env, nil
}

// drawPages draws the first pages of a document.
func drawPages(
	ctx context.Context, account *render.Account, doc schema.Result, pages int, scale float64,
) (_ [][]byte, err error) {
	dpi := int(cssDPI * min(max(scale, minDPI/float64(cssDPI)), 2))
	image, archive, err := account.RasterPages(ctx, render.PDFFile{Content: doc.Body}, pdf.RasterArgs{
		Pages: fmt.Sprintf("1-%d", pages), DPI: dpi,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, image.Close()) }()

	if !archive {
		data, err := io.ReadAll(image.Open())
		return [][]byte{data}, err
	}

	files, err := zip.NewReader(image, image.Size())
	if err != nil {
		return nil, err
	}

	var images [][]byte
	for _, f := range files.File {
		page, err := readZipped(f)
		if err != nil {
			return nil, err
		}
		images = append(images, page)
	}
	return images, nil
}

func readZipped(f *zip.File) ([]byte, error) {
	page, err := f.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(page)
	return data, errors.Join(err, page.Close())
}

// MarshalJSON writes the fields that the editor reads: places, or images as Base64 with the warnings.
func (p Preview) MarshalJSON() ([]byte, error) {
	if p.Images == nil {
		return json.Marshal(map[string]any{"places": append([]render.ElementPosition{}, p.Places...), "left": p.Remaining})
	}

	fields := map[string]any{
		"pages": p.Pages, "images": p.Images, "milliseconds": p.Took.Milliseconds(), "left": p.Remaining,
	}
	if p.Warnings != nil {
		fields["warnings"] = p.Warnings
	}

	return json.Marshal(fields)
}

// previewLine lets few previews run at once, and keeps them from slowing calls: who
// types is not who pays.
type previewLine struct {
	render *render.Renderer
	stats  func() render.Stats
	slots  chan struct{}
}

func newPreviewLine(renderer *render.Renderer, stats func() render.Stats) *previewLine {
	l := &previewLine{render: renderer, stats: stats}
	l.slots = make(chan struct{}, max(1, l.browser().Slots/2))
	return l
}

// browser is the state of the pool that calls wait for.
func (l *previewLine) browser() render.Pool {
	for _, pool := range l.stats().Pools {
		if pool.Name == browserPool {
			return pool
		}
	}
	return render.Pool{}
}

// enter returns a renderer for a preview of an account. Few previews run at once, and without a browser of their own
// they wait behind queued calls. The caller must call leave.
func (l *previewLine) enter(ctx context.Context, account string) (a *render.Account, leave func(), err error) {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}

	leave = func() { <-l.slots }
	a, apart := l.render.Background(account)
	if apart {
		return a, leave, nil
	}

	for until := time.Now().Add(previewYield); l.browser().Waiting > 0 && time.Now().Before(until); {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			leave()
			return nil, nil, ctx.Err()
		}
	}

	return a, leave, nil
}
