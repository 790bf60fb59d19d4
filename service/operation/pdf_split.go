package operation

import (
	"context"
	"errors"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/service/schema"
)

// splitInput is the input of pdf.split.
type splitInput struct {
	schema.Common
	PDFSource

	EveryPages    int    `json:"everyPages,omitempty" jsonschema:"minimum=1,maximum=2000" jsonschema_extras:"x-common=true" jsonschema_description:"Number of pages of each part; 1 makes single pages."`
	BookmarkLevel int    `json:"bookmarkLevel,omitempty" jsonschema:"minimum=1,maximum=20" jsonschema_extras:"x-common=true" jsonschema_description:"Level of the bookmarks that begin parts; 1 is the top. Bookmarks above the level begin parts too, and parts are named after their bookmarks."`
	Text          string `json:"text,omitempty" jsonschema:"maxLength=200" jsonschema_extras:"x-common=true" jsonschema_description:"Pages with this text begin parts. Case, spaces and hyphens at line ends are ignored."`
	MaxBytes      int64  `json:"maxBytes,omitempty" jsonschema:"minimum=1024,maximum=209715200" jsonschema_extras:"x-common=true" jsonschema_description:"Maximum size of a part in bytes. Parts have as many pages as fit."`
}

// splitWays are the fields of which exactly one is given.
const splitWays = "everyPages, bookmarkLevel, text, maxBytes"

// ways returns the given fields.
func (in *splitInput) ways() (given []string) {
	for i, there := range []bool{in.EveryPages > 0, in.BookmarkLevel > 0, in.Text != "", in.MaxBytes > 0} {
		if there {
			given = append(given, strings.Split(splitWays, ", ")[i])
		}
	}
	return given
}

// JSONSchemaExtend adds rules of several members to the schema.
func (in splitInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	in.FileSource.JSONSchemaExtend(doc)
	schema.AddRules(doc, schema.ExactlyOne(strings.Split(splitWays, ", ")...))
	schema.SetPatterns(doc, map[string]string{"text": filledText})
}

// Validate checks the rules that the schema cannot express.
func (in *splitInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	ways := in.ways()

	if in.Text != "" && strings.TrimSpace(in.Text) == "" {
		faults.Add("text", "must not be blank")
	}

	if len(ways) == 0 {
		const send = "Send exactly one of " + splitWays
		faults.AddSentence(
			"No way to split given. "+send, "everyPages",
			"is required unless another way to split is given. "+send,
		)
	}

	for _, way := range ways[min(1, len(ways)):] {
		addExclusive(&faults, ways[0], way, splitWays)
	}
	return failures(faults)
}

// Produces returns the content type of the files in the archive.
func (in *splitInput) Produces() string { return "application/pdf" }

func runSplit(ctx context.Context, deps *Deps, in *splitInput) (schema.Result, error) {
	args := pdf.SplitArgs{
		Every:    in.EveryPages,
		Level:    in.BookmarkLevel,
		Text:     in.Text,
		MaxBytes: in.MaxBytes,
		TestMark: deps.Test,
	}
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args.Input = file.Input()
		archive, err := render.RunFile(ctx, deps.Render, pdf.SplitJob, args, file.File())

		var failed *job.Error
		if errors.As(err, &failed) && failed.Kind == job.Unsplit {
			err = schema.FieldErrors{{Field: in.ways()[0], Message: failed.Text}}
		}
		if err != nil {
			return schema.Result{}, err
		}

		result := zipResult("parts", archive)
		result.Marked = args.TestMark
		return result, nil
	})
}
