package chrome

import (
	"cmp"
	"context"
	"errors"
	"image"
	_ "image/jpeg" // DecodeConfig reads the size of Chromium's image.
	_ "image/png"
	"math"

	"github.com/go-rod/rod/lib/proto"
	_ "golang.org/x/image/webp" // As above.

	"relaypdf/render/spool"
)

const (
	defaultMaxSide   = 16_384 // the longest side that Chromium's own surfaces can have
	maxWebPSide      = 16_383 // the longest side of a WebP, which has 14 bits for it
	defaultMaxPixels = 100_000_000
	// pngPixelBytes is the memory that a browser process needs per pixel of a PNG: several copies of the pixels,
	// and the file, which is as large if the image cannot be compressed. Other files are small.
	pngPixelBytes = 20
)

// within returns the options with a limit on the pixels of a PNG that follows from the memory limit of a process. A
// larger image would end the process after seconds of work.
func (o Screenshot) within(memory int64) Screenshot {
	if o.Type == "" || o.Type == "png" {
		o.MaxPixels = min(cmp.Or(o.MaxPixels, defaultMaxPixels), int(memory/pngPixelBytes))
	}
	return o
}

// cutToView returns the part of an area that the viewport shows.
func (o Screenshot) cutToView(area Rect) *Rect {
	view := o.Viewport.withDefaults()
	right, bottom := min(area.X+area.Width, float64(view.Width)), min(area.Y+area.Height, float64(view.Height))
	return &Rect{X: area.X, Y: area.Y, Width: max(0, right-area.X), Height: max(0, bottom-area.Y)}
}

func (o Screenshot) normalized() (Screenshot, error) {
	switch o.Type {
	case "":
		o.Type = "png"
	case "png", "jpeg", "webp":
	default:
		return o, errors.New("chrome: unknown image type " + o.Type)
	}
	if o.MaxSide == 0 {
		o.MaxSide = defaultMaxSide
	}
	if o.Type == "webp" {
		o.MaxSide = min(o.MaxSide, maxWebPSide)
	}
	if o.MaxPixels == 0 {
		o.MaxPixels = defaultMaxPixels
	}
	view := o.Viewport.withDefaults()
	return o, o.checkSize(float64(view.Width), float64(view.Height))
}

// checkSize refuses an area, in CSS pixels, that is empty or over the limits.
func (o Screenshot) checkSize(width, height float64) error {
	scale := o.Viewport.withDefaults().Scale
	w, h := math.Ceil(width*scale), math.Ceil(height*scale)
	side := float64(o.MaxSide)
	if w >= 1 && h >= 1 && w <= side && h <= side && w*h <= float64(o.MaxPixels) {
		return nil
	}
	const huge = 1 << 30 // Keeps the conversion to int defined.
	return &SizeError{
		Width: int(min(max(w, 0), huge)), Height: int(min(max(h, 0), huge)),
		MaxSide: o.MaxSide, MaxPixels: o.MaxPixels,
	}
}

// capture photographs the document that a page shows.
func (p *page) capture(ctx context.Context, o Screenshot, dir string) (img Image, err error) {
	params, err := p.captureParams(ctx, o)
	if err != nil {
		return Image{}, err
	}
	body := spool.New(dir, o.MaxBytes)
	defer func() {
		if err != nil {
			err = errors.Join(err, body.Close())
		}
	}()
	err = p.callData(ctx, params, body)
	if errors.Is(err, spool.ErrTooLarge) {
		return Image{}, &LimitError{What: "bytes", Max: o.MaxBytes}
	}
	if err != nil {
		return Image{}, outputFailure(err)
	}
	// Chromium returns nothing if its encoder fails.
	if body.Size() == 0 {
		return Image{}, errTargetCrashed
	}
	size, _, err := image.DecodeConfig(body.Open())
	if err != nil {
		return Image{}, err
	}
	return Image{Body: body, Width: size.Width, Height: size.Height}, nil
}

// elementScript returns the position of the first element of a selector, in whole pixels, or null.
const elementScript = `async selector => {
  const box = document.querySelector(selector)?.getBoundingClientRect();
  if (!box || !(box.width > 0 && box.height > 0)) return null;
  const x = Math.max(0, Math.floor(box.left + scrollX)), y = Math.max(0, Math.floor(box.top + scrollY));
  return {x, y, width: Math.ceil(box.right + scrollX) - x, height: Math.ceil(box.bottom + scrollY) - y};
}`

// element returns the area of the first element of a selector, which has been
// waited for.
func (p *page) element(ctx context.Context, selector string) (*Rect, error) {
	var area *Rect
	if err := p.eval(ctx, elementScript, selector, &area); err != nil {
		return nil, err
	}
	if area == nil || area.Width < 1 || area.Height < 1 {
		return nil, ErrNoElement
	}
	return area, nil
}

// captureParams decides which area is photographed.
func (p *page) captureParams(ctx context.Context, o Screenshot) (proto.PageCaptureScreenshot, error) {
	params := proto.PageCaptureScreenshot{
		Format:                proto.PageCaptureScreenshotFormat(o.Type),
		CaptureBeyondViewport: o.CaptureBeyondViewport || o.FullPage,
	}
	if o.Quality > 0 && o.Type != "png" {
		params.Quality = &o.Quality
	}
	area := o.Clip
	if o.Selector != "" {
		var err error
		if area, err = p.element(ctx, o.Selector); err != nil {
			return params, err
		}
		params.CaptureBeyondViewport = true
	} else if area != nil && !params.CaptureBeyondViewport {
		area = o.cutToView(*area)
	}
	if area == nil && params.CaptureBeyondViewport {
		var metrics proto.PageGetLayoutMetricsResult
		if err := p.call(ctx, proto.PageGetLayoutMetrics{}, &metrics); err != nil {
			return params, err
		}
		area = &Rect{Width: metrics.CSSContentSize.Width, Height: metrics.CSSContentSize.Height}
	}
	if area == nil {
		return params, nil
	}
	if err := o.checkSize(area.Width, area.Height); err != nil {
		return params, err
	}
	params.Clip = &proto.PageViewport{X: area.X, Y: area.Y, Width: area.Width, Height: area.Height, Scale: 1}
	return params, nil
}
