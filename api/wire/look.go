package wire

// Look is the preview of a result for users. HTML and SVG are sent as text, which the client must not execute.
type Look struct {
	ContentType string      `json:"contentType"`
	Pages       int         `json:"pages,omitempty"` // of a PDF
	Images      []LookImage `json:"images,omitempty"`
	Text        string      `json:"text,omitempty"`
	Cut         bool        `json:"cut,omitempty"`  // the result continues after the shown part
	Note        string      `json:"note,omitempty"` // reason why the preview is incomplete
}

// LookImage is an image of a page, or of the result itself.
type LookImage struct {
	ContentType string `json:"contentType"` // image/png, image/jpeg or image/webp
	Data        []byte `json:"data"`
}
