package operation

import (
	"context"

	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Described is the part of an input with the properties of the PDF that is made.
type Described struct {
	Metadata Metadata `json:"metadata,omitzero" jsonschema_description:"Document information of the result. Each field that is set replaces that of the source."`
}

func (d *Described) describes() pdffile.Info { return d.Metadata.info() }

// info returns the metadata in the renderer's type.
func (m *Metadata) info() pdffile.Info {
	return pdffile.Info{Title: m.Title, Author: m.Author, Subject: m.Subject, Keywords: m.Keywords.text}
}

// describer is an input with a Described.
type describer[In any] interface {
	*In
	describes() pdffile.Info
}

// described runs an operation, and gives the PDF that it makes the information
// that its input asks for.
func described[In any, P describer[In]](
	run func(context.Context, *Deps, *In) (schema.Result, error),
) func(context.Context, *Deps, *In) (schema.Result, error) {
	return func(ctx context.Context, deps *Deps, in *In) (schema.Result, error) {
		result, err := run(ctx, deps, in)
		info := P(in).describes()
		if err != nil || info == (pdffile.Info{}) {
			return result, err
		}

		made, ok := result.Body.(*spool.File)
		if !ok || result.ContentType != "application/pdf" {
			return result, nil
		}

		password := ""
		if opened, ok := any(in).(opener); ok {
			password = opened.opens()
		}

		result.Body, err = deps.Render.SetPDFInfo(ctx, made, password, info)
		return result, err
	}
}

// opener is an input whose result may be encrypted.
type opener interface{ opens() string }

// opens is the password of a result that is encrypted as its source was.
func (s *PDFSource) opens() string { return s.Password }
