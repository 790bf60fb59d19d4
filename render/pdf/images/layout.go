package images

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/job"
)

const (
	// defaultResolution is the resolution of an image that does not state one, in pixels per inch: a pixel is then
	// a CSS pixel.
	defaultResolution = 96
	// The sides that a page may have in points, so that every reader opens it.
	minSide, maxSide = 3, 14_400
)

// naturalSize is the size of an image, turned as it is shown, in points.
func (p *RasterImage) naturalSize() (width, height float64) {
	width = float64(p.width) * 72 / p.resolutionX
	height = float64(p.height) * 72 / p.resolutionY
	if p.orientation >= 5 {
		width, height = height, width
	}
	return width, height
}

// layout returns the size of an image's page and the content that draws the
// image on it.
func layout(p *RasterImage, args FromImagesArgs) (pageWidth, pageHeight float64, content string) {
	width, height := p.naturalSize()
	m := args.Margin
	pageWidth = args.Width
	pageHeight = args.Height

	if pageWidth == 0 || pageHeight == 0 {
		// The page has the image's size, up to the maximum page size.
		shrink := min(1, (maxSide-m.Left-m.Right)/width, (maxSide-m.Top-m.Bottom)/height)
		width, height = width*shrink, height*shrink
		pageWidth = max(minSide, width+m.Left+m.Right)
		pageHeight = max(minSide, height+m.Top+m.Bottom)
	}

	area := job.PageSize{Width: pageWidth - m.Left - m.Right, Height: pageHeight - m.Top - m.Bottom}
	width, height = fit(args.Fit, width, height, area)
	x := m.Left + (area.Width-width)/2
	y := m.Bottom + (area.Height-height)/2

	content = fmt.Sprintf("q\n%s %s %s %s re W n\n%s 0 0 %s %s %s cm\n%s cm\n/Im Do\nQ\n",
		number3(m.Left), number3(m.Bottom), number3(area.Width), number3(area.Height),
		number3(width), number3(height), number3(x), number3(y), orientations[p.orientation])
	return pageWidth, pageHeight, content
}

// fit returns the size of an image in an area.
func fit(how Fit, width, height float64, area job.PageSize) (float64, float64) {
	across := area.Width / width
	down := area.Height / height
	switch how {
	case Fill:
		return area.Width, area.Height
	case Cover:
		return width * max(across, down), height * max(across, down)
	case Natural:
		shrink := min(1, across, down)
		return width * shrink, height * shrink
	}
	return width * min(across, down), height * min(across, down)
}

// orientations are the matrices by which an image of each of EXIF's
// orientations is shown upright in the unit square.
var orientations = [...]string{
	1: "1 0 0 1 0 0", 2: "-1 0 0 1 1 0", 3: "-1 0 0 -1 1 1", 4: "1 0 0 -1 0 1",
	5: "0 -1 -1 0 1 1", 6: "0 -1 1 0 0 1", 7: "0 1 1 0 0 0", 8: "0 1 -1 0 1 0",
}

// number3 writes a number as PDF takes it, with three decimals at most.
func number3(n float64) string {
	text := strings.TrimRight(strconv.FormatFloat(n, 'f', 3, 64), "0")
	return strings.TrimSuffix(text, ".")
}
