package render_test

import (
	"fmt"
	"image"
	"image/color"
	"testing"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"

	_ "golang.org/x/image/webp" // decodes what Chromium encoded
)

// testImages photographs documents of testdata/golden, and compares size and
// look with goldens of their own.
func (s *studio) testImages(t *testing.T) {
	t.Parallel()
	narrow := chrome.Viewport{Width: 600, Height: 400}
	for _, test := range []struct {
		name, file string
		shot       chrome.Screenshot
	}{
		{"image-viewport", "invoice.html", chrome.Screenshot{Type: "png"}},
		{"image-full-page", "lazy-images.html", chrome.Screenshot{Type: "png", FullPage: true, Viewport: narrow}},
		{"image-seen", "chart-intersection-observer.html", chrome.Screenshot{Type: "webp", Quality: 80, FullPage: true, Viewport: narrow}},
		{"image-clip", "svg.html", chrome.Screenshot{Type: "png", Clip: &chrome.Rect{X: 400, Y: 80, Width: 380, Height: 300}}},
		{"image-retina", "emoji.html", chrome.Screenshot{Type: "png", Viewport: chrome.Viewport{Width: 500, Height: 400, Scale: 2}}},
		{"image-jpeg", "canvas.html", chrome.Screenshot{Type: "jpeg", Quality: 80, Viewport: chrome.Viewport{Width: 700, Height: 800}}},
		{"image-webp", "cjk.html", chrome.Screenshot{Type: "webp", Quality: 80}},
		{"image-beyond", "backgrounds.html", chrome.Screenshot{Type: "png", CaptureBeyondViewport: true, Viewport: narrow}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			img := s.shoot(t, s.source(t, test.file), test.shot)
			size := img.Bounds().Size()
			checkGolden(t, test.name, fmt.Sprintf("%s of %d by %d\n%s %x\n", test.shot.Type, size.X, size.Y, looksLine, fingerprintOf(img)))
		})
	}
}

func (s *studio) testImageSizes(t *testing.T) {
	t.Parallel()
	const tall = `<!DOCTYPE html><body style="margin: 0"><div style="width: 900px; height: 1500px; background: linear-gradient(red, blue)">`
	view := chrome.Viewport{Width: 400, Height: 300}
	for name, test := range map[string]struct {
		shot chrome.Screenshot
		want image.Point
	}{
		"defaults":         {chrome.Screenshot{}, image.Pt(800, 600)},
		"viewport":         {chrome.Screenshot{Viewport: view}, image.Pt(400, 300)},
		"scaled":           {chrome.Screenshot{Viewport: chrome.Viewport{Width: 400, Height: 300, Scale: 2}}, image.Pt(800, 600)},
		"scaled by 1.5":    {chrome.Screenshot{Viewport: chrome.Viewport{Width: 401, Height: 300, Scale: 1.5}}, image.Pt(602, 450)},
		"full page":        {chrome.Screenshot{FullPage: true, Viewport: view}, image.Pt(900, 1500)},
		"full page scaled": {chrome.Screenshot{FullPage: true, Viewport: chrome.Viewport{Width: 400, Height: 300, Scale: 2}}, image.Pt(1800, 3000)},
		"clip":             {chrome.Screenshot{Clip: &chrome.Rect{X: 10, Y: 20, Width: 30, Height: 40}}, image.Pt(30, 40)},
		"clip scaled":      {chrome.Screenshot{Clip: &chrome.Rect{X: 10, Y: 20, Width: 30, Height: 40}, Viewport: chrome.Viewport{Scale: 2}}, image.Pt(60, 80)},
		"clip below":       {chrome.Screenshot{Clip: &chrome.Rect{Y: 1000, Width: 30, Height: 40}, CaptureBeyondViewport: true}, image.Pt(30, 40)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.shot.Type = "png"
			img := s.shoot(t, render.Source{HTML: tall}, test.shot)
			if got := img.Bounds().Size(); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			if r, g, b, a := img.At(5, 5).RGBA(); a != 0xffff || g > 0x2000 || max(r, b) < 0x4000 {
				t.Errorf("the corner is %x %x %x %x, want the gradient", r, g, b, a)
			}
		})
	}
}

func (s *studio) testTransparency(t *testing.T) {
	t.Parallel()
	const badge = `<body style="margin: 0"><div style="margin: 50px; width: 100px; height: 100px; border-radius: 50%; background: rgb(0, 128, 0)">`
	const glass = `<body style="margin: 0; background: rgba(0, 0, 255, 0.5)">`
	view := chrome.Viewport{Width: 200, Height: 200}
	none, green := color.NRGBA{}, color.NRGBA{0, 128, 0, 255}
	for _, test := range []struct {
		name, html     string
		kind           string
		omit           bool
		corner, centre color.NRGBA
	}{
		{"png", badge, "png", true, none, green},
		{"webp", badge, "webp", true, none, green},
		{"png with background", badge, "png", false, color.NRGBA{255, 255, 255, 255}, green},
		{"half transparent", glass, "png", true, color.NRGBA{0, 0, 255, 128}, color.NRGBA{0, 0, 255, 128}},
		{"jpeg has none", badge, "jpeg", true, color.NRGBA{255, 255, 255, 255}, green},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			shot := chrome.Screenshot{Type: test.kind, OmitBackground: test.omit, Viewport: view, Quality: 90}
			img := s.shoot(t, render.Source{HTML: test.html}, shot)
			for at, want := range map[image.Point]color.NRGBA{image.Pt(5, 5): test.corner, image.Pt(100, 100): test.centre} {
				if got := color.NRGBAModel.Convert(img.At(at.X, at.Y)).(color.NRGBA); !alike(got, want) {
					t.Errorf("at %v: %v, want %v", at, got, want)
				}
			}
		})
	}
}

// alike allows for what lossy formats do to a colour. The colour of nothing
// does not matter.
func alike(a, b color.NRGBA) bool {
	near := func(x, y uint8) bool { return max(x, y)-min(x, y) <= 16 }
	if a.A == 0 && b.A == 0 {
		return true
	}
	return near(a.R, b.R) && near(a.G, b.G) && near(a.B, b.B) && near(a.A, b.A)
}
