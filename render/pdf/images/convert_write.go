package images

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	imagedraw "image/draw"
	"io"
	"slices"
)

// profiled is a writer that inserts bytes after the first `at` bytes of an image.
type profiled struct {
	io.Writer

	at     int // number of bytes before the insertion
	insert []byte
}

// Write writes a part of the image.
func (p *profiled) Write(b []byte) (int, error) {
	if p.insert == nil || p.at > len(b) {
		p.at -= len(b)
		return p.Writer.Write(b)
	}
	_, err := p.Writer.Write(slices.Concat(b[:p.at], p.insert, b[p.at:]))
	p.insert = nil
	return len(b), err
}

// pngHeader is the length of a PNG's signature and header.
const pngHeader = 8 + 25

// pngProfile returns a colour profile in the form of a PNG chunk.
func pngProfile(profile []byte) []byte {
	if len(profile) == 0 {
		return nil
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(profile) // to memory
	_ = z.Close()
	body := append([]byte("iCCPprofile\x00\x00"), packed.Bytes()...)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)-len("iCCP")))
	return binary.BigEndian.AppendUint32(append(chunk, body...), crc32.ChecksumIEEE(body))
}

// jpegProfile returns a colour profile in the form of numbered JPEG segments.
func jpegProfile(profile []byte) (segments []byte) {
	const name, maxPart = "ICC_PROFILE\x00", 65_000
	count := (len(profile) + maxPart - 1) / maxPart
	if count > 255 {
		return nil
	}

	for number := 1; len(profile) > 0; number++ {
		part := profile[:min(maxPart, len(profile))]
		profile = profile[len(part):]
		segments = append(segments, 0xff, 0xe2)
		segments = binary.BigEndian.AppendUint16(segments, uint16(2+len(name)+2+len(part)))
		segments = append(append(segments, name...), byte(number), byte(count))
		segments = append(segments, part...)
	}

	return segments
}

// maxColors is the maximum number of colours of a GIF.
const maxColors = 256

// palettedImage returns an image with the colours that a GIF may have: its own if they are few enough, or else the
// mean colours of similar ones.
func palettedImage(img *image.NRGBA) *image.Paletted {
	bounds := image.Rect(0, 0, img.Rect.Dx(), img.Rect.Dy())

	// GIF has no partial transparency: half-transparent pixels become opaque or fully
	// transparent.
	solid := image.NewNRGBA(bounds)
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			if c := img.NRGBAAt(img.Rect.Min.X+x, img.Rect.Min.Y+y); c.A >= 128 {
				solid.SetNRGBA(x, y, color.NRGBA{R: c.R, G: c.G, B: c.B, A: 255})
			}
		}
	}

	if own := ownColors(solid); own != nil {
		out := image.NewPaletted(bounds, own)
		imagedraw.Draw(out, bounds, solid, image.Point{}, imagedraw.Src)
		return out
	}

	palette := append(meanColors(solid, maxColors-1), color.NRGBA{})
	out := image.NewPaletted(bounds, palette)
	imagedraw.FloydSteinberg.Draw(out, bounds, solid, image.Point{})

	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			if solid.Pix[y*solid.Stride+4*x+3] == 0 {
				out.Pix[y*out.Stride+x] = byte(len(palette) - 1)
			}
		}
	}

	return out
}

// ownColors returns the colours of an image, nil if there are too many.
func ownColors(img *image.NRGBA) (palette color.Palette) {
	seen := map[color.NRGBA]bool{}

	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			c := img.NRGBAAt(x, y)
			if seen[c] {
				continue
			}
			if len(palette) == maxColors {
				return nil
			}
			seen[c] = true
			palette = append(palette, c)
		}
	}

	return palette
}

// tone is a group of similar colours, and the number of their pixels.
type tone struct {
	sum   [3]int
	count int
}

func (t tone) mean(c int) int { return t.sum[c] / t.count }

// meanColors returns a palette in which each colour of the image has a near match: the widest group of colours is
// divided at its middle, again and again.
func meanColors(img *image.NRGBA, count int) color.Palette {
	const bits = 5
	bins := make([]tone, 1<<(3*bits))
	for y := img.Rect.Min.Y; y < img.Rect.Max.Y; y++ {
		for x := img.Rect.Min.X; x < img.Rect.Max.X; x++ {
			c := img.NRGBAAt(x, y)
			if c.A < 128 {
				continue
			}
			bin := &bins[int(c.R>>3)<<(2*bits)|int(c.G>>3)<<bits|int(c.B>>3)]
			bin.count++
			for i, v := range []byte{c.R, c.G, c.B} {
				bin.sum[i] += int(v)
			}
		}
	}

	bins = slices.DeleteFunc(bins, func(t tone) bool { return t.count == 0 })
	if len(bins) == 0 {
		return color.Palette{color.NRGBA{A: 255}}
	}

	groups := [][]tone{bins}
	for len(groups) < count {
		widest := 0
		channel := 0
		width := 0
		for i, group := range groups {
			for c := range 3 {
				low := 255
				high := 0
				for _, t := range group {
					low = min(low, t.mean(c))
					high = max(high, t.mean(c))
				}
				if high-low > width {
					widest = i
					channel = c
					width = high - low
				}
			}
		}
		if width == 0 {
			break
		}

		group := groups[widest]
		slices.SortFunc(group, func(a, b tone) int { return cmp.Compare(a.mean(channel), b.mean(channel)) })
		at := half(group)
		groups[widest] = group[:at]
		groups = append(groups, group[at:])
	}

	var palette color.Palette
	for _, group := range groups {
		var all tone
		for _, t := range group {
			all.count += t.count
			for c := range 3 {
				all.sum[c] += t.sum[c]
			}
		}
		palette = append(palette, color.NRGBA{R: byte(all.mean(0)), G: byte(all.mean(1)), B: byte(all.mean(2)), A: 255})
	}

	return palette
}

// half returns the index that divides a group of colours into two parts with about the same number of pixels and at
// least one colour each.
func half(group []tone) int {
	total := 0
	so := 0
	for _, t := range group {
		total += t.count
	}
	for i, t := range group {
		if so += t.count; so*2 >= total {
			return min(max(1, i), len(group)-1)
		}
	}
	return 1
}
