package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	// packed tells that it had its objects in streams.
	packed bool
}

// open checks an input and counts its pages. What qpdf cannot read, MuPDF may
// repair. The error is an *Error where the file is to blame.
func open(ctx context.Context, w *engine.Work, number int, in Input) (*document, error) {
	doc := &document{work: w, name: in.Name, password: in.Password, number: number}
	if err := doc.checkHeader(); err != nil {
		return nil, err
	}
	err := doc.prepare(ctx)
	return doc, err
}

// prepare counts the pages, and repairs a document where that fails.
func (d *document) prepare(ctx context.Context) error {
	err := d.count(ctx)
	var failed *engine.ExitError
	if !errors.As(err, &failed) {
		return err
	}
	if err := d.checkPassword(ctx); err != nil {
		return err
	}
	return d.repair(ctx)
}

// openStructure opens the only input of a job that needs its structure, which
// counts the pages as well.
func openStructure(ctx context.Context, w *engine.Work, in Input) (*document, *structure, error) {
	doc := &document{work: w, name: in.Name, password: in.Password}
	if err := doc.checkHeader(); err != nil {
		return nil, nil, err
	}
	s, err := doc.structure(ctx)
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == Exhausted {
		return nil, nil, err
	}
	if err != nil || len(s.Pages) == 0 {
		if err := doc.prepare(ctx); err != nil {
			return nil, nil, err
		}
		if s, err = doc.structure(ctx); err != nil {
			return nil, nil, err
		}
	}
	if doc.pages = len(s.Pages); doc.pages == 0 {
		return nil, nil, doc.fail(Damaged, errors.New("no pages"))
	}
	return doc, s, nil
}

// writeWhole does a qpdf job that is the same for every page of a document. The
// pages are counted at the same time, since only damaged and huge documents
// make the result worthless.
func writeWhole(ctx context.Context, w *engine.Work, in Input, job qpdfJob) error {
	first := &document{work: w, name: in.Name, password: in.Password}
	if err := first.checkHeader(); err != nil {
		return err
	}
	early, cancel := context.WithCancel(ctx)
	defer cancel()
	written := make(chan error, 1)
	go func() { written <- first.writeTo(early, output, maps.Clone(job)) }()
	doc, err := openOne(ctx, w, in)
	if err == nil {
		err = checkPages(doc.pages)
	}
	if err != nil {
		cancel()
	}
	writeErr := <-written
	switch {
	case err != nil:
		return err
	case writeErr != nil || doc.name != in.Name:
		return doc.write(ctx, job) // on what was repaired, or to tell why not
	}
	w.Output(output)
	return nil
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
