package job

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

// Document is an input that can be read.
type Document struct {
	Work *engine.Work
	// Name is its file in the job's folder: the input, or the repaired file.
	Name string
	// Password opens it; empty if it needs none.
	Password string
	// Number is the input's number, for errors.
	Number int
	Pages  int
	// Packed is true if the document had its objects in streams. The result then has them in streams too.
	Packed bool
	// Sealed is the document as it was when it was encrypted, which its result is to be again; nil if it is not.
	Sealed *Document
	// drawn is the check of what its pages draw; nil for a document that was made of one.
	drawn *drawnCheck
}

// Open checks an input and counts its pages. MuPDF may repair files that qpdf cannot read.
// The error is an *Error if the file is the cause.
func Open(ctx context.Context, w *engine.Work, number int, in Input) (*Document, error) {
	doc := &Document{Work: w, Name: in.Name, Password: in.Password, Number: number, drawn: new(drawnCheck)}
	if err := doc.CheckHeader(); err != nil {
		return nil, err
	}
	err := doc.Prepare(ctx)
	return doc, err
}

// Prepare counts the pages, and repairs a document if that fails.
func (d *Document) Prepare(ctx context.Context) error {
	err := d.Count(ctx)
	var failed *engine.ExitError
	if !errors.As(err, &failed) {
		return err
	}
	if err := d.CheckPassword(ctx); err != nil {
		return err
	}
	return d.repair(ctx)
}

// OpenStructure opens the only input of a job that needs its structure, which
// counts the pages as well.
func OpenStructure(ctx context.Context, w *engine.Work, in Input) (*Document, *Structure, error) {
	doc := &Document{Work: w, Name: in.Name, Password: in.Password, drawn: new(drawnCheck)}
	if err := doc.CheckHeader(); err != nil {
		return nil, nil, err
	}
	s, err := doc.OpenStructure(ctx)
	return doc, s, err
}

// OpenStructure reads the document's structure, and repairs a document if that fails.
func (d *Document) OpenStructure(ctx context.Context) (*Structure, error) {
	s, err := d.ReadStructure(ctx)
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == Exhausted || errors.Is(err, engine.ErrOutputTooLarge) {
		return nil, err
	}

	if err != nil || len(s.Pages) == 0 {
		if err := d.Prepare(ctx); err != nil {
			return nil, err
		}
		if s, err = d.ReadStructure(ctx); err != nil {
			return nil, err
		}
	}

	if len(s.Pages) == 0 {
		return nil, d.Fail(Damaged, errors.New("no pages"))
	}
	return s, d.CheckCount()
}

// WriteWhole does a qpdf job that is the same for every page of a document. The
// pages are counted at the same time, since only damaged and huge documents
// make the result worthless.
func WriteWhole(ctx context.Context, w *engine.Work, in Input, job QPDFJob) error {
	first := &Document{Work: w, Name: in.Name, Password: in.Password}
	if err := first.CheckHeader(); err != nil {
		return err
	}

	if n, err := first.declaredPages(); err != nil {
		return err
	} else if n > 0 && n <= MaxPages {
		if err := first.Write(ctx, maps.Clone(job)); err == nil {
			return nil
		}
	}

	early, cancel := context.WithCancel(ctx)
	defer cancel()
	written := make(chan error, 1)
	go func() {
		written <- guard.Try(func() error { return first.WriteTo(early, Output, maps.Clone(job)) })
	}()

	doc, err := OpenOne(ctx, w, in)
	if err == nil {
		err = CheckPages(doc.Pages)
	}
	if err != nil {
		cancel()
	}

	writeErr := <-written
	switch {
	case err != nil:
		return err
	case writeErr != nil || doc.Name != in.Name:
		return doc.Write(ctx, job) // with the repaired file, or to report the reason
	}

	w.Output(Output)
	return nil
}

// declaredPages returns the number of pages that a document declares, if its table of objects can be read here,
// because qpdf takes long to count the pages of a large one. 0 means unknown.
func (d *Document) declaredPages() (int, error) {
	content, err := d.Content()
	if err != nil {
		return 0, err
	}
	f, err := pdffile.ReadTable(content)
	if err != nil {
		return 0, nil //nolint:nilerr // qpdf will count them
	}
	if n := f.DeclaredPages(); n <= MaxInputPages {
		return n, nil
	}
	return 0, nil
}

// OpenOne opens the only input of a job.
func OpenOne(ctx context.Context, w *engine.Work, in Input) (*Document, error) {
	return Open(ctx, w, 0, in)
}

// CheckHeader refuses files that are not PDFs before another process sees them, and finds
// errors that qpdf would miss.
func (d *Document) CheckHeader() error {
	f, err := os.Open(d.Work.Path(d.Name))
	if err != nil {
		return fmt.Errorf("open input: %w", err)
	}
	start, err := io.ReadAll(io.LimitReader(f, pdffile.HeaderWithin))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read input: %w", err)
	}

	if !bytes.Contains(start, []byte("%PDF-")) {
		return d.Fail(NotPDF, nil)
	}
	if err := d.addSize(); err != nil {
		return err
	}
	return d.completeEncryption()
}

// completeEncryption gives a document the length of its key, which qpdf and other readers guess if it is missing, each
// in its own way.
func (d *Document) completeEncryption() error {
	path := d.Work.Path(d.Name)
	if found, err := FileContains(path, "/AESV2"); err != nil || !found {
		return err
	}

	content, err := d.Content()
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

	completed := strconv.Itoa(d.Number) + "completed.pdf"
	if err := os.WriteFile(d.Work.Path(completed), slices.Concat(content, tail), 0o600); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	d.Name = completed
	return nil
}

// addSize gives a document a trailer with a /Size, if it has trailers and all lack it.
// qpdf finds the objects of such a document, and writes it without a /Size again, so
// that its result is damaged too. The number does not matter: qpdf counts.
func (d *Document) addSize() error {
	if found, err := FileContains(d.Work.Path(d.Name), "trailer"); err != nil || !found {
		return err
	}

	content, err := d.Content()
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

	sized := strconv.Itoa(d.Number) + "sized.pdf"
	content = slices.Concat(content[:first], []byte(" /Size 1 "), content[first:])
	if err := os.WriteFile(d.Work.Path(sized), content, 0o600); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	d.Name = sized
	return nil
}

// Fail returns an Error about this document.
func (d *Document) Fail(kind Kind, cause error) error {
	return &Error{Kind: kind, Input: d.Number, Cause: cause}
}

// Content reads the document's file.
func (d *Document) Content() ([]byte, error) {
	content, err := os.ReadFile(d.Work.Path(d.Name))
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return content, nil
}

// Count sets the number of pages.
func (d *Document) Count(ctx context.Context) error {
	if f, err := d.ReadSelf(); err == nil {
		if pages, err := f.Pages(MaxInputPages); err == nil {
			d.Pages = len(pages)
			return d.CheckCount()
		}
	}

	out, err := QPDF(ctx, d.Work, QPDFJob{"inputFile": d.Name, "password": d.Password, "showNpages": ""})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(out)))
	if err != nil || n < 1 {
		return d.Fail(Damaged, errors.New("no pages"))
	}

	d.Pages = n
	return d.CheckCount()
}

// MaxInputPages is the maximum number of pages of an input. A few bytes of a hostile one can mean millions.
const MaxInputPages = 50_000

// CheckCount refuses a document of more pages than that.
func (d *Document) CheckCount() error {
	if d.Pages > MaxInputPages {
		return &Error{Kind: TooManyPages, Input: d.Number, Pages: d.Pages, Max: MaxInputPages}
	}
	return nil
}

// CheckPassword reports whether a document cannot be read for want of the right
// password. qpdf answers so with the exit code 0; others are for documents that
// are not encrypted or that the password opens.
func (d *Document) CheckPassword(ctx context.Context) error {
	_, err := QPDF(ctx, d.Work, QPDFJob{"inputFile": d.Name, "password": d.Password, "requiresPassword": ""})
	var exit *engine.ExitError
	switch {
	case err == nil && d.Password == "":
		return d.Fail(PasswordRequired, nil)
	case err == nil:
		return d.Fail(WrongPassword, nil)
	case errors.As(err, &exit):
		return nil
	}
	return err
}

// repair lets MuPDF rewrite a document that qpdf cannot read.
func (d *Document) repair(ctx context.Context) error {
	const repaired = "repaired.pdf"
	name := strconv.Itoa(d.Number) + repaired
	_, err := d.Work.Exec(ctx, engine.Program{
		Name: "mutool",
		Args: []string{"clean", engine.PathArg(d.Name), engine.PathArg(name)},
	})
	if err == nil {
		d.Name = name
		d.Password = ""
		err = d.Count(ctx)
	}

	var exit *engine.ExitError
	var known *Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &exit) || errors.Is(err, engine.ErrNoProgram):
		return d.Fail(Damaged, err)
	}
	return err
}

// Resolve returns the numbers of the pages, from 1, that a selection means in
// this document; an empty selection means all.
func (d *Document) Resolve(selection string) ([]int, error) {
	if selection == "" {
		selection = "1-"
	}
	parsed, err := pagerange.Parse(selection)
	if err != nil {
		return nil, &Error{Kind: NoSelection, Input: d.Number, Text: err.Error()}
	}
	numbers, err := parsed.Resolve(d.Pages)
	return numbers, beyond(d.Number, err)
}

// CheckPages refuses a result of more pages than the limit.
func CheckPages(n int) error {
	if n > MaxPages {
		return &Error{Kind: TooManyPages, Pages: n, Max: MaxPages}
	}
	return nil
}
