package pdf

import (
	"math"
	"strconv"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// readInfo reads the same information as qpdf and poppler, for a document that can be read without them: see
// ReadSelf. It also returns the document's objects. The error is pdffile.ErrUnread if qpdf and poppler have to be
// asked.
func readInfo(d *job.Document) (Info, *pdffile.File, error) {
	f, err := d.ReadSelf()
	if err != nil {
		return Info{}, nil, err
	}
	result, err := infoOf(f)
	d.Pages = len(result.Pages)
	return result, f, err
}

// infoOf is readInfo for a file that is sound.
func infoOf(f *pdffile.File) (Info, error) {
	catalog := f.Catalog()
	// Fields and attached files are for qpdf to count.
	names := f.Entry(catalog["/Names"])
	unreadNames := names == nil && catalog["/Names"] != nil
	if catalog["/AcroForm"] != nil || names["/EmbeddedFiles"] != nil || unreadNames {
		return Info{}, pdffile.ErrUnread
	}

	pages, err := f.Pages(job.MaxInputPages)
	if err != nil {
		return Info{}, err
	}

	// It is not encrypted, so everything is allowed.
	var plain facts
	plain.Encryption.Allow = allows{
		Extract: true, Annotate: true, Assemble: true, Fill: true, Modify: true, High: true, Low: true,
	}
	result := plain.info()

	for i, page := range pages {
		measured, err := measure(page.Entries)
		if err != nil {
			return Info{}, err
		}
		measured.Page = i + 1
		result.Pages = append(result.Pages, measured)
	}
	return result, nil
}

// measure returns the size and the rotation of a page as poppler has them.
func measure(page pdffile.Dict) (PageInfo, error) {
	for _, key := range []string{"/Contents", "/Annots"} {
		if _, isList := page[key].([]any); page[key] != nil && !isList && pdffile.Reference(page[key]) == "" {
			return PageInfo{}, pdffile.ErrUnread // poppler rejects such a page
		}
	}

	media, err := job.ReadBox(page["/MediaBox"])
	if err != nil {
		return PageInfo{}, err
	}

	visible := media
	if page["/CropBox"] != nil {
		if visible, err = job.ReadBox(page["/CropBox"]); err != nil || !visible.Within(media) {
			return PageInfo{}, pdffile.ErrUnread
		}
	}

	turned := 0.0
	if page["/Rotate"] != nil {
		var ok bool
		if turned, ok = page["/Rotate"].(float64); !ok || math.Mod(turned, 90) != 0 {
			return PageInfo{}, pdffile.ErrUnread
		}
	}

	rotation := math.Mod(math.Mod(turned, 360)+360, 360)
	return PageInfo{
		Width:    rounded(visible[2] - visible[0]),
		Height:   rounded(visible[3] - visible[1]),
		Rotation: int(rotation),
	}, nil
}

// rounded rounds to six digits, as poppler prints.
func rounded(length float64) float64 {
	const digits = 6
	n, err := strconv.ParseFloat(strconv.FormatFloat(length, 'g', digits, 64), 64)
	if err != nil {
		return length
	}
	return n
}
