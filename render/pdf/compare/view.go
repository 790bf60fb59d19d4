package compare

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	imagedraw "image/draw"
	"math"
	"os"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// comparedView is an image of two pages side by side, the old one on the left, with their differences marked.
type comparedView struct {
	pagePixels

	ppm []byte // header and pixels
	dpi int
}

// The layout of a view in points.
const (
	viewMargin  = 20.0
	viewHead    = 20.0 // height of the headings, which are above the pages
	viewColumn  = 220.0
	viewFont    = 11.0
	viewLine    = 1.0
	viewPadding = 1.5 // between a changed area and its outline
	viewDash    = 6.0
	viewHatch   = 5.0
)

// The colours of a view. Tints are multiplied with the pixels of a page.
var (
	viewBench = color.RGBA{0xe9, 0xeb, 0xee, 0xff}
	viewEdge  = color.RGBA{0xb8, 0xbf, 0xc7, 0xff}
	viewInk   = color.RGBA{0x1f, 0x24, 0x2b, 0xff}
	viewMuted = color.RGBA{0x5b, 0x64, 0x70, 0xff}

	viewMarks   = [2]color.RGBA{{0xc9, 0x2a, 0x2a, 0xff}, {0x1b, 0x7f, 0x3b, 0xff}}
	viewTints   = [2]color.RGBA{{0xff, 0xe9, 0xe9, 0xff}, {0xe4, 0xf6, 0xe8, 0xff}}
	viewWords   = [2]color.RGBA{{0xff, 0xc9, 0xc9, 0xff}, {0xb9, 0xea, 0xc4, 0xff}}
	viewIgnored = color.RGBA{0xd5, 0xda, 0xe0, 0xff}
	viewSides   = [2]string{"Old", "New"}
)

// newView returns an empty view of a size in pixels.
func newView(width, height, dpi int) *comparedView {
	head := fmt.Sprintf("P6\n%d %d\n255\n", width, height)
	v := &comparedView{ppm: make([]byte, len(head)+3*width*height), dpi: dpi}
	copy(v.ppm, head)
	v.width = width
	v.height = height
	v.rgb = v.ppm[len(head):]
	v.fill(pixelArea{0, 0, width, height}, viewBench)
	return v
}

// view draws the view of a page that differs.
func (c *comparer) view(page ComparedPage, pair comparedPair) *comparedView {
	px := func(points float64) int { return pixelsAt(points, pair.dpi) }
	width := px(viewColumn)
	height := 0

	for _, p := range pair.images {
		if p != nil {
			width, height = max(width, p.width), max(height, p.height)
		}
	}

	margin := px(viewMargin)
	top := px(viewMargin + viewHead)
	v := newView(2*width+3*margin, height+top+margin, pair.dpi)

	for i, p := range pair.images {
		left := margin + i*(width+margin)
		v.heading(left, i, page, c.sides[i].Pages)
		if p == nil {
			other := pair.images[1-i]
			v.gap(pixelArea{left, top, left + other.width, top + other.height}, i)
			continue
		}
		v.page(left, top, i, page, pair)
	}

	v.status(page)
	return v
}

// pixelsAt returns a length in pixels.
func pixelsAt(points float64, dpi int) int {
	return max(1, int(math.Round(points*float64(dpi)/job.PointsPerInch)))
}

func (v *comparedView) px(points float64) int { return pixelsAt(points, v.dpi) }

// page draws a page with its differences.
func (v *comparedView) page(left, top, side int, page ComparedPage, pair comparedPair) {
	p := pair.images[side]
	frame := pixelArea{left, top, left + p.width, top + p.height}

	for y := range p.height {
		copy(v.row(top + y)[3*left:], p.row(y))
	}

	on := func(area PageArea) pixelArea {
		a := area.pixels(pair.dpi, p.width, p.height)
		return pixelArea{left + a.left, top + a.top, left + a.right, top + a.bottom}
	}

	for _, area := range pair.ignored {
		v.hatch(on(area))
	}
	for _, area := range page.Areas {
		v.tint(on(area), viewTints[side])
	}
	for _, change := range page.Text {
		for _, area := range [2][]PageArea{change.OldAreas, change.NewAreas}[side] {
			if change.Change != textMoved {
				v.tint(on(area), viewWords[side])
			}
		}
	}

	v.outline(frame, 1, 0, viewEdge)
	line := v.px(viewLine)
	if page.Status != changedPage {
		v.outline(frame, 2*line, 0, viewMarks[side])
	}

	for _, area := range page.Areas {
		a := on(area)
		padding := v.px(viewPadding)
		if a.left < a.right && a.top < a.bottom {
			v.outline(
				pixelArea{a.left - padding, a.top - padding, a.right + padding, a.bottom + padding},
				line, 0, viewMarks[side],
			)
		}
	}
}

// gap draws the empty place of a page that a document lacks.
func (v *comparedView) gap(frame pixelArea, side int) {
	v.outline(frame, v.px(viewLine), v.px(viewDash), viewEdge)
	text := "Not in the old PDF"
	if side == 1 {
		text = "Not in the new PDF"
	}
	face := v.face(regular)
	x := (frame.left + frame.right - font.MeasureString(face, text).Round()) / 2
	v.text(face, x, (frame.top+frame.bottom)/2, text, viewMuted)
}

// heading draws the heading of a side.
func (v *comparedView) heading(left, side int, page ComparedPage, pages int) {
	baseline := v.px(viewMargin + viewHead/2)
	square := v.px(viewFont * 0.7)
	v.fill(pixelArea{left, baseline - square, left + square, baseline}, viewMarks[side])
	x := left + square + v.px(viewFont*0.5)
	x = v.text(v.face(medium), x, baseline, viewSides[side], viewInk)
	if number := [2]*int{page.OldPage, page.NewPage}[side]; number != nil {
		v.text(v.face(regular), x+v.px(viewFont*0.6), baseline, fmt.Sprintf("page %d of %d", *number, pages), viewMuted)
	}
}

// status draws the result of the comparison on the right.
func (v *comparedView) status(page ComparedPage) {
	text := map[string]string{addedPage: "Added", removedPage: "Removed", changedPage: "Changed"}[page.Status]
	face := v.face(medium)
	left := v.width - v.px(viewMargin) - font.MeasureString(face, text).Round()
	v.text(face, left, v.px(viewMargin+viewHead/2), text, viewInk)
}

// equalView is the view of documents without differences.
func equalView() *comparedView {
	const width, height = 420, 120
	v := newView(pixelsAt(width, compareDPI), pixelsAt(height, compareDPI), compareDPI)
	margin := v.px(viewMargin)
	frame := pixelArea{margin, margin, v.width - margin, v.height - margin}
	v.fill(frame, color.RGBA{0xff, 0xff, 0xff, 0xff})
	v.outline(frame, 1, 0, viewEdge)
	face := v.face(medium)
	const text = "No visible differences"
	v.text(face, (v.width-font.MeasureString(face, text).Round())/2, v.height/2+v.px(viewFont/3), text, viewInk)
	return v
}

// mark draws the test mark.
func (v *comparedView) mark() {
	images.DrawMark(v, max(1, int(images.MarkHeight(float64(v.width), float64(v.height), images.MinMarkPixels, images.MaxMarkPixels))))
}

// write writes the view as a PNG to a new file.
func (v *comparedView) write(path string) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("view: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buffered := bufio.NewWriter(out)
	if err := job.EncodePNG(buffered, bytes.NewReader(v.ppm), v.dpi); err != nil {
		return err
	}
	return buffered.Flush()
}

// ColorModel, Bounds, At and Set are those of an image.
func (p *pagePixels) ColorModel() color.Model { return color.RGBAModel }

// Bounds returns the size of the image.
func (p *pagePixels) Bounds() image.Rectangle { return image.Rect(0, 0, p.width, p.height) }

// At returns the colour of a pixel.
func (p *pagePixels) At(x, y int) color.Color {
	if !(image.Point{X: x, Y: y}).In(p.Bounds()) {
		return color.RGBA{}
	}
	at := p.rgb[3*(y*p.width+x):]
	return color.RGBA{at[0], at[1], at[2], math.MaxUint8}
}

// Set sets the colour of a pixel, which is opaque.
func (p *pagePixels) Set(x, y int, c color.Color) {
	if (image.Point{X: x, Y: y}).In(p.Bounds()) {
		red, green, blue, _ := c.RGBA()
		copy(p.rgb[3*(y*p.width+x):], []byte{byte(red >> 8), byte(green >> 8), byte(blue >> 8)})
	}
}

// each calls do with the bytes of each pixel of an area, as far as the view has it.
func (v *comparedView) each(a pixelArea, do func(x, y int, pixel []byte)) {
	left := max(0, a.left)
	right := min(v.width, a.right)
	for y := max(0, a.top); y < min(v.height, a.bottom); y++ {
		row := v.row(y)
		for x := left; x < right; x++ {
			do(x, y, row[3*x:3*x+3])
		}
	}
}

// fill paints an area.
func (v *comparedView) fill(a pixelArea, c color.RGBA) {
	v.each(a, func(_, _ int, pixel []byte) { pixel[0], pixel[1], pixel[2] = c.R, c.G, c.B })
}

// tint multiplies an area with a colour, so that dark text stays dark.
func (v *comparedView) tint(a pixelArea, c color.RGBA) {
	v.each(a, func(_, _ int, pixel []byte) {
		for i, factor := range []byte{c.R, c.G, c.B} {
			pixel[i] = byte(int(pixel[i]) * int(factor) / math.MaxUint8)
		}
	})
}

// hatch marks an area that is not compared.
func (v *comparedView) hatch(a pixelArea) {
	step := v.px(viewHatch)
	line := max(1, v.px(viewLine)/2)
	v.each(a, func(x, y int, pixel []byte) {
		if (x+y)%step < line {
			pixel[0], pixel[1], pixel[2] = viewIgnored.R, viewIgnored.G, viewIgnored.B
		}
	})
	v.outline(a, line, v.px(viewDash)/2, viewEdge)
}

// outline draws the sides of an area inside of it, dashed unless dash is 0.
func (v *comparedView) outline(a pixelArea, line, dash int, c color.RGBA) {
	paint := func(x, y int, pixel []byte) {
		if dash == 0 || (x+y)/dash%2 == 0 {
			pixel[0], pixel[1], pixel[2] = c.R, c.G, c.B
		}
	}
	for _, side := range []pixelArea{
		{a.left, a.top, a.right, a.top + line}, {a.left, a.bottom - line, a.right, a.bottom},
		{a.left, a.top, a.left + line, a.bottom}, {a.right - line, a.top, a.right, a.bottom},
	} {
		v.each(side, paint)
	}
}

// text draws a text and returns its end.
func (v *comparedView) text(face font.Face, x, baseline int, text string, c color.RGBA) int {
	d := font.Drawer{Dst: v, Src: image.NewUniform(c), Face: face, Dot: fixed.P(x, baseline)}
	d.DrawString(text)
	return d.Dot.X.Round()
}

// viewFonts are the regular and the medium font of views.
var viewFonts = sync.OnceValue(func() (fonts [2]*opentype.Font) {
	for i, ttf := range [][]byte{goregular.TTF, gomedium.TTF} {
		parsed, err := opentype.Parse(ttf)
		if err != nil {
			panic("pdf: an embedded font does not parse: " + err.Error())
		}
		fonts[i] = parsed
	}
	return fonts
})

// The weights of viewFonts.
const (
	regular = iota
	medium
)

// face returns a font at the resolution of the view.
func (v *comparedView) face(weight int) font.Face {
	face, err := opentype.NewFace(viewFonts()[weight], &opentype.FaceOptions{
		Size:    viewFont,
		DPI:     float64(v.dpi),
		Hinting: font.HintingNone,
	})
	if err != nil {
		panic("pdf: an embedded font has no size: " + err.Error())
	}
	return face
}

var _ imagedraw.Image = (*pagePixels)(nil)
