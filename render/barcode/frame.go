package barcode

import (
	"cmp"
	"fmt"
	"math"
)

// minBars is the minimum height of bars, in modules, that a scanner's beam can cross.
const minBars = 5

// frame is the image around a symbol, in pixels.
type frame struct {
	pixels        int // of a module
	width, height int
	left, top     int // start of the symbol
}

// frame fits a symbol into the requested image: modules get as many whole pixels as fit, bars of linear codes get
// the remaining height, and the rest becomes margin.
func (req *Request) frame(s *symbol, modulePixels int) (frame, error) {
	across := math.MaxInt
	down := math.MaxInt
	if req.Width > 0 {
		across = req.Width / s.width()
	}
	if req.Height > 0 && !s.linear {
		down = req.Height / s.height()
	}

	pixels := min(across, down)
	switch {
	case pixels == math.MaxInt:
		pixels = modulePixels * req.Scale
	case across == 0:
		return frame{}, sizeError("width", s.width())
	case down == 0:
		return frame{}, sizeError("height", s.height())
	}

	if s.linear && req.Height > 0 {
		more := req.Height/pixels - s.height()
		if s.rows[0].height+more < minBars {
			return frame{}, sizeError("height", pixels*(s.height()-s.rows[0].height+minBars))
		}
		s.stretch(more)
	}

	f := frame{
		pixels: pixels,
		width:  cmp.Or(req.Width, s.width()*pixels),
		height: cmp.Or(req.Height, s.height()*pixels),
	}
	f.left = (f.width - s.width()*pixels) / 2
	f.top = (f.height - s.height()*pixels) / 2
	return f, nil
}

func sizeError(field string, minimum int) *ContentError {
	return &ContentError{Field: field, Message: fmt.Sprintf("must be at least %d pixels for this code", minimum)}
}

// stretch makes the bars higher by some modules, and moves the parts below them.
func (s *symbol) stretch(more int) {
	s.rows[0].height += more
	for i := range s.labels {
		s.labels[i].baseline += float64(more)
	}
}

// setQuiet gives the symbol a quiet zone of one width on all sides.
func (s *symbol) setQuiet(width int) {
	for i := range s.labels {
		s.labels[i].centre += float64(width - s.quiet.left)
		s.labels[i].baseline += float64(width - s.quiet.top)
	}
	s.quiet = margins{width, width, width, width}
}

// addMargins widens the image by the overhang of the labels.
func (s *symbol) addMargins() {
	beyond := 0.0
	for _, l := range s.labels {
		half := l.width() / 2
		beyond = max(beyond, half-l.centre, l.centre+half-float64(s.width()))
	}

	side := int(math.Ceil(beyond))
	for i := range s.labels {
		s.labels[i].centre += float64(side)
	}

	s.quiet.left += side
	s.quiet.right += side
}
