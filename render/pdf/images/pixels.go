package images

import (
	"image"
	"image/color"
	"io"
)

// deep reports whether a colour model has more than eight bits a channel.
func deep(m color.Model) bool {
	return m == color.Gray16Model || m == color.RGBA64Model || m == color.NRGBA64Model
}

// fromPixels makes a PDF image of decoded pixels. Transparency becomes a mask, because PDF
// stores them separately.
func fromPixels(img image.Image) *RasterImage {
	bounds := img.Bounds()
	p := &RasterImage{
		width: bounds.Dx(), height: bounds.Dy(),
		resolutionX: defaultResolution, resolutionY: defaultResolution, orientation: 1,
		colors: "/DeviceRGB", channels: 3, bits: 8, filter: "/Filter /FlateDecode", img: img,
	}

	if deep(img.ColorModel()) {
		p.bits = 16
	}
	if m := img.ColorModel(); m == color.GrayModel || m == color.Gray16Model {
		p.colors = "/DeviceGray"
		p.channels = 1
	}

	rows := &pixelRows{img: img, wide: p.bits == 16, grey: p.channels == 1}
	p.write = deflate(rows.writeColors)
	if !opaque(img) {
		mask := *p
		mask.colors = "/DeviceGray"
		mask.channels = 1
		mask.write = deflate(rows.writeAlpha)
		p.mask = &mask
	}

	return p
}

// opaque reports whether no pixel is transparent.
func opaque(img image.Image) bool {
	if o, ok := img.(interface{ Opaque() bool }); ok {
		return o.Opaque()
	}
	return false
}

// pixelRows writes the channels of an image, row by row.
type pixelRows struct {
	img        image.Image
	wide, grey bool
}

// writeColors writes the colours without their transparency.
func (r *pixelRows) writeColors(out io.Writer) error {
	return r.each(out, func(row []byte, c color.NRGBA64) []byte {
		row = r.channel(row, c.R)
		if r.grey {
			return row
		}
		return r.channel(r.channel(row, c.G), c.B)
	})
}

// writeAlpha writes the opacity of each pixel.
func (r *pixelRows) writeAlpha(out io.Writer) error {
	return r.each(out, func(row []byte, c color.NRGBA64) []byte { return r.channel(row, c.A) })
}

func (r *pixelRows) channel(row []byte, v uint16) []byte {
	if r.wide {
		return append(row, byte(v>>8), byte(v))
	}
	return append(row, byte(v>>8))
}

// each writes the result of add for the pixels of each row.
func (r *pixelRows) each(out io.Writer, add func([]byte, color.NRGBA64) []byte) error {
	at := r.reader()
	bounds := r.img.Bounds()
	var row []byte

	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		row = row[:0]
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			row = add(row, at(x, y))
		}
		if _, err := out.Write(row); err != nil {
			return err
		}
	}

	return nil
}

// reader returns how a pixel is read: fast for the usual kinds of image.
func (r *pixelRows) reader() func(x, y int) color.NRGBA64 {
	const wide = 0x101 // makes sixteen bits of eight

	switch img := r.img.(type) {
	case *image.NRGBA:
		return func(x, y int) color.NRGBA64 {
			c := img.NRGBAAt(x, y)
			return color.NRGBA64{
				R: uint16(c.R) * wide,
				G: uint16(c.G) * wide,
				B: uint16(c.B) * wide,
				A: uint16(c.A) * wide,
			}
		}
	case *image.NRGBA64:
		return img.NRGBA64At
	case *image.YCbCr:
		return func(x, y int) color.NRGBA64 {
			c := img.YCbCrAt(x, y)
			red, green, blue := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			return color.NRGBA64{R: uint16(red) * wide, G: uint16(green) * wide, B: uint16(blue) * wide, A: 0xffff}
		}
	case *image.Paletted:
		palette := make([]color.NRGBA64, 256)
		for i, c := range img.Palette {
			palette[i] = nrgba64(c)
		}
		return func(x, y int) color.NRGBA64 { return palette[img.ColorIndexAt(x, y)] }
	}

	return func(x, y int) color.NRGBA64 { return nrgba64(r.img.At(x, y)) }
}

func nrgba64(c color.Color) color.NRGBA64 {
	converted, _ := color.NRGBA64Model.Convert(c).(color.NRGBA64) // the type that the model returns
	return converted
}
