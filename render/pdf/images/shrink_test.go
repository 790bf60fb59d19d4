package images

import (
	"image"
	"testing"
)

// TestShrinkIsTheMean takes fewer pixels, and holds each to the mean of those whose place
// it takes; the planes of a JPEG, to which its colours may be coarser, shrink alike.
func TestShrinkIsTheMean(t *testing.T) {
	const width, height = 301, 201
	p := Pixels{Width: width, Height: height, Channels: RGB}
	for y := range height {
		for x := range width {
			p.Data = append(p.Data, byte(x*255/width), byte(y*255/height), byte((x*7+y*13)%256))
		}
	}
	for _, size := range []image.Point{{1, 1}, {100, 67}, {300, 200}, {301, 201}, {999, 999}} {
		got := p.Shrink(size.X, size.Y)
		if got.Width != min(size.X, width) || got.Height != min(size.Y, height) || len(got.Data) != got.Size() {
			t.Fatalf("%v: %d × %d in %d bytes", size, got.Width, got.Height, len(got.Data))
		}
		across, down := float64(width)/float64(got.Width), float64(height)/float64(got.Height)
		for i, v := range got.Data {
			x, y, c := i/RGB%got.Width, i/RGB/got.Width, i%RGB
			if want := mean(p, c, float64(x)*across, float64(y)*down, across, down); float64(v)-want > 0.51 || want-float64(v) > 0.51 {
				t.Fatalf("%v: channel %d of %d, %d is %d, want %.2f", size, c, x, y, v, want)
			}
		}
	}
	for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio410} {
		planes := image.NewYCbCr(image.Rect(0, 0, width, height), ratio)
		for y := range height {
			for x := range width {
				planes.Y[planes.YOffset(x, y)], planes.Cb[planes.COffset(x, y)], planes.Cr[planes.COffset(x, y)] = byte(x/2), byte(y), 77
			}
		}
		got := Pixels{Width: width, Height: height, Channels: RGB, planes: planes}.Shrink(100, 67)
		if c := got.planes.YCbCrAt(50, 50); got.planes.Rect != image.Rect(0, 0, 100, 67) || apart(c.Y, 76) || apart(c.Cb, 151) || c.Cr != 77 {
			t.Errorf("%v: the middle is %v", ratio, c)
		}
	}
}

// apart reports whether two numbers are more than three apart.
func apart(a, b byte) bool { return max(a, b)-min(a, b) > 3 }

// mean returns the mean of a channel in a part of an image.
func mean(p Pixels, channel int, left, top, width, height float64) float64 {
	sum := 0.
	for y := int(top); y < p.Height && float64(y) < top+height; y++ {
		for x := int(left); x < p.Width && float64(x) < left+width; x++ {
			area := (min(left+width, float64(x+1)) - max(left, float64(x))) * (min(top+height, float64(y+1)) - max(top, float64(y)))
			sum += area * float64(p.Data[(y*p.Width+x)*RGB+channel])
		}
	}
	return sum / width / height
}
