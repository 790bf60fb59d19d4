package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"relaypdf/render/engine"
	"relaypdf/render/pagerange"
)

// document is an input that can be read.
type document struct {
	work *engine.Work
	// name is its file in the job's folder: the input, or what was repaired.
	name string
	// password opens it; empty where it opens without.
	password string
	// number is the input's number, for errors.
	number int
	pages  int
}

// open checks an input and counts its pages. What qpdf cannot read, MuPDF may
// repair. The error is an *Error where the file is to blame.
func open(ctx context.Context, w *engine.Work, number int, in Input) (*document, error) {
	doc := &document{work: w, name: in.Name, password: in.Password, number: number}
	if err := doc.checkHeader(); err != nil {
		return nil, err
	}
	err := doc.count(ctx)
	var failed *engine.ExitError
	if !errors.As(err, &failed) {
		return doc, err
	}
	if err := doc.checkPassword(ctx); err != nil {
		return nil, err
	}
	if err := doc.repair(ctx); err != nil {
		return nil, err
	}
	return doc, nil
}

// openOne opens the only input of a job.
func openOne(ctx context.Context, w *engine.Work, in Input) (*document, error) {
	return open(ctx, w, 0, in)
}

// headerWithin is how far from its start a file may have its header. Readers
// have allowed that much since the first of them did.
const headerWithin = 1024

// checkHeader refuses what is no PDF before a program sees it.
func (d *document) checkHeader() error {
	f, err := os.Open(d.work.Path(d.name))
	if err != nil {
		return fmt.Errorf("open input: %w", err)
	}
	start, err := io.ReadAll(io.LimitReader(f, headerWithin))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	if !bytes.Contains(start, []byte("%PDF-")) {
		return d.fail(NotPDF, nil)
	}
	return nil
}

// fail returns an Error about this document.
func (d *document) fail(kind Kind, cause error) error {
	return &Error{Kind: kind, Input: d.number, cause: cause}
}

// count sets the number of pages.
func (d *document) count(ctx context.Context) error {
	out, err := qpdf(ctx, d.work, qpdfJob{"inputFile": d.name, "password": d.password, "showNpages": ""})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(out)))
	if err != nil || n < 1 {
		return d.fail(Damaged, errors.New("no pages"))
	}
	d.pages = n
	return nil
}

// checkPassword tells whether a document cannot be read for want of the right
// password. qpdf answers so with the exit code 0; others are for documents that
// are not encrypted or that the password opens.
func (d *document) checkPassword(ctx context.Context) error {
	_, err := qpdf(ctx, d.work, qpdfJob{"inputFile": d.name, "password": d.password, "requiresPassword": ""})
	var exit *engine.ExitError
	switch {
	case err == nil && d.password == "":
		return d.fail(PasswordRequired, nil)
	case err == nil:
		return d.fail(WrongPassword, nil)
	case errors.As(err, &exit):
		return nil
	}
	return err
}

// repair lets MuPDF write a document anew that qpdf cannot read.
func (d *document) repair(ctx context.Context) error {
	const repaired = "repaired.pdf"
	name := strconv.Itoa(d.number) + repaired
	_, err := d.work.Exec(ctx, engine.Program{Name: "mutool", Args: []string{"clean", engine.PathArg(d.name), engine.PathArg(name)}})
	if err == nil {
		d.name, d.password = name, ""
		err = d.count(ctx)
	}
	var exit *engine.ExitError
	var known *Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &exit) || errors.Is(err, engine.ErrNoProgram):
		return d.fail(Damaged, err)
	}
	return err
}

// resolve returns the numbers of the pages, from 1, that a selection means in
// this document; an empty selection means all.
func (d *document) resolve(selection string) ([]int, error) {
	if selection == "" {
		selection = "1-"
	}
	parsed, err := pagerange.Parse(selection)
	if err != nil {
		return nil, &Error{Kind: Invalid, Input: d.number, Argument: "pages", Text: err.Error()}
	}
	numbers, err := parsed.Resolve(d.pages)
	return numbers, beyond(d.number, err)
}

// checkPages refuses a result of more pages than the limit.
func checkPages(n int) error {
	if n > MaxPages {
		return &Error{Kind: TooManyPages, Pages: n, Max: MaxPages}
	}
	return nil
}
