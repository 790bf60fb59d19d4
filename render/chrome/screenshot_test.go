package chrome

import (
	"bytes"
	"errors"
	"image"
	"io"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

func TestScreenshotTypes(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	magic := map[string]string{"png": "\x89PNG", "jpeg": "\xff\xd8\xff", "webp": "RIFF", "": "\x89PNG"}
	for _, mode := range modes {
		for kind, want := range magic {
			img, err := p.Screenshot(t.Context(), Job{Account: "a", RenderMode: mode, HTML: "<h1>x"}, Screenshot{Type: kind, Quality: 50})
			if err != nil {
				t.Fatal(mode, kind, err)
			}
			head := make([]byte, len(want))
			if _, err := io.ReadFull(img.Body.Open(), head); err != nil || string(head) != want {
				t.Errorf("%s mode, type %q: starts with %q", mode, kind, head)
			}
			if img.Width != 800 || img.Height != 600 {
				t.Errorf("%s mode, type %q: %d × %d, want 800 × 600", mode, kind, img.Width, img.Height)
			}
			img.Body.Close()
		}
	}
}

func TestScreenshotSizes(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	const html = `<body style="margin:0;height:2000px;width:1000px;background:linear-gradient(#f00 500px,#00f 500px)">`
	cases := map[string]struct {
		opt  Screenshot
		want image.Point
	}{
		"viewport":        {Screenshot{Viewport: Viewport{Width: 400, Height: 300}}, image.Pt(400, 300)},
		"scale":           {Screenshot{Viewport: Viewport{Width: 400, Height: 300, Scale: 2}}, image.Pt(800, 600)},
		"default again":   {Screenshot{}, image.Pt(800, 600)},
		"full page":       {Screenshot{FullPage: true}, image.Pt(1000, 2000)},
		"full page scale": {Screenshot{FullPage: true, Viewport: Viewport{Width: 1200, Height: 300, Scale: 1.5}}, image.Pt(1800, 3000)},
		"beyond":          {Screenshot{CaptureBeyondViewport: true}, image.Pt(1000, 2000)},
		"clip":            {Screenshot{Clip: &Rect{X: 10, Y: 450, Width: 50, Height: 100}}, image.Pt(50, 100)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: html}, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			pic := pixels(t, img)
			if got := pic.Bounds().Size(); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			if c.opt.Clip != nil {
				if top, bottom := colorAt(pic, 5, 49), colorAt(pic, 5, 51); top != "ff0000ff" || bottom != "0000ffff" {
					t.Errorf("clip shows %s above %s, want red above blue", top, bottom)
				}
			}
		})
	}
}

func TestScreenshotClipBelowTheViewport(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	opt := Screenshot{CaptureBeyondViewport: true, Clip: &Rect{Y: 1500, Width: 20, Height: 20}}
	img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: `<body style="margin:0;height:2000px;background:#0f0">`}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if got := colorAt(pixels(t, img), 10, 10); got != "00ff00ff" {
		t.Errorf("the clipped area is %s, want green", got)
	}
}

func TestScreenshotRefusesImpossibleSizes(t *testing.T) {
	p := startPool(t, nil)
	tall := `<body style="margin:0;height:20000px">`
	cases := map[string]struct {
		html string
		opt  Screenshot
	}{
		"viewport":     {"x", Screenshot{Viewport: Viewport{Width: 20000, Height: 10}}},
		"scaled":       {"x", Screenshot{Viewport: Viewport{Width: 9000, Height: 10, Scale: 2}}},
		"pixels":       {"x", Screenshot{Viewport: Viewport{Width: 16000, Height: 16000}}},
		"full page":    {tall, Screenshot{FullPage: true}},
		"clip":         {"x", Screenshot{Clip: &Rect{Width: 17000, Height: 5}, CaptureBeyondViewport: true}},
		"empty clip":   {"x", Screenshot{Clip: &Rect{Width: 0, Height: 5}}},
		"minus clip":   {"x", Screenshot{Clip: &Rect{Width: -4, Height: 5}}},
		"own max side": {"x", Screenshot{MaxSide: 799}},
		// A WebP has at most 16,383 pixels a side.
		"webp viewport":  {"x", Screenshot{Type: "webp", Viewport: Viewport{Width: 16384, Height: 10}}},
		"webp clip":      {"x", Screenshot{Type: "webp", Clip: &Rect{Width: 16384, Height: 5}, CaptureBeyondViewport: true}},
		"webp full page": {`<body style="margin:0;height:16384px">`, Screenshot{Type: "webp", FullPage: true}},
		"webp selector":  {`<body style="margin:0;height:16384px">`, Screenshot{Type: "webp", Selector: "body"}},
		"webp scaled":    {`<body style="margin:0;height:8191.5px">`, Screenshot{Type: "webp", FullPage: true, Viewport: Viewport{Width: 100, Height: 100, Scale: 2}}},
	}
	for name, c := range cases {
		_, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: c.html}, c.opt)
		var size *SizeError
		if !errors.As(err, &size) {
			t.Errorf("%s: %v, want a SizeError", name, err)
		}
	}
	img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: `<body style="margin:0;height:16383px">`}, Screenshot{Type: "webp", FullPage: true, Viewport: Viewport{Width: 10, Height: 10}})
	if err != nil || img.Height != 16383 {
		t.Errorf("the largest WebP: %d pixels high, %v", img.Height, err)
	} else {
		img.Body.Close()
	}
	_, err = p.Screenshot(t.Context(), Job{Account: "a", HTML: "x"}, Screenshot{MaxBytes: 10})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("10 bytes at most: %v, want ErrTooLarge", err)
	}
}

// TestPNGsFitTheMemory has PNGs refused that a process could not hold, before
// anything is done for them; files that are small need less.
func TestPNGsFitTheMemory(t *testing.T) {
	p := startPool(t, func(c *Config) { c.RendererBytes = 256 << 20 })
	const maximum = 256 << 20 / pngPixelBytes
	tall := Job{Account: "a", HTML: `<body style="margin:0;height:3500px">tall`}
	large := Screenshot{FullPage: true, Viewport: Viewport{Width: 4000, Height: 800}}
	for _, opt := range []Screenshot{large, {Viewport: Viewport{Width: 4000, Height: 3500}}, {Type: "png", Viewport: Viewport{Width: 2000, Height: 1750, Scale: 2}}} {
		_, err := p.Screenshot(t.Context(), tall, opt)
		var size *SizeError
		if !errors.As(err, &size) || size.Width != 4000 || size.Height != 3500 || size.MaxPixels != maximum {
			t.Errorf("%+v: got %v, want a SizeError that says %d pixels", opt, err, maximum)
		}
	}
	large.Type = "jpeg"
	img, err := p.Screenshot(t.Context(), tall, large)
	if err != nil {
		t.Fatal(err)
	}
	if got := pixels(t, img).Bounds().Size(); got != image.Pt(4000, 3500) {
		t.Errorf("as JPEG: %v", got)
	}
}

// One job's emulation does not reach the next job on the same page.
func TestEmulationDoesNotReachTheNextJob(t *testing.T) {
	p := startPool(t, nil)
	const html = `<style>body{background:#0f0} @media print{body{background:#f00}} @media (max-width:500px){body{background:#00f}}</style>`
	shoot := func(mode RenderMode, html, media string, opt Screenshot) []byte {
		t.Helper()
		img, err := p.Screenshot(t.Context(), Job{Account: "a", RenderMode: mode, HTML: html, Media: media}, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer img.Body.Close()
		data, err := io.ReadAll(img.Body.Open())
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, mode := range []RenderMode{ModeInline, ModeRealm} {
		clean := shoot(mode, html, "", Screenshot{})
		changed := map[string]func() []byte{
			"media": func() []byte { return shoot(mode, html, "print", Screenshot{}) },
			"viewport": func() []byte {
				return shoot(mode, html, "", Screenshot{Viewport: Viewport{Width: 300, Height: 200, Scale: 2}})
			},
			"transparent": func() []byte { return shoot(mode, "<p>x", "", Screenshot{OmitBackground: true}) },
			"full page":   func() []byte { return shoot(mode, `<body style="height:3000px">`, "", Screenshot{FullPage: true}) },
			"scrolled": func() []byte {
				return shoot(mode, `<body style="height:3000px"><p autofocus tabindex=1 style="margin-top:2500px">`, "", Screenshot{})
			},
			"a pdf": func() []byte {
				return []byte(textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: html, Media: "screen"}))
			},
		}
		for what, do := range changed {
			if bytes.Equal(do(), clean) {
				t.Errorf("%s mode, %s: the changed picture is like the clean one, so this proves nothing", mode, what)
			}
			if !bytes.Equal(shoot(mode, html, "", Screenshot{}), clean) {
				t.Errorf("%s mode, %s: the next picture differs from the first", mode, what)
			}
		}
	}
}

func TestScreenshotBackground(t *testing.T) {
	p := startPool(t, nil)
	for kind, want := range map[string]string{"png": "00000000", "webp": "00000000", "jpeg": "ffffffff"} {
		img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: "<p>x"}, Screenshot{Type: kind, OmitBackground: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := colorAt(pixels(t, img), 400, 500); got != want {
			t.Errorf("%s: the background is %s, want %s", kind, got, want)
		}
	}
}

// A clip is cut at the viewport if it may not go beyond it.
func TestScreenshotInputClipIsCut(t *testing.T) {
	p := startPool(t, nil)
	html := `<body style="margin:0;height:2000px;width:2000px;background:#0f0">`
	img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: html}, Screenshot{Clip: &Rect{X: 760, Y: 550, Width: 100, Height: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if got := pixels(t, img).Bounds().Size(); got != image.Pt(40, 50) {
		t.Errorf("the clip is %v, want what the viewport shows of it, 40 × 50", got)
	}
	_, err = p.Screenshot(t.Context(), Job{Account: "a", HTML: html}, Screenshot{Clip: &Rect{X: 900, Y: 0, Width: 10, Height: 10}})
	var size *SizeError
	if !errors.As(err, &size) {
		t.Errorf("a clip beside the viewport: %v, want a size error", err)
	}
}
