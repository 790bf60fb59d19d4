package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pagerange"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// document is an input that can be read.
type document struct {
	work *engine.Work
	// name is its file in the job's folder: the input, or the repaired file.
	name string
	// password opens it; empty if it needs none.
	password string
	// number is the input's number, for errors.
	number int
	pages  int
	// packed is true if the document had its objects in streams. The result then has them in streams too.
	packed bool
	// sealed is the document as it was when it was encrypted, which its result is to be again; nil if it is not.
	sealed *document
	// drawn is the check of what its pages draw; nil for a document that was made of one.
	drawn *drawnCheck
}

// open checks an input and counts its pages. MuPDF may repair files that qpdf cannot read.
// The error is an *Error if the file is the cause.
func open(ctx context.Context, w *engine.Work, number int, in Input) (*document, error) {
	doc := &document{work: w, name: in.Name, password: in.Password, number: number, drawn: new(drawnCheck)}
	if err := doc.checkHeader(); err != nil {
		return nil, err
	}
	err := doc.prepare(ctx)
	return doc, err
}

// prepare counts the pages, and repairs a document if that fails.
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
	doc := &document{work: w, name: in.Name, password: in.Password, drawn: new(drawnCheck)}
	if err := doc.checkHeader(); err != nil {
		return nil, nil, err
	}
	s, err := doc.openStructure(ctx)
	return doc, s, err
}

// openStructure reads the document's structure, and repairs a document if that fails.
func (d *document) openStructure(ctx context.Context) (*structure, error) {
	s, err := d.readStructure(ctx)
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == Exhausted || errors.Is(err, engine.ErrOutputTooLarge) {
		return nil, err
	}

	if err != nil || len(s.Pages) == 0 {
		if err := d.prepare(ctx); err != nil {
			return nil, err
		}
		if s, err = d.readStructure(ctx); err != nil {
			return nil, err
		}
	}

	if len(s.Pages) == 0 {
		return nil, d.fail(Damaged, errors.New("no pages"))
	}
	return s, d.checkCount()
}

// writeWhole does a qpdf job that is the same for every page of a document. The
// pages are counted at the same time, since only damaged and huge documents
// make the result worthless.
func writeWhole(ctx context.Context, w *engine.Work, in Input, job qpdfJob) error {
	first := &document{work: w, name: in.Name, password: in.Password}
	if err := first.checkHeader(); err != nil {
		return err
	}

	if n, err := first.declaredPages(); err != nil {
		return err
	} else if n > 0 && n <= maxPages {
		if err := first.write(ctx, maps.Clone(job)); err == nil {
			return nil
		}
	}

	early, cancel := context.WithCancel(ctx)
	defer cancel()
	written := make(chan error, 1)
	go func() {
		written <- guard.Try(func() error { return first.writeTo(early, output, maps.Clone(job)) })
	}()

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
		return doc.write(ctx, job) // with the repaired file, or to report the reason
	}

	w.Output(output)
	return nil
}

// declaredPages returns the number of pages that a document declares, if its table of objects can be read here,
// because qpdf takes long to count the pages of a large one. 0 means unknown.
func (d *document) declaredPages() (int, error) {
	content, err := d.content()
	if err != nil {
		return 0, err
	}
	f, err := pdffile.ReadTable(content)
	if err != nil {
		return 0, nil //nolint:nilerr // qpdf will count them
	}
	if n := f.DeclaredPages(); n <= maxInputPages {
		return n, nil
	}
	return 0, nil
}

// openOne opens the only input of a job.
func openOne(ctx context.Context, w *engine.Work, in Input) (*document, error) {
	return open(ctx, w, 0, in)
}

// checkHeader refuses files that are not PDFs before another process sees them, and finds
// errors that qpdf would miss.
func (d *document) checkHeader() error {
	f, err := os.Open(d.work.Path(d.name))
	if err != nil {
		return fmt.Errorf("open input: %w", err)
	}
	start, err := io.ReadAll(io.LimitReader(f, pdffile.HeaderWithin))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read input: %w", err)
	}

	if !bytes.Contains(start, []byte("%PDF-")) {
		return d.fail(NotPDF, nil)
	}
	if err := d.addSize(); err != nil {
		return err
	}
	return d.completeEncryption()
}

// completeEncryption gives a document the length of its key, which qpdf and other readers guess if it is missing, each
// in its own way.
func (d *document) completeEncryption() error {
	path := d.work.Path(d.name)
	if found, err := contains(path, "/AESV2"); err != nil || !found {
		return err
	}

	content, err := d.content()
	if err != nil {
		return err
	}
	f, err := pdffile.ReadTable(content)
	if err != nil {
		return nil //nolint:nilerr // qpdf will read it.
	}
	tail, err := f.CompleteEncryption()
	if err != nil || tail == nil {
		return err
	}

	completed := strconv.Itoa(d.number) + "completed.pdf"
	if err := os.WriteFile(d.work.Path(completed), slices.Concat(content, tail), 0o600); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	d.name = completed
	return nil
}

// addSize gives a document a trailer with a /Size, if it has trailers and all lack it.
// qpdf finds the objects of such a document, and writes it without a /Size again, so
// that its result is damaged too. The number does not matter: qpdf counts.
func (d *document) addSize() error {
	if found, err := contains(d.work.Path(d.name), "trailer"); err != nil || !found {
		return err
	}

	content, err := d.content()
	if err != nil {
		return err
	}

	const maxTrailer = 4 << 10 // bytes of a trailer that are searched
	first := -1
	for at := 0; ; at += len("trailer") {
		next := bytes.Index(content[at:], []byte("trailer"))
		if next < 0 {
			break
		}

		at += next
		dictionary := content[at:min(len(content), at+maxTrailer)]
		if end := bytes.Index(dictionary, []byte("startxref")); end >= 0 {
			dictionary = dictionary[:end]
		}
		if bytes.Contains(dictionary, []byte("/Size")) {
			return nil
		}
		if open := bytes.Index(dictionary, []byte("<<")); open >= 0 && first < 0 {
			first = at + open + len("<<")
		}
	}

	if first < 0 {
		return nil
	}

	sized := strconv.Itoa(d.number) + "sized.pdf"
	content = slices.Concat(content[:first], []byte(" /Size 1 "), content[first:])
	if err := os.WriteFile(d.work.Path(sized), content, 0o600); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	d.name = sized
	return nil
}

// fail returns an Error about this document.
func (d *document) fail(kind Kind, cause error) error {
	return &Error{Kind: kind, Input: d.number, cause: cause}
}

// content reads the document's file.
func (d *document) content() ([]byte, error) {
	content, err := os.ReadFile(d.work.Path(d.name))
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return content, nil
}

// count sets the number of pages.
func (d *document) count(ctx context.Context) error {
	if f, err := d.readSelf(); err == nil {
		if pages, err := f.Pages(maxInputPages); err == nil {
			d.pages = len(pages)
			return d.checkCount()
		}
	}

	out, err := qpdf(ctx, d.work, qpdfJob{"inputFile": d.name, "password": d.password, "showNpages": ""})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(out)))
	if err != nil || n < 1 {
		return d.fail(Damaged, errors.New("no pages"))
	}

	d.pages = n
	return d.checkCount()
}

// maxInputPages is the maximum number of pages of an input. A few bytes of a hostile one can mean millions.
const maxInputPages = 50_000

// checkCount refuses a document of more pages than that.
func (d *document) checkCount() error {
	if d.pages > maxInputPages {
		return &Error{Kind: TooManyPages, Input: d.number, Pages: d.pages, Max: maxInputPages}
	}
	return nil
}

// checkPassword reports whether a document cannot be read for want of the right
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

// repair lets MuPDF rewrite a document that qpdf cannot read.
func (d *document) repair(ctx context.Context) error {
	const repaired = "repaired.pdf"
	name := strconv.Itoa(d.number) + repaired
	_, err := d.work.Exec(ctx, engine.Program{
		Name: "mutool",
		Args: []string{"clean", engine.PathArg(d.name), engine.PathArg(name)},
	})
	if err == nil {
		d.name = name
		d.password = ""
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
		return nil, &Error{Kind: NoSelection, Input: d.number, Text: err.Error()}
	}
	numbers, err := parsed.Resolve(d.pages)
	return numbers, beyond(d.number, err)
}

// checkPages refuses a result of more pages than the limit.
func checkPages(n int) error {
	if n > maxPages {
		return &Error{Kind: TooManyPages, Pages: n, Max: maxPages}
	}
	return nil
}
