package operation

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/service/schema"
)

// redactInput is the input of pdf.redact.
type redactInput struct {
	schema.Common
	Described
	PDFSource

	Terms    []redactTerm    `json:"terms,omitempty" jsonschema:"minItems=1,maxItems=100" jsonschema_description:"Words and phrases to remove everywhere; case, spaces and hyphens at line ends are ignored. Covers text, links, bookmarks, layers, tags, names and document information. Comments, metadata, attachments, scripts and invisible content are removed completely. If removal is uncertain, such as in a pattern, a soft mask or a glyph, the call fails with processing_failed."`
	Patterns []redactPattern `json:"patterns,omitempty" jsonschema:"minItems=1,maxItems=20" jsonschema_description:"Regular expressions (RE2) to remove."`
	Areas    []RedactArea    `json:"areas,omitempty" jsonschema:"minItems=1,maxItems=200" jsonschema_description:"Parts of pages to empty, measured on the page as displayed, after rotation and cropping. A page becomes an image if an area contains lines, or an image that cannot be redacted alone."`
	Color    Color           `json:"color,omitempty" jsonschema:"default=#000000" jsonschema_description:"Fill colour of the redacted places: a CSS colour such as #c00, #cc0000 or crimson. The content beneath is removed whatever the colour."`
}

// redactTerm is a word or a phrase.
type redactTerm string

// redactPattern is a regular expression.
type redactPattern string

// The most characters of a term and of a pattern.
const (
	maxTerm    = 200
	maxPattern = 500
)

// JSONSchema bounds a term.
func (redactTerm) JSONSchema() *jsonschema.Schema {
	return schema.SetPattern(shortText(maxTerm), filledText)
}

// filledText is the pattern of a text that is not blank.
const filledText = `\S`

// JSONSchema bounds a pattern.
func (redactPattern) JSONSchema() *jsonschema.Schema { return shortText(maxPattern) }

// shortText is a text of one character at least.
func shortText(maximum uint64) *jsonschema.Schema {
	minimum := uint64(1)
	return &jsonschema.Schema{Type: "string", MinLength: &minimum, MaxLength: &maximum}
}

// RedactArea is a part of a page in points.
type RedactArea struct {
	Page   int     `json:"page" jsonschema:"required,minimum=1,maximum=50000" jsonschema_description:"Number of the page, from 1."`
	X      float64 `json:"x" jsonschema:"required,minimum=0,maximum=14400" jsonschema_description:"Distance from the left side of the page in points."`
	Y      float64 `json:"y" jsonschema:"required,minimum=0,maximum=14400" jsonschema_description:"Distance from the top of the page in points."`
	Width  float64 `json:"width" jsonschema:"required,minimum=1,maximum=14400" jsonschema_description:"Width in points."`
	Height float64 `json:"height" jsonschema:"required,minimum=1,maximum=14400" jsonschema_description:"Height in points."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (in redactInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	in.FileSource.JSONSchemaExtend(doc)
	schema.AddRules(doc, schema.AtLeastOne("terms", "patterns", "areas"))
}

// Validate checks the rules that the schema cannot express.
func (in *redactInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	if len(in.Terms)+len(in.Patterns)+len(in.Areas) == 0 {
		faults.AddSentence(
			"Nothing to redact. Send at least one of terms, patterns or areas",
			"terms", "is required without patterns or areas. Send at least one of terms, patterns or areas",
		)
	}

	for i, term := range in.Terms {
		if strings.TrimSpace(string(term)) == "" {
			faults.Add(fmt.Sprintf("terms[%d]", i), "must not be blank")
		}
	}

	for i, pattern := range in.Patterns {
		compiled, err := regexp.Compile(string(pattern))
		switch {
		case err != nil:
			faults.Add(
				fmt.Sprintf("patterns[%d]", i), "must be a valid RE2 regular expression: %s",
				strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			)
		case compiled.MatchString(""):
			faults.Add(fmt.Sprintf("patterns[%d]", i), "must not match empty text")
		}
	}

	checkColor(&faults, "color", in.Color)
	return failures(faults)
}

func runRedact(ctx context.Context, deps *Deps, in *redactInput) (schema.Result, error) {
	color := parseColor(cmp.Or(in.Color, defaultColor))
	const full = 255.0
	args := redact.Args{Color: [3]float64{float64(color.R) / full, float64(color.G) / full, float64(color.B) / full}}

	for _, term := range in.Terms {
		args.Terms = append(args.Terms, string(term))
	}
	for _, pattern := range in.Patterns {
		args.Patterns = append(args.Patterns, string(pattern))
	}
	for _, area := range in.Areas {
		args.Areas = append(args.Areas, redact.Area(area))
	}

	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args.Input = file.Input()
		redacted, changed, err := render.RunBoth(ctx, deps.Render, redact.Job, args, file.File())
		return changedResult("redacted")(redacted, changed, offPage(err, "areas"))
	})
}
