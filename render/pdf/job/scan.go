package job

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/relaypdf/relaypdf/render/engine"
)

// Scan is a page as gray pixels, a byte for each.
type Scan struct {
	Width, Height int
	Pixels        []byte
}

// DrawPage draws a page of a file to another, whose ending follows from the kind of
// image, such as -png.
func DrawPage(ctx context.Context, d *Document, name, to string, page, dpi int, kind string) error {
	n := strconv.Itoa(page)
	_, err := d.DrawPages(ctx, 1, engine.Program{Name: "pdftoppm", Args: []string{
		"-q", "-cropbox", kind, "-r", strconv.Itoa(dpi), "-f", n, "-l", n, "-singlefile", engine.PathArg(name), engine.PathArg(to),
	}})
	return d.Damaged(err)
}

// DrawGray draws a page of a file in gray.
func DrawGray(ctx context.Context, d *Document, name string, page, dpi int) (*Scan, error) {
	to := fmt.Sprintf("scan-%d", page)
	if err := DrawPage(ctx, d, name, to, page, dpi, "-gray"); err != nil {
		return nil, err
	}
	path := d.Work.Path(to + ".pgm")
	s, err := ReadScan(path)
	if err != nil {
		// The tool does not report pages that it could not render.
		return nil, d.Fail(Damaged, fmt.Errorf("page %d was not drawn: %w", page, err))
	}
	return s, os.Remove(path)
}

var errScan = errors.New("no gray image")

// ReadScan reads poppler's grey image of a page.
func ReadScan(path string) (_ *Scan, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	in := bufio.NewReader(f)
	s := new(Scan)
	maximum := 0
	if _, err := fmt.Fscanf(in, "P5\n%d %d\n%d\n", &s.Width, &s.Height, &maximum); err != nil {
		return nil, fmt.Errorf("scan: %w: %w", errScan, err)
	}
	if s.Width < 1 || s.Height < 1 || s.Width > 2*ScanPixels || s.Height > 2*ScanPixels/s.Width || maximum != math.MaxUint8 {
		return nil, fmt.Errorf("scan: %w: %d × %d", errScan, s.Width, s.Height)
	}

	s.Pixels = make([]byte, s.Width*s.Height)
	if _, err := io.ReadFull(in, s.Pixels); err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	return s, nil
}

// Write writes a scan to a new file.
func (s *Scan) Write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := fmt.Fprintf(f, "P5\n%d %d\n%d\n", s.Width, s.Height, math.MaxUint8); err != nil {
		return err
	}
	_, err = f.Write(s.Pixels)
	return err
}

// Whiten makes a rectangle of a scan white, in pixels from its top left.
func (s *Scan) Whiten(left, top, right, bottom int) {
	left, right = max(0, left), min(s.Width, right)
	for y := max(0, top); y < min(s.Height, bottom) && left < right; y++ {
		row := s.Pixels[y*s.Width+left : y*s.Width+right]
		for i := range row {
			row[i] = math.MaxUint8
		}
	}
}

// Rotated returns a scan that is rotated clockwise by a multiple of 90 degrees.
func (s *Scan) Rotated(degrees int) *Scan {
	if degrees == 0 {
		return s
	}
	turned := &Scan{Width: s.Height, Height: s.Width, Pixels: make([]byte, len(s.Pixels))}
	if degrees == 180 {
		turned.Width, turned.Height = s.Width, s.Height
	}

	for y := range s.Height {
		for x := range s.Width {
			to := 0
			switch degrees {
			case 90:
				to = x*turned.Width + s.Height - 1 - y
			case 180:
				to = (s.Height-1-y)*s.Width + s.Width - 1 - x
			case 270:
				to = (s.Width-1-x)*turned.Width + y
			}
			turned.Pixels[to] = s.Pixels[y*s.Width+x]
		}
	}

	return turned
}

// RotatedBack returns the matrix from the pixels of rotated's result to those of the scan.
func (s *Scan) RotatedBack(degrees int) Affine {
	w := float64(s.Width)
	h := float64(s.Height)
	switch degrees {
	case 90:
		return Affine{0, -1, 1, 0, 0, h}
	case 180:
		return Affine{-1, 0, 0, -1, w, h}
	case 270:
		return Affine{0, 1, -1, 0, w, 0}
	}
	return Affine{1, 0, 0, 1, 0, 0}
}

// Straighten levels a scan whose lines rise by an angle, on a page that is large enough for all of it. It returns
// the new scan, and the matrix from its pixels to those of the original.
func (s *Scan) Straighten(angle float64) (*Scan, Affine) {
	sin, cos := math.Sincos(angle)
	w := float64(s.Width)
	h := float64(s.Height)
	wide := w*cos + h*math.Abs(sin)
	high := h*cos + w*math.Abs(sin)
	straight := &Scan{Width: int(math.Ceil(wide)), Height: int(math.Ceil(high))}
	straight.Pixels = make([]byte, straight.Width*straight.Height)

	// Around the middle: a level line becomes one that rises by the angle, with y pointing down.
	back := Affine{cos, -sin, sin, cos, 0, 0}
	cx := float64(straight.Width) / 2
	cy := float64(straight.Height) / 2
	x, y := back.At(cx, cy)
	back[4], back[5] = w/2-x, h/2-y

	for row := range straight.Height {
		for column := range straight.Width {
			x, y := back.At(float64(column)+0.5, float64(row)+0.5)
			straight.Pixels[row*straight.Width+column] = s.sample(x-0.5, y-0.5)
		}
	}
	return straight, back
}

// sample is the gray at a place between pixels; outside the page it is white.
func (s *Scan) sample(x, y float64) byte {
	left := int(math.Floor(x))
	top := int(math.Floor(y))
	if left < 0 || top < 0 || left+1 >= s.Width || top+1 >= s.Height {
		return math.MaxUint8
	}
	fx := x - float64(left)
	fy := y - float64(top)
	above := s.Pixels[top*s.Width+left:]
	below := s.Pixels[(top+1)*s.Width+left:]
	upper := float64(above[0])*(1-fx) + float64(above[1])*fx
	lower := float64(below[0])*(1-fx) + float64(below[1])*fx
	return byte(upper*(1-fy) + lower*fy + 0.5)
}

// The angles, in degrees, at which skewed lines are looked for, and from which on
// they are worth straightening.
const (
	maxSkew    = 8.0
	coarseSkew = 0.5
	fineSkew   = 0.05
	minSkew    = 0.15
)

// Skew is by how much the lines of a scan rise, as an angle. The lines of a page are
// level where its rows differ most from one another.
func (s *Scan) Skew() float64 {
	const across = 1000
	dark, wide, high := s.darkPoints(max(1, s.Width/across))

	const fewest = 200
	if len(dark) < fewest {
		return 0
	}

	best := 0.0
	maximum := -1.0
	try := func(low, high, step float64, contrast func(float64) float64) {
		for degrees := low; degrees <= high+step/2; degrees += step {
			if c := contrast(degrees * math.Pi / 180); c > maximum {
				best = degrees
				maximum = c
			}
		}
	}

	rows := make([]int32, high+2*wide)
	contrast := func(angle float64) float64 { return rowContrast(dark, rows, wide, math.Tan(angle)) }
	try(-maxSkew, maxSkew, coarseSkew, contrast)
	try(best-coarseSkew, best+coarseSkew, fineSkew, contrast)

	if math.Abs(best) < minSkew || math.Abs(best) > maxSkew-coarseSkew {
		return 0
	}
	return best * math.Pi / 180
}

// rowContrast sums the squares of the differences between rows, were the lines to
// rise by a slope.
func rowContrast(dark [][2]int32, rows []int32, wide int, slope float64) (sum float64) {
	clear(rows)
	for _, p := range dark {
		if row := int(p[1]) + wide + int(math.Round(float64(p[0])*slope)); row >= 0 && row < len(rows) {
			rows[row]++
		}
	}
	for i := 1; i < len(rows); i++ {
		difference := float64(rows[i] - rows[i-1])
		sum += difference * difference
	}
	return sum
}

// darkPoints returns the positions of dark pixels on a grid with a step.
func (s *Scan) darkPoints(step int) (dark [][2]int32, wide, high int) {
	limit := s.threshold()
	wide = s.Width / step
	high = s.Height / step
	for y := range high {
		for x := range wide {
			if s.Pixels[y*step*s.Width+x*step] < limit {
				dark = append(dark, [2]int32{int32(x), int32(y)})
			}
		}
	}
	return dark, wide, high
}

// threshold is the gray that parts the dark pixels from the light ones best, by
// Otsu's method.
func (s *Scan) threshold() byte {
	var counts [math.MaxUint8 + 1]float64
	total := 0.0
	sum := 0.0
	const step = 7 // enough of them
	for i := 0; i < len(s.Pixels); i += step {
		counts[s.Pixels[i]]++
		total++
		sum += float64(s.Pixels[i])
	}

	best := 0
	maximum := -1.0
	below := 0.0
	weight := 0.0

	for gray, count := range &counts {
		weight += count
		below += float64(gray) * count
		if weight == 0 || weight == total {
			continue
		}
		difference := below/weight - (sum-below)/(total-weight)
		if between := weight * (total - weight) * difference * difference; between > maximum {
			best = gray + 1
			maximum = between
		}
	}
	return byte(min(best, math.MaxUint8))
}

// ScanPixels is the maximum number of pixels of a page that is drawn for its letters.
const ScanPixels = 25_000_000
