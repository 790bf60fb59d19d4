package operation

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/service/schema"
)

const (
	// maxSide and maxPixels are the limits of an image in device pixels.
	maxSide, maxPixels = 16_384, 100_000_000
	// maxWebPSide is the limit of the WebP format.
	maxWebPSide = 16_383
	// The viewport that a page is laid out in when none is given, in CSS pixels.
	defaultViewportWidth, defaultViewportHeight = 1280, 720
	defaultQuality                              = 80
)

// imageInput is the input of images.create.
type imageInput struct {
	schema.Common

	HTML *string `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_extras:"x-filled=true" jsonschema_description:"Source: an HTML document or fragment, at most 10 MiB. Send exactly one of html, url, file, fileId and templateId."`
	URL  *string `json:"url,omitempty" jsonschema:"format=uri,maxLength=8192" jsonschema_extras:"x-filled=true" jsonschema_description:"Source: URL of a public https page."`
	SiteInput
	TemplateInput
	Options ImageOptions `json:"options,omitzero" jsonschema_description:"Loading and capture options."`
}

// ImageOptions are the options of images.create.
type ImageOptions struct {
	Type                  string   `json:"type,omitempty" jsonschema:"enum=png,enum=jpeg,enum=webp,default=png" jsonschema_extras:"x-common=true" jsonschema_description:"Image format."`
	Quality               int      `json:"quality,omitempty" jsonschema:"minimum=1,maximum=100,default=80" jsonschema_description:"Quality of a jpeg or webp, from 1 to 100; ignored for png."`
	FullPage              bool     `json:"fullPage,omitempty" jsonschema:"default=false" jsonschema_extras:"x-common=true" jsonschema_description:"If true, capture the whole page, not only the viewport. Lazy images are loaded. At most 16384 pixels per side (webp 16383) and 100 megapixels."`
	Viewport              Viewport `json:"viewport,omitzero" jsonschema_description:"Browser window that lays out the page."`
	Device                string   `json:"device,omitempty" jsonschema:"enum=iPhone SE,enum=iPhone XR,enum=iPhone 12 Pro,enum=iPhone 14 Pro Max,enum=Pixel 7,enum=Galaxy S8+,enum=Galaxy S20 Ultra,enum=iPad Mini,enum=iPad Air,enum=iPad Pro,enum=Surface Pro 7" jsonschema_description:"Device that provides the window size, scale and touch, unless viewport or mobile sets them."`
	Mobile                *bool    `json:"mobile,omitempty" jsonschema_description:"If true, lay the page out as a phone does: with its viewport meta tag and touch. Default: true with device, false otherwise."`
	ColorScheme           string   `json:"colorScheme,omitempty" jsonschema:"enum=light,enum=dark,default=light" jsonschema_description:"Preferred colour scheme that the page sees."`
	Selector              string   `json:"selector,omitempty" jsonschema:"minLength=1,maxLength=1024" jsonschema_description:"CSS selector of the element to capture. relaypdf waits for the element. Mutually exclusive with clip and fullPage."`
	Clip                  *Clip    `json:"clip,omitempty" jsonschema_description:"Part of the page to capture, in CSS pixels from the top left. Mutually exclusive with fullPage."`
	OmitBackground        bool     `json:"omitBackground,omitempty" jsonschema:"default=false" jsonschema_description:"If true, remove the white page background, so png and webp can be transparent. Ignored for jpeg."`
	CaptureBeyondViewport *bool    `json:"captureBeyondViewport,omitempty" jsonschema_extras:"x-advanced=true" jsonschema_description:"If true, capture content beyond the viewport: the whole clip, or the whole page without clip. Default: true with clip, false otherwise."`

	LoadOptions
	TemplateOptions
}

// Viewport is the window a page is laid out in.
type Viewport struct {
	Width             int     `json:"width,omitempty" jsonschema:"minimum=1,maximum=16384,default=1280" jsonschema_description:"Width in CSS pixels."`
	Height            int     `json:"height,omitempty" jsonschema:"minimum=1,maximum=16384,default=720" jsonschema_description:"Height in CSS pixels."`
	DeviceScaleFactor float64 `json:"deviceScaleFactor,omitempty" jsonschema:"minimum=0.1,maximum=10,default=1" jsonschema_description:"Image pixels per CSS pixel, from 0.1 to 10. Use 2 for high-resolution screens."`
}

// Clip is a part of a page.
type Clip struct {
	X      float64 `json:"x" jsonschema:"required,minimum=0,maximum=1000000" jsonschema_description:"Left edge, in CSS pixels."`
	Y      float64 `json:"y" jsonschema:"required,minimum=0,maximum=1000000" jsonschema_description:"Top edge, in CSS pixels."`
	Width  float64 `json:"width" jsonschema:"required,minimum=1,maximum=16384" jsonschema_description:"Width in CSS pixels."`
	Height float64 `json:"height" jsonschema:"required,minimum=1,maximum=16384" jsonschema_description:"Height in CSS pixels."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (imageInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("html", "url", "templateId", "file", "fileId"))
}

// Validate checks the rules that the schema cannot express.
func (in *imageInput) Validate() error {
	var faults schema.FieldErrors
	sources := []source{{"html", in.HTML}, {"url", in.URL}, {"templateId", in.TemplateID}}
	if err := checkSources(&faults, append(sources, in.sources()...)...); err != nil {
		return err
	}

	o := &in.Options
	view := o.viewport()
	o.checkImage(&faults, "options.viewport", float64(view.Width), float64(view.Height))

	if o.Clip != nil {
		o.checkImage(&faults, "options.clip", o.Clip.Width, o.Clip.Height)
		if o.FullPage {
			faults.Add("options.clip", "is mutually exclusive with options.fullPage")
		}
		if beyond := o.CaptureBeyondViewport; beyond != nil && !*beyond &&
			(o.Clip.X >= float64(view.Width) || o.Clip.Y >= float64(view.Height)) {
			faults.Add(
				"options.clip",
				"is outside the viewport of %d × %d pixels. Set captureBeyondViewport to true, or move the clip",
				view.Width, view.Height,
			)
		}
	}

	if o.Selector != "" && (o.Clip != nil || o.FullPage) {
		faults.Add("options.selector", "is mutually exclusive with options.clip and options.fullPage")
	}

	o.LoadOptions.validate(&faults, in.URL != nil)
	o.TemplateOptions.validate(&faults)
	in.TemplateInput.validate(&faults)
	in.SiteInput.validate(&faults, in.URL != nil)

	return failures(faults)
}

// devices are the windows of devices, as Chrome's own tools have them.
var devices = map[string]Viewport{
	"":          {defaultViewportWidth, defaultViewportHeight, 1},
	"iPhone SE": {375, 667, 2}, "iPhone XR": {414, 896, 2}, "iPhone 12 Pro": {390, 844, 3}, "iPhone 14 Pro Max": {430, 932, 3},
	"Pixel 7": {412, 915, 2.625}, "Galaxy S8+": {360, 740, 4}, "Galaxy S20 Ultra": {412, 915, 3.5},
	"iPad Mini": {768, 1024, 2}, "iPad Air": {820, 1180, 2}, "iPad Pro": {1024, 1366, 2}, "Surface Pro 7": {912, 1368, 2},
}

// viewport returns the window, with missing values taken from the device.
func (o *ImageOptions) viewport() Viewport {
	v := o.Viewport
	device := devices[o.Device]
	return Viewport{
		Width: cmp.Or(v.Width, device.Width), Height: cmp.Or(v.Height, device.Height),
		DeviceScaleFactor: cmp.Or(v.DeviceScaleFactor, device.DeviceScaleFactor),
	}
}

// checkImage faults an area, in CSS pixels, whose image would be too large for its type at the viewport's scale. One
// outside the schema's own limits has its fault.
func (o *ImageOptions) checkImage(faults *schema.FieldErrors, field string, width, height float64) {
	scale := o.viewport().DeviceScaleFactor
	side := maxSide
	of := ""
	if o.Type == "webp" {
		side = maxWebPSide
		of = " of a webp"
	}

	w := math.Ceil(width * scale)
	h := math.Ceil(height * scale)
	switch {
	case w > float64(side) || h > float64(side):
		faults.Add(
			field,
			"is too large: with its deviceScaleFactor the image has %.0f × %.0f pixels; at most %d per side%s",
			w, h, side, of,
		)
	case w*h > maxPixels:
		faults.Add(
			field,
			"is too large: with its deviceScaleFactor the image has %.0f × %.0f pixels; at most %d megapixels",
			w, h, maxPixels/1_000_000,
		)
	}
}

// capture returns the options in the renderer's type.
func (o *ImageOptions) screenshot() chrome.Screenshot {
	view := o.viewport()
	shot := chrome.Screenshot{
		Type: either(nonZero(o.Type), "png"), Quality: either(nonZero(o.Quality), defaultQuality),
		FullPage: o.FullPage, OmitBackground: o.OmitBackground,
		CaptureBeyondViewport: either(o.CaptureBeyondViewport, o.Clip != nil),
		Viewport: chrome.Viewport{
			Width:  view.Width,
			Height: view.Height,
			Scale:  view.DeviceScaleFactor,
			Mobile: either(o.Mobile, o.Device != ""),
		},
		Selector: o.Selector, MaxSide: maxSide, MaxPixels: maxPixels,
	}
	if c := o.Clip; c != nil {
		shot.Clip = &chrome.Rect{X: c.X, Y: c.Y, Width: c.Width, Height: c.Height}
	}
	return shot
}

// Admit asks the browser's queue.
func (in *imageInput) Admit(deps *Deps) error { return deps.admit() }

// Pin fixes the template's version.
func (in *imageInput) Pin(ctx context.Context, deps *Deps, input map[string]any) (changed bool, err error) {
	return in.pin(ctx, deps, input, pageOption)
}

// runImage captures the source.
func runImage(ctx context.Context, deps *Deps, in *imageInput) (schema.Result, error) {
	src := render.Source{HTML: text(in.HTML), URL: text(in.URL)}
	page := in.Options.page(in.URL != nil)

	if in.TemplateID != nil {
		var err error
		if src.HTML, err = in.fill(ctx, deps, in.Options.TemplateOptions, &page); err != nil {
			return schema.Result{}, err
		}
	}

	shot := in.Options.screenshot()
	page.ColorScheme = in.Options.ColorScheme
	if page.WaitForSelector == "" {
		page.WaitForSelector = shot.Selector
	}

	image, err := withSite(ctx, deps, &in.SiteInput, &src, func() (chrome.Image, error) {
		return deps.Render.Screenshot(ctx, src, page, shot)
	})

	switch {
	case errors.Is(err, chrome.ErrNoElement):
		return schema.Result{}, schema.FieldErrors{{Field: "options.selector", Message: "matches no visible element"}}
	case errors.Is(err, chrome.ErrWaitForSelector) && in.Options.WaitForSelector == "":
		return schema.Result{}, schema.FieldErrors{{Field: "options.selector", Message: "is not a valid CSS selector"}}
	case err != nil:
		return schema.Result{}, fieldError(err)
	}

	return schema.Result{
		Stem:        "screenshot",
		Extension:   "." + shot.Type,
		ContentType: "image/" + shot.Type,
		Body:        image.Body,
		Warnings:    warnings(image.Warnings),
	}, nil
}

// PageURL is the address of the page, empty if there is none.
func (in *imageInput) PageURL() string {
	if in.URL == nil {
		return ""
	}
	return *in.URL
}
