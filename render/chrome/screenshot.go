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

	"github.com/relaypdf/relaypdf/render/spool"
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
	right := min(area.X+area.Width, float64(view.Width))
	bottom := min(area.Y+area.Height, float64(view.Height))
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
	w := math.Ceil(width * scale)
	h := math.Ceil(height * scale)

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
func (t *tab) capture(ctx context.Context, o Screenshot, dir string) (img Image, err error) {
	params, err := t.captureParams(ctx, o)
	if err != nil {
		return Image{}, err
	}

	body := spool.New(dir, o.MaxBytes)
	defer func() {
		if err != nil {
			err = errors.Join(err, body.Close())
		}
	}()

	err = t.callData(ctx, params, body)
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

// elementScript returns the position of the first element of a selector, in whole pixels, or null. If other elements
// cut it, they are scrolled, or show all of their content.
const elementScript = `async selector => {
  const e = document.querySelector(selector);
  if (!e) return null;
  const up = e => e.assignedSlot || e.parentElement || e.getRootNode().host;
  const html = document.documentElement;
  const cutting = () => {
    const found = [], r = e.getBoundingClientRect();
    for (let p = up(e), fixed = getComputedStyle(e).position; p && p !== html; p = up(p)) {
      const s = getComputedStyle(p);
      if (fixed === 'fixed' || fixed === 'absolute' && s.position === 'static') continue;
      fixed = s.position;
      const contained = /paint|strict|content/.test(s.contain);
      const x = contained || s.overflowX !== 'visible', y = contained || s.overflowY !== 'visible';
      const propagates = p === document.body
          && getComputedStyle(html).overflowX === 'visible' && getComputedStyle(html).overflowY === 'visible';
      if (propagates || !x && !y) continue;
      const c = p.getBoundingClientRect(), left = c.left + p.clientLeft, top = c.top + p.clientTop;
      const wide = x && (r.left < left - 1 || r.right > left + p.clientWidth + 1),
          high = y && (r.top < top - 1 || r.bottom > top + p.clientHeight + 1);
      if (wide || high) found.push({p, wide, high, fits: r.width <= p.clientWidth && r.height <= p.clientHeight});
    }
    return found;
  };
  let cut = cutting();
  if (cut.length && cut.every(c => c.fits)) {
    const x = scrollX, y = scrollY;
    e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    scrollTo({left: x, top: y, behavior: 'instant'});
    cut = cutting();
  }
  for (let n = 0; cut.length && n < 20; n++) {
    for (const {p, wide, high} of cut) {
      const set = {overflow: 'visible', contain: 'none'};
      if (high) Object.assign(set, {height: 'auto', 'max-height': 'none', 'min-height': 'auto'});
      if (wide) Object.assign(set, {'max-width': 'none', 'min-width': 'auto'});
      for (const name in set) p.style.setProperty(name, set[name], 'important');
    }
    cut = cutting();
  }
  let box = e.getBoundingClientRect(), moved = 0;
  // Chromium captures nothing to the left of the window, where right-to-left content goes.
  if (box.left + scrollX < 0 && getComputedStyle(up(e) || e).direction === 'rtl') {
    const set = (e, name, value) => e.style.setProperty(name, value, 'important');
    let by = Math.ceil(-(box.left + scrollX));
    if (getComputedStyle(html).direction === 'rtl') {
      by = html.scrollWidth - innerWidth;
      set(document.body, 'direction', getComputedStyle(document.body).direction);
      set(html, 'width', html.clientWidth + 'px');
      set(html, 'direction', 'ltr');
    }
    set(html, 'margin-left', parseFloat(getComputedStyle(html).marginLeft) + by + 'px');
    // The scroll position of a document whose direction changed is only known in the next frame.
    moved = parseFloat(getComputedStyle(html).marginLeft) - html.getBoundingClientRect().left - scrollX;
    box = e.getBoundingClientRect();
  }
  if (!(box.width > 0 && box.height > 0)) return null;
  const left = box.left + scrollX + moved,
      x = Math.max(0, Math.floor(left)),
      y = Math.max(0, Math.floor(box.top + scrollY));
  return {x, y, width: Math.ceil(left + box.width) - x,
      height: Math.ceil(box.bottom + scrollY) - y, cut: cut.length > 0};
}`

// element returns the area of the first element of a selector, which has been
// waited for.
func (t *tab) element(ctx context.Context, selector string) (*Rect, error) {
	var found *struct {
		Rect
		Cut bool
	}
	if err := t.eval(ctx, elementScript, selector, &found); err != nil {
		return nil, err
	}
	if found == nil || found.Width < 1 || found.Height < 1 {
		return nil, ErrNoElement
	}

	if found.Cut {
		warnf(t, ContentClipped, "%s is cut off by an element around it. "+
			"Set overflow: visible and height: auto on that element", cut(selector, maxNameText))
	}
	return &found.Rect, nil
}

// leftScript returns by how much a right-to-left document extends beyond the left edge of the window.
const leftScript = `() => {
  const root = document.scrollingElement || document.documentElement;
  return getComputedStyle(document.documentElement).direction === 'rtl'
      ? Math.max(0, root.scrollWidth - innerWidth) : 0;
}`

// toRight moves a document that extends beyond the left edge of the window to the right: Chromium captures nothing
// there. Other documents than right-to-left ones may have right-to-left parts that do. It returns by how much.
func (t *tab) toRight(ctx context.Context) (beyond float64, err error) {
	if err := t.eval(ctx, leftScript, nil, &beyond); err != nil {
		return 0, ignoreStale(ctx, err)
	}

	args := shiftArgs{By: beyond, Turned: true, Fixed: true}
	if beyond == 0 {
		const everything = 1e6 // CSS pixels: nothing is cut off at the right
		var seen clipped
		err := t.eval(ctx, clipScript, clipArgs{Limit: everything, Scale: 1, Image: true}, &seen)
		if err != nil || seen.Shift == nil {
			return 0, ignoreStale(ctx, err)
		}
		args.By = -float64(seen.Shift.At)
		args.Turned = false
	}

	err = t.eval(ctx, shiftScript, args, nil)
	return args.By, ignoreStale(ctx, err)
}

// warnOutside warns of a part of a clip that is not on the page: it is empty, or left out of the image.
func (t *tab) warnOutside(clip, page Rect, name string) {
	if clip.X >= page.X && clip.Y >= page.Y &&
		clip.X+clip.Width <= page.X+page.Width && clip.Y+clip.Height <= page.Y+page.Height {
		return
	}
	warnf(t, ContentClipped, "clip covers %g to %g px by %g to %g px, "+
		"and the %s only %g to %g px by %g to %g px. Move the clip, or use a larger viewport",
		clip.X, clip.X+clip.Width, clip.Y, clip.Y+clip.Height, name,
		page.X, page.X+page.Width, page.Y, page.Y+page.Height)
}

// captureParams decides which area is photographed.
func (t *tab) captureParams(ctx context.Context, o Screenshot) (proto.PageCaptureScreenshot, error) {
	params := proto.PageCaptureScreenshot{
		Format:                proto.PageCaptureScreenshotFormat(o.Type),
		CaptureBeyondViewport: o.CaptureBeyondViewport || o.FullPage,
	}
	if o.Quality > 0 && o.Type != "png" {
		params.Quality = &o.Quality
	}

	area, err := t.area(ctx, o)
	if err != nil {
		return params, err
	}
	if o.Selector != "" {
		params.CaptureBeyondViewport = true
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

// area returns the area that is photographed; nil is the window.
func (t *tab) area(ctx context.Context, o Screenshot) (*Rect, error) {
	beyond := o.CaptureBeyondViewport || o.FullPage || o.Selector != ""
	view := o.Viewport.withDefaults()
	switch {
	case o.Clip != nil && !beyond:
		t.warnOutside(*o.Clip, Rect{Width: float64(view.Width), Height: float64(view.Height)}, "viewport")
		return o.cutToView(*o.Clip), nil
	case !beyond:
		return nil, nil // the window
	}

	if o.Selector != "" {
		return t.element(ctx, o.Selector)
	}

	left, err := t.toRight(ctx)
	if err != nil {
		return nil, err
	}

	var metrics proto.PageGetLayoutMetricsResult
	if err := t.call(ctx, proto.PageGetLayoutMetrics{}, &metrics); err != nil {
		return nil, err
	}
	page := Rect{Width: metrics.CSSContentSize.Width, Height: metrics.CSSContentSize.Height}
	if o.Clip == nil {
		return &page, nil
	}

	page.X -= left
	t.warnOutside(*o.Clip, page, "page")
	clip := *o.Clip
	clip.X += left
	return &clip, nil
}
