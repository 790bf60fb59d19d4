package wire

// GalleryList is the response of GET /v1/templates/gallery.
type GalleryList struct {
	Templates []GalleryTemplate `json:"templates" jsonschema:"required" jsonschema_description:"Layouts that match, by category and name."`
}

// GalleryTemplate is a layout that a template may start from.
type GalleryTemplate struct {
	ID           string   `json:"id" jsonschema:"required" jsonschema_description:"ID of the layout."`
	Slug         string   `json:"slug" jsonschema:"required" jsonschema_description:"Slug of a template created from the layout, if it is free. Equal to the ID."`
	Name         string   `json:"name" jsonschema:"required" jsonschema_description:"Name of the layout."`
	Category     string   `json:"category" jsonschema:"required" jsonschema_description:"Category, such as invoice."`
	Description  string   `json:"description" jsonschema:"required" jsonschema_description:"One-sentence description of the design."`
	Href         string   `json:"href" jsonschema:"required" jsonschema_description:"Path of the layout's public page."`
	ThumbnailURL string   `json:"thumbnailUrl" jsonschema:"required" jsonschema_description:"URL of a WebP image of the first page. The content at this URL never changes."`
	Tags         []string `json:"tags" jsonschema:"required" jsonschema_description:"Search words."`
}
