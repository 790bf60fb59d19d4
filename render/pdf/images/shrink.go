package images

import "image"

// Shrink returns fewer pixels: each is the mean of those whose place it takes.
func (p Pixels) Shrink(width, height int) Pixels {
	width, height = min(width, p.Width), min(height, p.Height)
	out := Pixels{Width: width, Height: height, Channels: p.Channels}
	if p.planes == nil {
		out.Data = make([]byte, out.Size())
		from := plane{p.Data, p.Width, p.Height, p.Channels, p.Width * p.Channels}
		from.shrink(plane{out.Data, width, height, p.Channels, width * p.Channels})
		return out
	}

	out.planes = image.NewYCbCr(image.Rect(0, 0, width, height), p.planes.SubsampleRatio)
	from := planesOf(p.planes)
	to := planesOf(out.planes)
	for i := range from {
		from[i].shrink(to[i])
	}
	return out
}

// plane holds the rows of an image, or of a part of its colours, with a fixed number of bytes each.
type plane struct {
	data                            []byte
	width, height, channels, stride int
}

// planesOf returns the planes of an image whose bounds begin at zero.
func planesOf(img *image.YCbCr) [3]plane {
	last := img.Rect.Max.Sub(image.Pt(1, 1))
	width := img.COffset(last.X, 0) + 1
	height := img.COffset(0, last.Y)/img.CStride + 1
	return [3]plane{
		{img.Y, last.X + 1, last.Y + 1, 1, img.YStride},
		{img.Cb, width, height, 1, img.CStride},
		{img.Cr, width, height, 1, img.CStride},
	}
}

// shrink fills a plane that is not larger with the means of this one.
func (from plane) shrink(to plane) {
	columns := shares(from.width, to.width)
	rows := shares(from.height, to.height)
	sums := make([]uint32, from.width*from.channels)

	for y, row := range rows {
		clear(sums)
		for i, weight := range row.weights {
			line := from.data[(row.first+i)*from.stride:][:len(sums)]
			for x, v := range line {
				sums[x] += weight * uint32(v)
			}
		}

		line := to.data[y*to.stride:][:0]
		for _, column := range columns {
			for c := range from.channels {
				mean := uint64(whole * whole / 2) // which rounds it
				for i, weight := range column.weights {
					mean += uint64(weight) * uint64(sums[(column.first+i)*from.channels+c])
				}
				line = append(line, byte(mean/(whole*whole)))
			}
		}
	}
}

// share holds the source pixels that one target pixel averages: the index of the first, and their weights, whose sum is
// whole.
type share struct {
	first   int
	weights []uint32
}

const whole = 1 << 16

// shares divides a number of pixels among fewer.
func shares(from, to int) []share {
	all := make([]share, to)
	weights := make([]uint32, 0, from+to)

	for i := range all {
		// In fractions of a pixel: each pixel has as many as there are target pixels.
		left := i * from
		right := (i + 1) * from
		first := left / to
		begin := len(weights)
		counted := 0

		for pixel := first; pixel*to < right; pixel++ {
			upTo := (min(right, (pixel+1)*to) - left) * whole / from
			weights = append(weights, uint32(upTo-counted))
			counted = upTo
		}
		all[i] = share{first, weights[begin:]}
	}
	return all
}
