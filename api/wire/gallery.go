package wire

// GalleryList is the answer of GET /v1/templates/gallery.
type GalleryList struct {
	Templates []GalleryTemplate `json:"templates" jsonschema:"required" jsonschema_description:"The layouts that match, by category and name."`
}

// GalleryTemplate is a layout that a template may start from.
type GalleryTemplate struct {
	ID           string   `json:"id" jsonschema:"required" jsonschema_description:"Id of the layout."`
	Slug         string   `json:"slug" jsonschema:"required" jsonschema_description:"The slug that a template made from it gets if it is free: the id."`
	Name         string   `json:"name" jsonschema:"required" jsonschema_description:"Its name."`
	Category     string   `json:"category" jsonschema:"required" jsonschema_description:"What it is for, such as invoice."`
	Description  string   `json:"description" jsonschema:"required" jsonschema_description:"What it looks like, in a sentence."`
	Href         string   `json:"href" jsonschema:"required" jsonschema_description:"Path of its public page."`
	ThumbnailURL string   `json:"thumbnailUrl" jsonschema:"required" jsonschema_description:"Address of an image of its first page, WebP, that may be kept for ever."`
	Tags         []string `json:"tags" jsonschema:"required" jsonschema_description:"Words it is found by."`
}
