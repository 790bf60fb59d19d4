package render

import "github.com/relaypdf/relaypdf/render/markup"

// Still removes everything from a document that may send a request to another server.
func Still(html string) string { return markup.RemoveRequests(html) }
