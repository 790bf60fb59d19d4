package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Structure holds the pages, the outline and the objects of a document.
type Structure struct {
	Pages    []PageObject          `json:"pages"`
	Outlines []pdffile.OutlineItem `json:"outlines"`

	*pdffile.File
}

// PageObject is the reference of a page.
type PageObject struct {
	Object string `json:"object"`
}

// SelfDescribed is a structure that is read from the document alone, in a tenth of
// the time that qpdf takes to describe it.
func SelfDescribed(f *pdffile.File) (*Structure, error) {
	pages, err := f.Pages(MaxInputPages)
	if err != nil {
		return nil, err
	}
	s := &Structure{Pages: make([]PageObject, len(pages)), File: f}
	for i, page := range pages {
		s.Pages[i].Object = page.Ref
	}
	s.Outlines, err = f.Outline(pages)
	return s, err
}

// ReadStructure reads the pages, the outline and the objects of a document, and counts its pages. A document that
// cannot be read unchanged, such as an encrypted one, is rewritten first.
func (d *Document) ReadStructure(ctx context.Context) (*Structure, error) {
	return readSound(ctx, d, d.describeAsIs)
}

func (d *Document) describeAsIs(ctx context.Context) (*Structure, error) {
	content, err := d.Content()
	if err != nil {
		return nil, err
	}

	f, err := pdffile.Read(content)
	if err == nil {
		if s, err := SelfDescribed(f); err == nil {
			d.Pages = len(s.Pages)
			return s, nil
		}
	}

	var s *Structure
	group, groupCtx := guard.WithContext(ctx)
	group.Go(func() (err error) {
		s, err = d.describe(groupCtx, "pages", "outlines")
		return err
	})
	if f == nil {
		group.Go(func() (err error) {
			f, err = d.askFile(groupCtx, content)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}

	s.File = f
	d.Pages = len(s.Pages)
	return s, nil
}

// rewrite makes a document one whose objects can be read: not encrypted, and
// with a table that is right.
func (d *Document) rewrite(ctx context.Context) error {
	original := *d
	packed, err := FileContains(d.Work.Path(d.Name), "/ObjStm")
	if err != nil {
		return err
	}
	encrypted, err := FileContains(d.Work.Path(d.Name), "/Encrypt")
	if err != nil {
		return err
	}

	name := strconv.Itoa(d.Number) + "rewritten.pdf"
	if err := d.WriteTo(ctx, name, QPDFJob{"decrypt": "", "objectStreams": "disable", "streamData": "preserve"}); err != nil {
		return err
	}

	d.Name, d.Password, d.Packed = name, "", packed
	if encrypted {
		d.Sealed = &original
	}
	return nil
}

// Limits for qpdf when it describes a document. They are more than the largest honest
// documents need, with 50,000 pages, and small enough for several processes in one job.
// qpdf never finishes an outline whose entries form a cycle, and needs very long for a
// million identical pages.
const (
	describeTime   = 15 * time.Second
	describeMemory = 320 << 20
	// outOfMemory is the message of qpdf, which is written in C++, when an allocation fails.
	outOfMemory = "std::bad_alloc"
)

// describe reads parts of qpdf's description of the document. That of its
// objects is not one of them: qpdf looks at each of them for it.
func (d *Document) describe(ctx context.Context, keys ...string) (*Structure, error) {
	out, err := d.Ask(ctx, QPDFJob{"inputFile": d.Name, "password": d.Password, "json": "2", "jsonKey": keys})
	if err != nil {
		return nil, err
	}
	var s Structure
	if err := json.Unmarshal(out, &s); err != nil {
		return nil, d.Fail(Damaged, fmt.Errorf("structure: %w", err))
	}
	return &s, nil
}

// Ask runs a qpdf job that describes the document, with its own limits.
func (d *Document) Ask(ctx context.Context, job QPDFJob) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	out, err := qpdfWithin(bounded, d.Work, job, describeMemory)
	var exit *engine.ExitError
	switch {
	case err != nil && ctx.Err() == nil && bounded.Err() != nil:
		return nil, d.Fail(Exhausted, err)
	case errors.As(err, &exit) && strings.Contains(exit.Stderr, outOfMemory):
		return nil, d.Fail(Exhausted, err)
	}
	return out, d.Damaged(err)
}

// Change writes an update behind the document's file.
func (d *Document) Change(u *pdffile.Update) error {
	if u.Empty() {
		return nil
	}
	tail, err := u.Append()
	if err != nil {
		return d.Fail(Damaged, err)
	}
	return d.Append(tail)
}

// Append writes behind the document's file.
func (d *Document) Append(tail []byte) (err error) {
	f, err := os.OpenFile(d.Work.Path(d.Name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(tail)
	return err
}

// WriteUpdated writes a file of the job's folder with an update to another one.
func (d *Document) WriteUpdated(from, to string, update *pdffile.Update) error {
	content, err := os.ReadFile(d.Work.Path(from))
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	tail, err := update.Append()
	if err != nil {
		return d.Fail(Damaged, err)
	}
	if err := os.WriteFile(d.Work.Path(to), append(content, tail...), 0o600); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return nil
}
