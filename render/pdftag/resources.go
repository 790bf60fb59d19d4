package pdftag

import (
	"bytes"
	"maps"
	"slices"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// readResources reads the forms that a stream may draw, and checks its fonts and images.
func (d *tagger) readResources(s *stream, depth int) error {
	const entry = 64 // bytes of content that take as long
	objects := d.file.Entry(s.resources["/XObject"])
	fonts := d.file.Entry(s.resources["/Font"])
	if err := d.spend(entry * (len(objects) + len(fonts))); err != nil {
		return err
	}

	for _, name := range slices.Sorted(maps.Keys(objects)) {
		ref := pdffile.Reference(objects[name])
		entries := d.file.Dict(ref)
		if entries["/Subtype"] != "/Form" {
			d.checkImage(entries, s.page)
			continue
		}

		form, err := d.readForm(ref, s.page, depth)
		if err != nil {
			return err
		}
		if form != nil {
			s.forms[name] = form
		}
	}

	for _, name := range slices.Sorted(maps.Keys(fonts)) {
		ref := pdffile.Reference(fonts[name])
		d.checkFont(ref, s.page)
		s.fonts[name] = d.fonts[ref]
	}

	return d.readHidden(s, depth)
}

// readForm reads a form and all below it; nil means that it draws itself.
func (d *tagger) readForm(ref string, page, depth int) (*stream, error) {
	if known := d.streams[ref]; known != nil {
		if !known.scanned {
			return nil, nil // as documented
		}
		return known, nil
	}
	form, err := d.readStream(ref, page, depth)
	if err != nil {
		return nil, err
	}
	form.resources = d.file.Entry(form.entries["/Resources"])
	return form, d.scan(form, depth+1)
}

// readHidden reads the content of soft masks and patterns that has marks, so that it is written without them.
func (d *tagger) readHidden(s *stream, depth int) error {
	var refs []string
	states := d.file.Entry(s.resources["/ExtGState"])
	for _, name := range slices.Sorted(maps.Keys(states)) {
		mask := d.file.Entry(d.file.Entry(states[name])["/SMask"])
		refs = append(refs, pdffile.Reference(mask["/G"]))
	}

	patterns := d.file.Entry(s.resources["/Pattern"])
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		refs = append(refs, pdffile.Reference(patterns[name]))
	}

	for _, ref := range refs {
		if ref == "" || d.streams[ref] != nil || d.unmarked[ref] {
			continue
		}
		if _, plain, err := d.plain(ref); err != nil || !bytes.Contains(plain, []byte("BDC")) {
			d.unmarked[ref] = true
			if d.budget < 0 {
				return err
			}
			continue
		}

		if _, err := d.readForm(ref, s.page, depth); err != nil {
			return err
		}
	}
	return nil
}

// checkImage reports an image that PDF/A excludes.
func (d *tagger) checkImage(entries pdffile.Dict, page int) {
	const cmyk = "/DeviceCMYK"
	if entries["/ColorSpace"] == cmyk || entries["/Interpolate"] == true {
		d.fault(Violation{
			Rule: ImageColor, Problem: "An image has CMYK colours without a profile, or is interpolated.",
			Remedy: "Convert the image to RGB.", Page: page + 1,
		})
	}
}

// checkFont reports a font that is not in the file, or whose characters have no meaning.
func (d *tagger) checkFont(ref string, page int) {
	if ref == "" || d.fonts[ref] != nil {
		return
	}

	entries := d.file.Dict(ref)
	name, _ := entries["/BaseFont"].(string)
	f := &font{
		wide: entries["/Subtype"] == "/Type0", means: map[uint16]string{}, private: map[uint16]bool{},
		invalid: map[uint16]bool{},
		uses:    map[uint16]*uses{}, ref: ref, name: name, page: page,
	}
	d.fonts[ref] = f

	descriptor := d.file.Entry(entries["/FontDescriptor"])
	if descendants, ok := d.file.Target(entries["/DescendantFonts"]).([]any); ok && len(descendants) == 1 {
		descriptor = d.file.Entry(d.file.Entry(descendants[0])["/FontDescriptor"])
	}
	embedded := descriptor["/FontFile"] != nil || descriptor["/FontFile2"] != nil || descriptor["/FontFile3"] != nil
	if !embedded && entries["/Subtype"] != "/Type3" {
		d.fault(Violation{
			Rule: FontFile, Problem: "A font is not embedded.", Remedy: otherFont, Element: name, Page: page + 1,
		})
	}

	if meanings := pdffile.Reference(entries["/ToUnicode"]); meanings != "" {
		_, plain, err := d.plain(meanings)
		f.unknown = err != nil
		f.readMap(plain)
	}

	f.mapped = !f.unknown && len(f.means) > 0
	if !f.mapped {
		d.fault(Violation{Rule: FontUnicode, Problem: unknownText, Remedy: otherFont, Element: name, Page: page + 1})
	}
}
