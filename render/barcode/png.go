package barcode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"math"
	"sync"

	"golang.org/x/image/vector"
)

// drawPNG draws a symbol as a PNG: with one bit per pixel, or with four for letters, whose edges are smoothed.
// Values are from dark to light: shades of grey, or those of a palette.
func drawPNG(s *symbol, f frame, dark, light color.NRGBA) ([]byte, error) {
	c := &canvas{width: f.width, height: f.height, depth: 1, dark: dark, light: light}
	if len(s.labels) > 0 {
		c.depth = 4
		ink, err := drawInk(s, f)
		if err != nil {
			return nil, err
		}
		c.ink = ink
	}

	w, _ := compressors.Get().(*zlib.Writer)
	defer compressors.Put(w)
	w.Reset(&c.data)
	c.stream = w

	empty := c.line(nil)
	c.repeat(empty, f.top+s.quiet.top*f.pixels)
	for _, r := range s.rows {
		line := c.line(empty)
		for x, dark := range r.dark {
			if dark {
				c.blacken(line, f.left+(s.quiet.left+x)*f.pixels, f.pixels)
			}
		}
		c.repeat(line, r.height*f.pixels)
	}

	c.repeat(empty, c.height-c.y)
	if err := c.stream.Close(); err != nil {
		return nil, err
	}
	return c.file(), nil
}

// compressors keeps zlib's writers, because each has some 1.2 MB of tables. A small
// code takes a fifth less time than at the default level, and a fifth more bytes.
var compressors = sync.Pool{New: func() any {
	w, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // no error: the level is valid
	return w
}}

// canvas is a PNG being written from the top down.
type canvas struct {
	width, height int
	depth         int          // bits per pixel
	ink           *image.Alpha // the letters; nil without
	y             int          // the next line
	data          bytes.Buffer
	stream        *zlib.Writer // to data
	dark, light   color.NRGBA
}

// stride returns the bytes of a line.
func (c *canvas) stride() int { return (c.width*c.depth + 7) / 8 }

// line returns a copy of a line, or a white one.
func (c *canvas) line(from []byte) []byte {
	line := make([]byte, c.stride())
	if from != nil {
		copy(line, from)
		return line
	}
	for i := range line {
		line[i] = 0xFF
	}
	return line
}

// blacken makes n pixels black, from x on.
func (c *canvas) blacken(line []byte, x, n int) {
	for bit := x * c.depth; bit < (x+n)*c.depth; bit++ {
		line[bit/8] &^= 0x80 >> (bit % 8)
	}
}

// repeat writes a line n times, below the letters if there are any.
func (c *canvas) repeat(line []byte, n int) {
	for end := c.y + n; c.y < end; {
		switch {
		case c.ink == nil || c.y >= c.ink.Rect.Max.Y:
			n = end - c.y
			c.write(line, n)
		case c.y < c.ink.Rect.Min.Y:
			n = min(end, c.ink.Rect.Min.Y) - c.y
			c.write(line, n)
		default:
			n = 1
			c.write(c.inked(line), 1)
		}
		c.y += n
	}
}

// write compresses a line n times: once unchanged, and as zeros for its repeats (PNG's filter Up). Writing to a
// buffer never fails.
func (c *canvas) write(line []byte, n int) {
	if n == 0 {
		return
	}
	_, _ = c.stream.Write(append([]byte{0}, line...))
	if n > 1 {
		same := make([]byte, len(line)+1)
		same[0] = 2
		for range n - 1 {
			_, _ = c.stream.Write(same)
		}
	}
}

// inked returns the line with the letters of this height on it.
func (c *canvas) inked(line []byte) []byte {
	line = c.line(line)
	alphas := c.ink.Pix[(c.y-c.ink.Rect.Min.Y)*c.ink.Stride:]
	for x := range c.width {
		if alpha := int(alphas[x]); alpha > 0 {
			shift := 4 - 4*(x%2)
			light := 15 - (alpha*15+127)/255
			old := int(line[x/2] >> shift & 15)
			line[x/2] &^= 15 << shift
			line[x/2] |= byte(min(old, light) << shift)
		}
	}
	return line
}

// drawInk draws the labels on lines as wide as the image, from the highest
// letter to the lowest.
func drawInk(s *symbol, f frame) (*image.Alpha, error) {
	top := math.Inf(1)
	bottom := 0.0
	for _, l := range s.labels {
		top = min(top, l.baseline-l.size)
		bottom = max(bottom, l.baseline+l.size*0.3)
	}

	unit := float64(f.pixels)
	left := float64(f.left)
	above := float64(f.top)
	ink := image.NewAlpha(image.Rect(0, int(top*unit+above), f.width, min(int(math.Ceil(bottom*unit+above)), f.height)))
	var z vector.Rasterizer
	for _, l := range s.labels {
		half := (l.width() + l.size) / 2
		box := image.Rect(
			int((l.centre-half)*unit+left), int((l.baseline-l.size)*unit+above),
			int((l.centre+half)*unit+left), int(math.Ceil((l.baseline+l.size*0.3)*unit+above)),
		).Intersect(ink.Rect)

		z.Reset(box.Dx(), box.Dy())
		if err := l.draw(&z, unit, left-float64(box.Min.X), above-float64(box.Min.Y)); err != nil {
			return nil, err
		}
		z.Draw(ink, box, image.Opaque, image.Point{})
	}
	return ink, nil
}

// file returns the finished PNG.
func (c *canvas) file() []byte {
	data := c.data.Bytes()
	out := make([]byte, 0, len(data)+64)
	out = append(out, "\x89PNG\r\n\x1a\n"...)

	header := make([]byte, 13)
	binary.BigEndian.PutUint32(header, uint32(c.width))
	binary.BigEndian.PutUint32(header[4:], uint32(c.height))
	header[8] = byte(c.depth) // and grey, deflate, the usual filters, not interlaced: 0

	if c.dark == (color.NRGBA{A: 255}) && c.light == (color.NRGBA{255, 255, 255, 255}) {
		out = appendChunk(out, "IHDR", header)
	} else {
		header[9] = 3 // a palette
		out = appendChunk(out, "IHDR", header)
		colors, alphas := palette(c.dark, c.light, 1<<c.depth)
		out = appendChunk(out, "PLTE", colors)
		if alphas != nil {
			out = appendChunk(out, "tRNS", alphas)
		}
	}

	out = appendChunk(out, "IDAT", data)
	return appendChunk(out, "IEND", nil)
}

// appendChunk appends a chunk: length, name, data and checksum.
func appendChunk(out []byte, name string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	start := len(out)
	out = append(out, name...)
	out = append(out, data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}
