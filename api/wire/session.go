package wire

import "time"

// TemplateSession is a link to the editor of one template, for a frame of one site.
type TemplateSession struct {
	URL          string    `json:"url" jsonschema:"required" jsonschema_description:"Address of the editor, for the src of an iframe. Whoever has it may do what it permits: give it to nobody else."`
	TemplateID   string    `json:"templateId" jsonschema:"required" jsonschema_description:"Id of the template, a UUID."`
	Capabilities []string  `json:"capabilities" jsonschema:"required" jsonschema_description:"What it permits."`
	Origin       string    `json:"origin" jsonschema:"required" jsonschema_description:"Origin of the only pages whose frames show it, and which are told what happens in it."`
	ReturnURL    *string   `json:"returnUrl" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Where the button Done leads."`
	ExpiresAt    time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"When it ends. It ends sooner with its key or its template, and while the account is suspended."`
}
