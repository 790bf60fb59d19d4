package einvoice

import "github.com/invopop/jsonschema"

// Limits of an invoice as JSON: items of a list, and characters of a text and of an attached document.
const (
	maxItems   = 10_000
	maxText    = 10_000
	maxContent = 5 << 20
)

// JSONSchemaExtend bounds all lists and texts in the schema of an invoice.
func (Invoice) JSONSchemaExtend(doc *jsonschema.Schema) { bound(doc) }

func bound(doc *jsonschema.Schema) {
	items := uint64(maxItems)
	text := uint64(maxText)
	content := uint64(maxContent)

	switch {
	case doc.Type == "array":
		doc.MaxItems = &items
		bound(doc.Items)
	case doc.ContentEncoding != "":
		doc.ContentEncoding = ""
		doc.MaxLength = &content
	case doc.Type == "string":
		doc.MaxLength = &text
	case doc.Properties != nil:
		for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
			bound(pair.Value)
		}
	}
}
