package wire

// FontList is the answer of GET /v1/fonts.
type FontList struct {
	Fonts      []Font  `json:"fonts" jsonschema:"required" jsonschema_description:"The families, in the order of the alphabet."`
	NextCursor *string `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null at the end."`
}

// Font is a family that documents may name.
type Font struct {
	Family  string   `json:"family" jsonschema:"required" jsonschema_description:"Its name, as in font-family."`
	Styles  []string `json:"styles" jsonschema:"required" jsonschema_description:"The styles that are there, such as Regular and Bold Italic."`
	AliasOf *string  `json:"aliasOf" jsonschema:"required,oneof_type=string;null" jsonschema_description:"The family that is taken in its place, with the same or nearly the same widths; null where it is there itself."`
}
