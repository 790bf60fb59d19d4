package job

import (
	"context"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// ReadSelf reads the positions of the document's objects from the document alone.
func (d *Document) ReadSelf() (*pdffile.File, error) {
	content, err := d.Content()
	if err != nil {
		return nil, err
	}
	return pdffile.Read(content)
}

// ReadFile reads the positions of the document's objects. qpdf lists them for every file; the table of a plain file
// can be read in a fraction of qpdf's time.
func (d *Document) ReadFile(ctx context.Context) (*pdffile.File, error) {
	content, err := d.Content()
	if err != nil {
		return nil, err
	}
	if f, err := pdffile.Read(content); err == nil {
		return f, nil
	}
	return d.askFile(ctx, content)
}

// askFile asks qpdf for the positions of the objects in the document's file.
func (d *Document) askFile(ctx context.Context, content []byte) (*pdffile.File, error) {
	out, err := d.Ask(ctx, QPDFJob{
		"inputFile": d.Name, "password": d.Password, "showXref": "", "showObject": "trailer",
	})
	if err != nil {
		return nil, err
	}
	f, err := pdffile.ReadListed(out, content)
	if err != nil {
		return nil, d.Fail(Damaged, err)
	}
	return f, nil
}

// SoundFile is ReadFile for a document that is rewritten if necessary.
func (d *Document) SoundFile(ctx context.Context) (*pdffile.File, error) {
	return readSound(ctx, d, d.ReadFile)
}

// readSound reads something of a document, which is rewritten first if it cannot be read unchanged.
func readSound[T interface{ Sound() bool }](
	ctx context.Context, d *Document, read func(context.Context) (T, error),
) (T, error) {
	found, err := read(ctx)
	if err != nil || found.Sound() {
		return found, err
	}
	if err := d.rewrite(ctx); err != nil {
		return found, err
	}
	return read(ctx)
}
