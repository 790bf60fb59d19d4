package wire

// Look is what a person sees of a result. Markup comes as text: whoever shows it
// must not let it act.
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
