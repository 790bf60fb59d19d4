package pdfcheck

import "github.com/relaypdf/relaypdf/render/pdffile"

// unchecked lists what the rules do not check of a standard, and what could not be checked of this file.
func (c *checker) unchecked(s pdffile.Standard) []string {
	list := []string{"Glyphs and character maps of fonts"}
	switch part := s.Part(); part {
	case 0:
		list = append(list, "Regularity and headers of tables", "Prefixes of XMP properties", "Content of a form "+
			"in several elements", "Media clips and XFA forms",
			"Meaning of tags and texts, and the order of reading")
	default:
		list = append(list, "Syntax of objects and cross-reference tables",
			"Colorants of Separation and DeviceN color spaces", "XMP extension schemas and types of properties")
		if part > 1 {
			list = append(list, "Halftones", "Blending without an output intent", "Digital signatures",
				"Layers without an order", "Conformance of attachments")
		}
	}
	if c.unread {
		list = append(list, "Parts of this file that could not be read, or exceed a limit")
	}
	if c.src.Copied {
		list = append(list, "Syntax of this file, which was decrypted or repaired for the check")
	}
	return list
}
