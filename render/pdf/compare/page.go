package compare

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

const (
	// compareDPI is the resolution at which pages are compared: two pixels for each point.
	compareDPI = 144
	// comparePixels is the maximum number of pixels of a compared page, an A2 page at compareDPI. Larger pages are
	// rendered at a lower resolution.
	comparePixels = 8_100_000
	// compareSide is the maximum number of pixels of a side, so that two pages fit into an image.
	compareSide = 8000
)

// pagePixels is a rendered page, with three bytes for each pixel.
type pagePixels struct {
	width, height int
	rgb           []byte
}

// readPixels reads and removes an image as pdftoppm writes it.
func readPixels(path string) (_ *pagePixels, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	lines, err := job.ReadPPM(f)
	if err == nil && lines.Width*lines.Height > 2*comparePixels {
		err = fmt.Errorf("%w: %d × %d pixels", job.ErrPPM, lines.Width, lines.Height)
	}

	var p *pagePixels
	if err == nil {
		p = &pagePixels{width: lines.Width, height: lines.Height, rgb: make([]byte, 3*lines.Width*lines.Height)}
		_, err = io.ReadFull(lines.In, p.rgb)
	}

	_ = f.Close() // it was only read
	if err != nil {
		return nil, err
	}
	return p, os.Remove(path)
}

// row returns the pixels of a row.
func (p *pagePixels) row(y int) []byte { return p.rgb[3*y*p.width : 3*(y+1)*p.width] }

// pixelArea is a part of an image: from left and top to before right and bottom.
type pixelArea struct{ left, top, right, bottom int }

// pixels returns the part of an image that shows an area.
func (a PageArea) pixels(dpi, width, height int) pixelArea {
	scale := float64(dpi) / job.PointsPerInch
	clamp := func(v float64, upper int) int { return int(max(0, min(v, float64(upper)))) }
	return pixelArea{
		clamp(math.Floor(a.X*scale), width), clamp(math.Floor(a.Y*scale), height),
		clamp(math.Ceil((a.X+a.Width)*scale), width), clamp(math.Ceil((a.Y+a.Height)*scale), height),
	}
}

// points returns the area of a part of an image.
func (a pixelArea) points(dpi int) PageArea {
	scale := job.PointsPerInch / float64(dpi)
	return PageArea{
		X: job.Tenths(float64(a.left) * scale), Y: job.Tenths(float64(a.top) * scale),
		Width: job.Tenths(float64(a.right-a.left) * scale), Height: job.Tenths(float64(a.bottom-a.top) * scale),
	}
}

// whiten empties areas of the page.
func (p *pagePixels) whiten(areas []PageArea, dpi int) {
	for _, area := range areas {
		a := area.pixels(dpi, p.width, p.height)
		for y := a.top; y < a.bottom && a.left < a.right; y++ {
			row := p.row(y)[3*a.left : 3*a.right]
			for i := range row {
				row[i] = math.MaxUint8
			}
		}
	}
}

// dpi returns the resolution at which a page is compared.
func (f *Side) dpi(page int) int {
	s := f.sizes[page]
	perPoint := min(math.Sqrt(comparePixels/max(1, s.Width*s.Height)), compareSide/max(1, s.Width, s.Height))
	return max(1, min(compareDPI, int(job.PointsPerInch*perPoint)))
}

// draw renders pages that follow one another, and calls take for each.
func (f *Side) draw(
	ctx context.Context, first, last, dpi int, take func(page int, image *pagePixels) error,
) error {
	prefix := fmt.Sprintf("compared-%d-%d", f.Number, first)
	_, err := f.DrawPages(ctx, last-first+1, engine.Program{Name: "pdftoppm", Args: []string{
		"-q", "-cropbox", "-r", strconv.Itoa(dpi), "-f", strconv.Itoa(first), "-l", strconv.Itoa(last),
		"-sep", "-", "-forcenum", engine.PathArg(f.Name), engine.PathArg(prefix),
	}})
	if err != nil {
		return f.Damaged(err)
	}

	digits := len(strconv.Itoa(f.Pages)) // as the program numbers its files
	for page := first; page <= last; page++ {
		image, err := readPixels(f.Work.Path(fmt.Sprintf("%s-%0*d.ppm", prefix, digits, page)))
		if err != nil {
			// pdftoppm does not report pages that it could not render.
			return f.Fail(job.Damaged, fmt.Errorf("page %d was not drawn: %w", page, err))
		}
		if err := take(page, image); err != nil {
			return err
		}
	}

	return nil
}

// The size of the reduced image by which similar pages are recognised.
const reducedSide = 16

// fingerprint holds the properties by which pages are matched.
type fingerprint struct {
	image uint64 // hash of all pixels
	// ink is the darkness of the page's parts, from 0 to 255.
	ink   [reducedSide * reducedSide]uint8
	words []uint32 // hashes, sorted
}

// maxPrintWords is the maximum number of words of a fingerprint.
const maxPrintWords = 2000

// imageSeed makes the hashes of this process.
var imageSeed = maphash.MakeSeed()

// fingerprint sets the fingerprints of all pages.
func (f *Side) fingerprint(ctx context.Context, c *comparer) error {
	f.prints = make([]fingerprint, f.Pages)
	texts, err := job.AllTexts(ctx, f.Document)
	if err != nil {
		return err
	}

	for i, text := range texts {
		f.prints[i].words = wordHashes(text)
	}

	for first := 1; first <= f.Pages; {
		last, dpi := f.batch(first)
		err := f.draw(ctx, first, last, dpi, func(page int, image *pagePixels) error {
			old := page
			if f.Number > 0 {
				old = 0 // Areas are numbered by the pages of the old document.
			}
			image.whiten(c.ignored(old), dpi)
			f.prints[page-1].set(image)
			return nil
		})
		if err != nil {
			return err
		}
		first = last + 1
	}

	return nil
}

// batch returns the last page and the resolution of a run of the program that starts with a page: pages of one
// resolution, whose pixels fit on the disk.
func (f *Side) batch(first int) (last, dpi int) {
	dpi = f.dpi(first)
	pixels := 0.0
	for last = first; last < f.Pages && f.dpi(last+1) == dpi; last++ {
		s := f.sizes[last+1]
		scale := float64(dpi) / job.PointsPerInch
		if pixels += s.Width * s.Height * scale * scale; pixels*3 > job.BatchBytes {
			break
		}
	}
	return last, dpi
}

// wordHashes returns the sorted hashes of a text's words.
func wordHashes(text string) []uint32 {
	var hashes []uint32
	for word := range strings.FieldsSeq(text) {
		if len(hashes) == maxPrintWords {
			break
		}
		hashes = append(hashes, uint32(maphash.String(imageSeed, word)))
	}
	slices.Sort(hashes)
	return hashes
}

// set sets the parts of a fingerprint that follow from the page's image.
func (p *fingerprint) set(image *pagePixels) {
	var hash maphash.Hash
	hash.SetSeed(imageSeed)
	maphash.WriteComparable(&hash, [2]int{image.width, image.height})
	_, _ = hash.Write(image.rgb) // never fails
	p.image = hash.Sum64()

	var dark, count [reducedSide * reducedSide]int
	for y := range image.height {
		row := image.row(y)
		cells := y * reducedSide / image.height * reducedSide
		for x := range image.width {
			cell := cells + x*reducedSide/image.width
			dark[cell] += 3*math.MaxUint8 - int(row[3*x]) - int(row[3*x+1]) - int(row[3*x+2])
			count[cell]++
		}
	}

	for i := range p.ink {
		p.ink[i] = uint8(dark[i] / max(1, 3*count[i])) // at most 255
	}
}
