package wire

import "time"

// TemplateSession is a link to the editor of one template, for a frame of one site.
type TemplateSession struct {
	URL          string    `json:"url" jsonschema:"required" jsonschema_description:"URL of the editor, for the src of an iframe. Anyone with this URL has its capabilities; keep it secret."`
	TemplateID   string    `json:"templateId" jsonschema:"required" jsonschema_description:"ID of the template, a UUID."`
	Capabilities []string  `json:"capabilities" jsonschema:"required" jsonschema_description:"Capabilities of the link."`
	Origin       string    `json:"origin" jsonschema:"required" jsonschema_description:"Origin of the pages that can show the editor and receive its messages."`
	ReturnURL    *string   `json:"returnUrl" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Target of the Done button."`
	ExpiresAt    time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"Expiry time. The link also ends with its key or its template, and does not work while the account is suspended."`
}
