package pdf

import (
	"math"
	"strconv"
)

// readInfo reads what qpdf and poppler would say of a document, where the
// document is one that can be read without them: see readSelf. It returns the
// document's objects as well. The error is errUnread where they have to be asked.
func (d *document) readInfo() (Info, *objects, error) {
	o, err := d.readSelf()
	if err != nil {
		return Info{}, nil, err
	}
	catalog := o.value(o.root())
	// Fields and attached files are for qpdf to count.
	if names := o.entry(catalog["/Names"]); catalog["/AcroForm"] != nil || names["/EmbeddedFiles"] != nil || names == nil && catalog["/Names"] != nil {
		return Info{}, nil, errUnread
	}
	pages, err := o.pages()
	if err != nil {
		return Info{}, nil, err
	}
	// It is not encrypted, so everything is allowed.
	var plain facts
	plain.Encryption.Allow = allows{Extract: true, Annotate: true, Assemble: true, Fill: true, Modify: true, High: true, Low: true}
	result := plain.info()
	for i, page := range pages {
		measured, err := measure(page.entries)
		if err != nil {
			return Info{}, nil, err
		}
		measured.Page = i + 1
		result.Pages = append(result.Pages, measured)
	}
	d.pages = len(pages)
	return result, o, nil
}

// measure returns the size and the rotation of a page as poppler has them.
func measure(page dict) (PageInfo, error) {
	for _, key := range []string{"/Contents", "/Annots"} {
		if _, isList := page[key].([]any); page[key] != nil && !isList && reference(page[key]) == "" {
			return PageInfo{}, errUnread // poppler gives such a page up
		}
	}
	media, err := readBox(page["/MediaBox"])
	if err != nil {
		return PageInfo{}, err
	}
	visible := media
	if page["/CropBox"] != nil {
		if visible, err = readBox(page["/CropBox"]); err != nil || !visible.within(media) {
			return PageInfo{}, errUnread
		}
	}
	turned := 0.0
	if page["/Rotate"] != nil {
		var ok bool
		if turned, ok = page["/Rotate"].(float64); !ok || math.Mod(turned, 90) != 0 {
			return PageInfo{}, errUnread
		}
	}
	rotation := math.Mod(math.Mod(turned, 360)+360, 360)
	return PageInfo{Width: rounded(visible[2] - visible[0]), Height: rounded(visible[3] - visible[1]), Rotation: int(rotation)}, nil
}

// box is a rectangle: left, bottom, right, top.
type box [4]float64

func readBox(v any) (b box, err error) {
	sides, _ := v.([]any)
	if len(sides) != len(b) {
		return b, errUnread
	}
	for i, side := range sides {
		var ok bool
		if b[i], ok = side.(float64); !ok {
			return b, errUnread
		}
	}
	if b[0] >= b[2] || b[1] >= b[3] {
		return b, errUnread
	}
	return b, nil
}

func (b box) within(outer box) bool {
	return b[0] >= outer[0] && b[1] >= outer[1] && b[2] <= outer[2] && b[3] <= outer[3]
}

// rounded keeps six digits, which is what poppler prints.
func rounded(length float64) float64 {
	const digits = 6
	n, err := strconv.ParseFloat(strconv.FormatFloat(length, 'g', digits, 64), 64)
	if err != nil {
		return length
	}
	return n
}
