package pdfsign

import (
	"fmt"
	"strings"

	"relaypdf/render/pdffile"
)

// Visible is a box with text and an image, in points from the lower left corner of a page as stored.
type Visible struct {
	Page                int // from 1
	X, Y, Width, Height float64
	Lines               []string
	Image               *Image
}

// Image is an image without transparency, as rows of three bytes for each pixel.
type Image struct {
	Width, Height int
	RGB           []byte
}

// visible adds the appearance of a box, and returns its rectangle.
func (d *document) visible(v *Visible) (box []any, appearance string, err error) {
	if v.Width <= 0 || v.Height <= 0 {
		return nil, "", fail(BadPage, "the box of the signature must have a width and a height")
	}
	resources := pdffile.Dict{}
	var content strings.Builder
	left := 0.0
	if i := v.Image; i != nil {
		if i.Width < 1 || i.Height < 1 || len(i.RGB) != 3*i.Width*i.Height {
			return nil, "", fail(BadText, "the image of the signature is damaged")
		}
		ref := d.Reserve()
		d.Set(ref, pdffile.Deflated(pdffile.Dict{
			"/Type": "/XObject", "/Subtype": "/Image", "/Width": i.Width, "/Height": i.Height, "/ColorSpace": "/DeviceRGB", "/BitsPerComponent": 8,
		}, i.RGB))
		resources["/XObject"] = pdffile.Dict{"/Im": ref}
		within := v.Width
		if len(v.Lines) > 0 {
			within /= 2
		}
		scale := min(within/float64(i.Width), v.Height/float64(i.Height))
		width, height := scale*float64(i.Width), scale*float64(i.Height)
		fmt.Fprintf(&content, "q %.3f 0 0 %.3f 0 %.3f cm /Im Do Q\n", width, height, (v.Height-height)/2)
		left = within
	}
	if len(v.Lines) > 0 {
		if d.archival() {
			return nil, "", fail(BadText, "the document claims PDF/A, so the box of the signature cannot have text in a font that is not embedded: use an image")
		}
		if err := v.write(&content, left); err != nil {
			return nil, "", err
		}
		resources["/Font"] = pdffile.Dict{"/F": pdffile.Dict{"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}}
	}
	appearance = d.Reserve()
	d.Set(appearance, pdffile.Stream{Entries: pdffile.Dict{
		"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, v.Width, v.Height}, "/Resources": resources,
	}, Content: []byte(content.String())})
	return []any{v.X, v.Y, v.X + v.Width, v.Y + v.Height}, appearance, nil
}

// write writes the lines as large as they fit.
func (v *Visible) write(content *strings.Builder, left float64) error {
	const most, average, leading = 12.0, 0.56, 1.2 // points, and parts of the size
	size, longest := min(most, v.Height/(leading*float64(len(v.Lines)))), 1
	for _, line := range v.Lines {
		longest = max(longest, len([]rune(line)))
	}
	size = min(size, (v.Width-left)/(average*float64(longest)))
	top := (v.Height+leading*size*float64(len(v.Lines)))/2 - size
	fmt.Fprintf(content, "q BT 0 g /F %.3f Tf %.3f TL %.3f %.3f Td\n", size, leading*size, left, top)
	for _, line := range v.Lines {
		content.WriteString("<")
		for _, r := range line {
			if r < ' ' || r > '~' && r < 0xA0 || r > 0xFF {
				return fail(BadText, "the box of the signature cannot show %q", string(r))
			}
			fmt.Fprintf(content, "%02x", r)
		}
		content.WriteString("> Tj T*\n")
	}
	content.WriteString("ET Q\n")
	return nil
}

// archival reports whether the document claims to conform to PDF/A.
func (d *document) archival() bool {
	s, ok := d.Stream(pdffile.Reference(d.Catalog()["/Metadata"]))
	if !ok {
		return false
	}
	content, err := d.File.Plain(s)
	if err != nil {
		return true
	}
	return strings.Contains(string(content), "http://www.aiim.org/pdfa/ns/id/")
}
