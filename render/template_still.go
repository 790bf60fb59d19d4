package render

import "relaypdf/render/markup"

// Still leaves out of a document what may ask another server for something.
func Still(html string) string { return markup.Still(html) }
