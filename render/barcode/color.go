package barcode

import (
	"errors"
	"fmt"
	"image/color"
	"math"
)

// minContrast is the minimum contrast between a code and its surroundings, by the formula of WCAG. Scanners
// distinguish less than eyes.
const minContrast = 2

// ErrContrast means that scanners could not separate a code from its background.
var ErrContrast = errors.New("barcode: color and background are too much alike")

// colors returns the colours of the code and of its surroundings.
func (req *Request) colors() (dark, light color.NRGBA, err error) {
	dark = color.NRGBA{A: 255}
	light = color.NRGBA{255, 255, 255, 255}
	if req.Color != nil {
		dark = *req.Color
	}
	if req.Background != nil {
		light = *req.Background
	}

	a, b := luminance(dark), luminance(light)
	if (max(a, b)+0.05)/(min(a, b)+0.05) < minContrast {
		return dark, light, ErrContrast
	}
	return dark, light, nil
}

// luminance returns the brightness of a colour on white, from 0 to 1.
func luminance(c color.NRGBA) float64 {
	sum := 0.0
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		channel := (float64(v)*float64(c.A) + 255*float64(255-c.A)) / (255 * 255)
		if channel <= 0.04045 {
			channel /= 12.92
		} else {
			channel = math.Pow((channel+0.055)/1.055, 2.4)
		}
		sum += channel * [3]float64{0.2126, 0.7152, 0.0722}[i]
	}
	return sum
}

// between mixes two colours: 0 is all a, 1 all b.
func between(a, b color.NRGBA, share float64) color.NRGBA {
	weightA := float64(a.A) * (1 - share)
	weightB := float64(b.A) * share
	alpha := weightA + weightB
	if alpha == 0 {
		return color.NRGBA{}
	}
	mix := func(x, y uint8) uint8 { return uint8(math.Round((float64(x)*weightA + float64(y)*weightB) / alpha)) }
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), uint8(math.Round(alpha))}
}

// palette returns the PNG chunks of a palette from dark to light in n steps.
func palette(dark, light color.NRGBA, n int) (colors, alphas []byte) {
	opaque := true
	for i := range n {
		c := between(dark, light, float64(i)/float64(n-1))
		colors = append(colors, c.R, c.G, c.B)
		alphas = append(alphas, c.A)
		opaque = opaque && c.A == 255
	}

	if opaque {
		alphas = nil
	}
	return colors, alphas
}

// svgFill is the attributes of a path that has a colour.
func svgFill(c color.NRGBA) string {
	fill := fmt.Sprintf(`fill="#%02x%02x%02x"`, c.R, c.G, c.B)
	if c.A < 255 {
		fill += fmt.Sprintf(` fill-opacity="%.3g"`, float64(c.A)/255)
	}
	return fill
}
