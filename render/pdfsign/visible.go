package pdfsign

import (
	"fmt"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Visible is a box with text and an image, in points from the top left of a page as displayed, after rotation and
// cropping.
type Visible struct {
	Page                int // from 1
	X, Y, Width, Height float64
	Lines               []string
	Image               *Image
	// Over returns content that is drawn above the box, in the units of its page; nil is none. It may use no resources.
	Over func(f *pdffile.File, page pdffile.Page) string `json:"-"`
}

// Image is an image without transparency, as rows of three bytes for each pixel.
type Image struct {
	Width, Height int
	RGB           []byte
}

// visible adds the appearance of a box, and returns its rectangle.
func (d *editedFile) visible(page pdffile.Page, v *Visible) (box []any, appearance string, err error) {
	box, matrix, err := d.boxOn(page, v)
	if err != nil {
		return nil, "", err
	}

	resources := pdffile.Dict{}
	var content strings.Builder
	left := 0.0
	if i := v.Image; i != nil {
		if i.Width < 1 || i.Height < 1 || len(i.RGB) != 3*i.Width*i.Height {
			return nil, "", fail(BadText, "has a damaged image")
		}
		ref := d.Reserve()
		d.Set(ref, pdffile.Deflated(pdffile.Dict{
			"/Type": "/XObject", "/Subtype": "/Image", "/Width": i.Width, "/Height": i.Height,
			"/ColorSpace": "/DeviceRGB", "/BitsPerComponent": 8,
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
			return nil, "", fail(BadText,
				"cannot be shown, because the PDF claims PDF/A and the font of the text is not embedded. "+
					"Send visible.image without visible.text")
		}
		if err := v.write(&content, left); err != nil {
			return nil, "", err
		}
		resources["/Font"] = pdffile.Dict{"/F": pdffile.Dict{
			"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding",
		}}
	}

	if v.Over != nil {
		content.WriteString(overBox(v, box, matrix, v.Over(d.File, page)))
	}

	appearance = d.Reserve()
	d.Set(appearance, pdffile.Stream{Entries: pdffile.Dict{
		"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, v.Width, v.Height}, "/Matrix": matrix,
		"/Resources": resources,
	}, Content: []byte(content.String())})
	return box, appearance, nil
}

// overBox returns content of the page as content of a box with that rectangle and rotation.
func overBox(v *Visible, box, rotation []any, content string) string {
	m := floats(rotation)
	at := floats(box)
	// The rotated box begins where its rectangle does.
	x := at[0] - min(0, m[0]*v.Width) - min(0, m[2]*v.Height)
	y := at[1] - min(0, m[1]*v.Width) - min(0, m[3]*v.Height)
	return fmt.Sprintf("q %.3f %.3f %.3f %.3f %.3f %.3f cm\n%sQ\n", m[0], m[2], m[1], m[3], -m[0]*x-m[1]*y,
		-m[2]*x-m[3]*y, content)
}

// floats returns a list of numbers of either kind.
func floats(list []any) []float64 {
	all := make([]float64, len(list))
	for i, item := range list {
		switch n := item.(type) {
		case int:
			all[i] = float64(n)
		case float64:
			all[i] = n
		}
	}
	return all
}

// boxOn returns the rectangle of a box on a page as stored, and the rotation of its content.
func (d *editedFile) boxOn(page pdffile.Page, v *Visible) (box, matrix []any, err error) {
	left, bottom, right, top, ok := d.cropBox(page)
	if !ok {
		return nil, nil, fail(BadPage, "must be on a page with a size; page %d has none", v.Page)
	}

	turned, _ := d.Target(page.Entries["/Rotate"]).(float64)
	quarter := (int(turned)/90%4 + 4) % 4
	width, height := right-left, top-bottom
	if quarter%2 == 1 {
		width, height = height, width
	}

	const rounding = 0.01
	if v.Width <= 0 || v.Height <= 0 || v.X < 0 || v.Y < 0 || v.X+v.Width > width+rounding ||
		v.Y+v.Height > height+rounding {
		return nil, nil, fail(BadPage, "must be within page %d, which has %.0f × %.0f points", v.Page, width, height)
	}

	switch quarter {
	case 1:
		return []any{left + v.Y, bottom + v.X, left + v.Y + v.Height, bottom + v.X + v.Width},
			[]any{0, 1, -1, 0, 0, 0}, nil
	case 2:
		return []any{right - v.X - v.Width, bottom + v.Y, right - v.X, bottom + v.Y + v.Height},
			[]any{-1, 0, 0, -1, 0, 0}, nil
	case 3:
		return []any{right - v.Y - v.Height, top - v.X - v.Width, right - v.Y, top - v.X}, []any{0, -1, 1, 0, 0, 0}, nil
	}
	return []any{left + v.X, top - v.Y - v.Height, left + v.X + v.Width, top - v.Y}, []any{1, 0, 0, 1, 0, 0}, nil
}

// cropBox returns the part of a page that is displayed.
func (d *editedFile) cropBox(page pdffile.Page) (left, bottom, right, top float64, ok bool) {
	left, bottom, right, top, ok = d.rectangle(page.Entries["/MediaBox"])
	if l, b, r, t, cropped := d.rectangle(page.Entries["/CropBox"]); ok && cropped {
		left, bottom, right, top = max(left, l), max(bottom, b), min(right, r), min(top, t)
	}
	return left, bottom, right, top, ok && left < right && bottom < top
}

func (d *editedFile) rectangle(v any) (left, bottom, right, top float64, ok bool) {
	list, _ := d.Target(v).([]any)
	const sides = 4
	if len(list) != sides {
		return 0, 0, 0, 0, false
	}
	var n [sides]float64
	for i, item := range list {
		if n[i], ok = d.Target(item).(float64); !ok {
			return 0, 0, 0, 0, false
		}
	}
	return min(n[0], n[2]), min(n[1], n[3]), max(n[0], n[2]), max(n[1], n[3]), true
}

// write writes the lines as large as they fit.
func (v *Visible) write(content *strings.Builder, left float64) error {
	const maximum, average, leading = 12.0, 0.56, 1.2 // points, and parts of the size
	size := min(maximum, v.Height/(leading*float64(len(v.Lines))))
	longest := 1

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
				return fail(BadText, "must have Western European characters only; got %q. Send an image instead",
					string(r))
			}
			fmt.Fprintf(content, "%02x", r)
		}
		content.WriteString("> Tj T*\n")
	}

	content.WriteString("ET Q\n")
	return nil
}

// archival reports whether the document claims to conform to PDF/A.
func (d *editedFile) archival() bool {
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
