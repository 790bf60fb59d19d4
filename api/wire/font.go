package wire

// FontList is the response of GET /v1/fonts.
type FontList struct {
	Fonts      []Font  `json:"fonts" jsonschema:"required" jsonschema_description:"Font families in alphabetical order."`
	NextCursor *string `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null on the last page."`
}

// Font is a family that documents may name.
type Font struct {
	Family  string   `json:"family" jsonschema:"required" jsonschema_description:"Family name, as in font-family."`
	Styles  []string `json:"styles" jsonschema:"required" jsonschema_description:"Available styles, such as Regular and Bold Italic."`
	AliasOf *string  `json:"aliasOf" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Family that relaypdf uses instead, with equal or nearly equal widths; null if the family itself is installed."`
}
