package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/schema"
)

// stampInput is the input of pdf.stamp.
type stampInput struct {
	schema.Common
	Described
	PDFSource
	StampMark

	Stamps []StampMark `json:"stamps,omitempty" jsonschema:"minItems=1,maxItems=20" jsonschema_description:"Several stamps, drawn in order, instead of one."`
}

// StampMark is one stamp.
type StampMark struct {
	Text     string   `json:"text,omitempty" jsonschema:"maxLength=500" jsonschema_description:"Text to stamp, in any script. Separate lines with line feeds. Send exactly one of text, image and stamps."`
	Image    FileItem `json:"image,omitzero" jsonschema_description:"Image to stamp: PNG, JPEG, WebP, TIFF or GIF. An image larger than the page is reduced to fit, after rotation and before scale."`
	Pages    Pages    `json:"pages,omitzero" jsonschema_description:"Pages to stamp: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	Position Position `json:"position,omitzero" jsonschema_description:"Position of the stamp: a name, or an object {x, y} of its top left in points, from the top left of the page as displayed. Names: center, top, bottom, top-left, top-right, bottom-left, bottom-right; all but center are 24 points from the edge. Default: center."`
	Opacity  *float64 `json:"opacity,omitempty" jsonschema:"minimum=0,maximum=1,default=1" jsonschema_description:"Opacity, from 0 (invisible) to 1 (solid)."`
	FontSize float64  `json:"fontSize,omitempty" jsonschema:"minimum=1,maximum=1000,default=48" jsonschema_description:"Font size in points, from 1 to 1000. With a named position, text that does not fit is shrunk."`
	Bold     bool     `json:"bold,omitempty" jsonschema:"default=false" jsonschema_description:"If true, print the text in bold."`
	Color    Color    `json:"color,omitempty" jsonschema:"default=#000000" jsonschema_description:"Colour of the text: a CSS colour such as #c00, #cc0000 or crimson."`
	Rotate   float64  `json:"rotate,omitempty" jsonschema:"minimum=-360,maximum=360,default=0" jsonschema_description:"Counter-clockwise rotation of the stamp about its centre, in degrees. The position applies to the rotated stamp."`
	Scale    float64  `json:"scale,omitempty" jsonschema:"minimum=0.01,maximum=100,default=1" jsonschema_description:"Scale factor, from 0.01 to 100."`
	Layer    string   `json:"layer,omitempty" jsonschema:"enum=above,enum=below,default=above" jsonschema_description:"Layer of the stamp: above or below the content of the page."`
	Tiled    bool     `json:"tiled,omitempty" jsonschema:"default=false" jsonschema_description:"If true, repeat the stamp across the page instead of placing it once."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (StampMark) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("text", "image"), schema.Exclusive("position", "tiled"))
	schema.SetPatterns(doc, map[string]string{"text": filledText})
}

// Position is the name of a place on a page, or a point. Its zero value means
// that none was given.
type Position struct {
	name *string // empty for a point
	x, y float64
}

// JSONSchema returns the schema of a Position: one of some names, or a point within the maximum size of a page.
func (Position) JSONSchema() *jsonschema.Schema {
	coordinate := &jsonschema.Schema{Type: "number", Minimum: "-14400", Maximum: "14400"}
	point := jsonschema.NewProperties()
	point.Set("x", coordinate)
	point.Set("y", coordinate)
	names := []any{"center", "top", "bottom", "top-left", "top-right", "bottom-left", "bottom-right"}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "string", Enum: names},
		{Type: "object", Properties: point, Required: []string{"x", "y"}, AdditionalProperties: jsonschema.FalseSchema},
	}}
}

// SetJSON accepts a name or a point.
func (p *Position) SetJSON(v any) error {
	switch v := v.(type) {
	case string:
		p.name = &v
	case map[string]any:
		*p = Position{name: new(""), x: coordinate(v["x"]), y: coordinate(v["y"])}
	}
	return nil
}

// coordinate returns a number as JSON decodes it.
func coordinate(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// MarshalJSON writes the original position.
func (p Position) MarshalJSON() ([]byte, error) {
	if p.name != nil && *p.name != "" {
		return json.Marshal(*p.name)
	}
	return json.Marshal(map[string]float64{"x": p.x, "y": p.y})
}

// IsZero reports whether the position is unset.
func (p Position) IsZero() bool { return p.name == nil }

// The defaults of a stamp.
const (
	defaultFontSize = 48
	defaultColor    = "#000000"
	defaultPosition = "center"
)

// JSONSchemaExtend adds rules of several members to the schema.
func (in stampInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	in.FileSource.JSONSchemaExtend(doc)
	schema.AddRules(doc, schema.ExactlyOne("text", "image", "stamps"), schema.Exclusive("position", "tiled"))
	schema.SetPatterns(doc, map[string]string{"text": filledText})
}

// Validate checks the rules that the schema cannot express.
func (in *stampInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	switch {
	case len(in.Stamps) == 0:
		in.check(&faults, "")
	case in.given():
		faults.Add("stamps", "is mutually exclusive with text, image and their options. Move them into stamps")
	}
	for i := range in.Stamps {
		in.Stamps[i].check(&faults, stampAt(i))
	}
	return failures(faults)
}

// stampAt returns the prefix of the field names of one of several stamps.
func stampAt(i int) string { return fmt.Sprintf("stamps[%d].", i) }

// given reports whether any option of the stamp is set.
func (in *StampMark) given() bool { return !reflect.ValueOf(*in).IsZero() }

// check adds validation errors. at is the prefix of the stamp's fields: empty, or with a dot at its end.
func (in *StampMark) check(faults *schema.FieldErrors, at string) {
	in.Pages.check(faults, at+"pages")
	image := in.Image.URL != nil || in.Image.File.Inline != nil || in.Image.FileID != nil
	hasText := strings.TrimSpace(in.Text) != ""

	switch {
	case image && in.Text != "":
		addExclusive(faults, at+"text", at+"image", "text, image")
	case image:
		in.Image.check(faults, at+"image.")
	case !hasText && in.Text != "":
		faults.Add(at+"text", "must not be blank")
	case !hasText:
		faults.AddSentence(
			"No stamp given. Send exactly one of "+at+"text, "+at+"image",
			at+"text", "is required without image. Send exactly one of text, image",
		)
	}

	if in.Tiled && !in.Position.IsZero() {
		faults.Add(at+"position", "is mutually exclusive with tiled")
	}
	checkColor(faults, at+"color", in.Color)
}

func runStamp(ctx context.Context, deps *Deps, in *stampInput) (schema.Result, error) {
	sources := []stagedFile{{&in.FileSource, ""}}
	marks := in.Stamps
	at := stampAt
	if len(marks) == 0 {
		marks, at = []StampMark{in.StampMark}, func(int) string { return "" }
	}

	for i := range marks {
		if marks[i].Text == "" {
			sources = append(sources, stagedFile{&marks[i].Image.FileSource, at(i) + "image."})
		}
	}

	return withFiles(ctx, deps, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		var stamps []render.Stamp
		images := files[1:]
		for i := range marks {
			stamp := marks[i].stamp()
			if marks[i].Text == "" {
				stamp.Image, images = images[0], images[1:]
			}
			stamps = append(stamps, stamp)
		}

		file := render.PDFFile{Content: files[0], Password: in.Password}
		return pdfResult("stamped")(deps.Render.StampPDF(ctx, file, stamps))
	})
}

// stamp returns the stamp in the renderer's type, without its image.
func (in *StampMark) stamp() render.Stamp {
	s := render.Stamp{
		Text: in.Text, Bold: in.Bold, Tiled: in.Tiled, FontSize: cmp.Or(in.FontSize, defaultFontSize), Color: string(cmp.Or(in.Color, defaultColor)),
		Pages: in.Pages.text(), Opacity: either(in.Opacity, 1), Rotate: in.Rotate, Scale: cmp.Or(in.Scale, 1), Below: in.Layer == "below",
	}
	switch {
	case in.Position.IsZero():
		s.Position = new(defaultPosition)
	case *in.Position.name != "":
		s.Position = in.Position.name
	default:
		s.X = in.Position.x
		s.Y = in.Position.y
	}

	return s
}
