package images

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"

	"github.com/klauspost/compress/zlib"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Pixels holds the pixels of an image, eight bits per channel, row by row.
type Pixels struct {
	Width, Height, Channels int
	Data                    []byte
	// planes has the pixels of a colour JPEG, instead of data. The JPEG becomes a JPEG
	// again, or grey, and both are made of its planes.
	planes *image.YCbCr
}

// The number of channels of colours.
const (
	RGB  = 3
	CMYK = 4
)

// Size returns the number of bytes of the pixels.
func (p *Pixels) Size() int { return p.Width * p.Height * p.Channels }

// DecodeJPEG reads the pixels of a JPEG, if it matches its description in the document.
func (p *Pixels) DecodeJPEG(content []byte) bool {
	config, err := jpeg.DecodeConfig(bytes.NewReader(content))
	if err != nil || config.Width != p.Width || config.Height != p.Height {
		return false
	}
	img, err := jpeg.Decode(bytes.NewReader(content))
	if err != nil {
		return false
	}

	if planes, ok := img.(*image.YCbCr); ok {
		p.planes = planes
		return p.Channels == RGB
	}

	p.Data = make([]byte, 0, p.Size())
	for y := range p.Height {
		switch img := img.(type) {
		case *image.Gray:
			p.Data = append(p.Data, img.Pix[y*img.Stride:y*img.Stride+p.Width]...)
		case *image.CMYK:
			p.Data = append(p.Data, img.Pix[y*img.Stride:y*img.Stride+p.Width*CMYK]...)
		case *image.RGBA:
			for x := range p.Width {
				p.Data = append(p.Data, img.Pix[y*img.Stride+4*x:y*img.Stride+4*x+RGB]...)
			}
		}
	}
	return len(p.Data) == p.Size()
}

// Inflate reads the pixels of a deflated image.
func (p *Pixels) Inflate(content []byte, param pdffile.Dict) bool {
	predictor, given := param["/Predictor"].(float64)
	if !given {
		predictor = 1
	}

	const firstPNG = 10
	row := p.Width * p.Channels
	size := row * p.Height
	if predictor > 1 {
		colors, isColors := param["/Colors"].(float64)
		columns, isColumns := param["/Columns"].(float64)
		bits, isBits := param["/BitsPerComponent"].(float64)
		if (isColors || p.Channels > 1) && int(colors) != p.Channels ||
			!isColumns || int(columns) != p.Width || isBits && bits != 8 {
			return false
		}
	}
	if predictor >= firstPNG {
		size += p.Height // Each row has a byte with the way of its prediction.
	}

	data, _ := pdffile.Inflate(content, size) // What follows the pixels does not count.
	if len(data) < size {
		return false
	}

	var err error
	p.Data, err = pdffile.Unpredict(data, param, row)
	return err == nil
}

// luma returns the brightness of a colour.
func luma(r, g, b byte) byte {
	return byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// Gray returns the pixels without their colours.
func (p Pixels) Gray() Pixels {
	out := Pixels{Width: p.Width, Height: p.Height, Channels: 1, Data: make([]byte, p.Width*p.Height)}
	if p.planes != nil {
		for y := range p.Height {
			copy(out.Data[y*p.Width:(y+1)*p.Width], p.planes.Y[y*p.planes.YStride:])
		}
		return out
	}

	for i := range out.Data {
		c := p.Data[i*p.Channels : (i+1)*p.Channels]
		switch p.Channels {
		case 1:
			out.Data[i] = c[0]
		case RGB:
			out.Data[i] = luma(c[0], c[1], c[2])
		case CMYK:
			out.Data[i] = luma(color.CMYKToRGB(c[0], c[1], c[2], c[3]))
		}
	}
	return out
}

// Encode returns the pixels as a document has them, and their filter. They become a JPEG of
// the given quality, or are deflated, whichever is smaller; content is nil if that fails.
// Quality 0 rules out JPEG. Deflating a former JPEG is not worth it, unless it is required.
func (p Pixels) Encode(quality int, either bool) (content []byte, filter string) {
	if quality > 0 && p.Channels != CMYK {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, p.image(), &jpeg.Options{Quality: quality}); err != nil {
			return nil, ""
		}
		content = b.Bytes()
		filter = "/DCTDecode"
	}

	if either && content != nil || p.planes != nil {
		return content, filter
	}

	var b bytes.Buffer
	z := zlib.NewWriter(&b) // qpdf deflates harder, once it is decided
	if _, err := z.Write(p.Data[:p.Size()]); err != nil || z.Close() != nil {
		return nil, ""
	}
	if content == nil || b.Len() < len(content) {
		return b.Bytes(), "/FlateDecode"
	}
	return content, filter
}

// image returns the pixels as an image, of grey or in colour.
func (p Pixels) image() image.Image {
	if p.planes != nil {
		return p.planes
	}

	bounds := image.Rect(0, 0, p.Width, p.Height)
	if p.Channels == 1 {
		return &image.Gray{Pix: p.Data, Stride: p.Width, Rect: bounds}
	}

	img := image.NewRGBA(bounds)
	for i := range p.Width * p.Height {
		copy(img.Pix[4*i:], p.Data[RGB*i:RGB*i+RGB])
		img.Pix[4*i+RGB] = 0xff
	}
	return img
}
