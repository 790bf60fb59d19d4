package pdf

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"

	"github.com/klauspost/compress/zlib"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// pixels holds the pixels of an image, eight bits per channel, row by row.
type pixels struct {
	width, height, channels int
	data                    []byte
	// planes has the pixels of a colour JPEG, instead of data. The JPEG becomes a JPEG
	// again, or grey, and both are made of its planes.
	planes *image.YCbCr
}

// The number of channels of colours.
const (
	rgb  = 3
	cmyk = 4
)

func (p *pixels) size() int { return p.width * p.height * p.channels }

// decodeJPEG reads the pixels of a JPEG, if it matches its description in the document.
func (p *pixels) decodeJPEG(content []byte) bool {
	config, err := jpeg.DecodeConfig(bytes.NewReader(content))
	if err != nil || config.Width != p.width || config.Height != p.height {
		return false
	}
	img, err := jpeg.Decode(bytes.NewReader(content))
	if err != nil {
		return false
	}

	if planes, ok := img.(*image.YCbCr); ok {
		p.planes = planes
		return p.channels == rgb
	}

	p.data = make([]byte, 0, p.size())
	for y := range p.height {
		switch img := img.(type) {
		case *image.Gray:
			p.data = append(p.data, img.Pix[y*img.Stride:y*img.Stride+p.width]...)
		case *image.CMYK:
			p.data = append(p.data, img.Pix[y*img.Stride:y*img.Stride+p.width*cmyk]...)
		case *image.RGBA:
			for x := range p.width {
				p.data = append(p.data, img.Pix[y*img.Stride+4*x:y*img.Stride+4*x+rgb]...)
			}
		}
	}
	return len(p.data) == p.size()
}

// inflate reads the pixels of a deflated image.
func (p *pixels) inflate(content []byte, param pdffile.Dict) bool {
	predictor, given := param["/Predictor"].(float64)
	if !given {
		predictor = 1
	}

	const firstPNG = 10
	row := p.width * p.channels
	size := row * p.height
	if predictor > 1 {
		colors, isColors := param["/Colors"].(float64)
		columns, isColumns := param["/Columns"].(float64)
		bits, isBits := param["/BitsPerComponent"].(float64)
		if (isColors || p.channels > 1) && int(colors) != p.channels ||
			!isColumns || int(columns) != p.width || isBits && bits != 8 {
			return false
		}
	}
	if predictor >= firstPNG {
		size += p.height // Each row has a byte with the way of its prediction.
	}

	data, _ := pdffile.Inflate(content, size) // What follows the pixels does not count.
	if len(data) < size {
		return false
	}

	var err error
	p.data, err = pdffile.Unpredict(data, param, row)
	return err == nil
}

// luma returns the brightness of a colour.
func luma(r, g, b byte) byte {
	return byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// gray returns the pixels without their colours.
func (p pixels) gray() pixels {
	out := pixels{width: p.width, height: p.height, channels: 1, data: make([]byte, p.width*p.height)}
	if p.planes != nil {
		for y := range p.height {
			copy(out.data[y*p.width:(y+1)*p.width], p.planes.Y[y*p.planes.YStride:])
		}
		return out
	}

	for i := range out.data {
		c := p.data[i*p.channels : (i+1)*p.channels]
		switch p.channels {
		case 1:
			out.data[i] = c[0]
		case rgb:
			out.data[i] = luma(c[0], c[1], c[2])
		case cmyk:
			out.data[i] = luma(color.CMYKToRGB(c[0], c[1], c[2], c[3]))
		}
	}
	return out
}

// encode returns the pixels as a document has them, and their filter. They become a JPEG of
// the given quality, or are deflated, whichever is smaller; content is nil if that fails.
// Quality 0 rules out JPEG. Deflating a former JPEG is not worth it, unless it is required.
func (p pixels) encode(quality int, either bool) (content []byte, filter string) {
	if quality > 0 && p.channels != cmyk {
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
	if _, err := z.Write(p.data[:p.size()]); err != nil || z.Close() != nil {
		return nil, ""
	}
	if content == nil || b.Len() < len(content) {
		return b.Bytes(), "/FlateDecode"
	}
	return content, filter
}

// image returns the pixels as an image, of grey or in colour.
func (p pixels) image() image.Image {
	if p.planes != nil {
		return p.planes
	}

	bounds := image.Rect(0, 0, p.width, p.height)
	if p.channels == 1 {
		return &image.Gray{Pix: p.data, Stride: p.width, Rect: bounds}
	}

	img := image.NewRGBA(bounds)
	for i := range p.width * p.height {
		copy(img.Pix[4*i:], p.data[rgb*i:rgb*i+rgb])
		img.Pix[4*i+rgb] = 0xff
	}
	return img
}
