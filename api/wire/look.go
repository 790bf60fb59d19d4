package wire

// Look is the preview of a result for users. Markup comes as text: the client must not execute it.
type Look struct {
	ContentType string      `json:"contentType"`
	Pages       int         `json:"pages,omitempty"` // of a PDF
	Images      []LookImage `json:"images,omitempty"`
	Text        string      `json:"text,omitempty"`
	Cut         bool        `json:"cut,omitempty"`  // there is more than is shown
	Note        string      `json:"note,omitempty"` // why less is shown than might be
}

// LookImage is an image of a page, or of the result itself.
type LookImage struct {
	ContentType string `json:"contentType"` // image/png, image/jpeg or image/webp
	Data        []byte `json:"data"`
}
