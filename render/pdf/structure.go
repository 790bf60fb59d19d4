package pdf

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

// structure holds the pages, the outline and the objects of a document.
type structure struct {
	Pages    []pageObject          `json:"pages"`
	Outlines []pdffile.OutlineItem `json:"outlines"`

	*pdffile.File
}

type pageObject struct {
	Object string `json:"object"`
}

// selfDescribed is a structure that is read from the document alone, in a tenth of
// the time that qpdf takes to describe it.
func selfDescribed(f *pdffile.File) (*structure, error) {
	pages, err := f.Pages(maxInputPages)
	if err != nil {
		return nil, err
	}
	s := &structure{Pages: make([]pageObject, len(pages)), File: f}
	for i, page := range pages {
		s.Pages[i].Object = page.Ref
	}
	s.Outlines, err = f.Outline(pages)
	return s, err
}

// readStructure reads the pages, the outline and the objects of a document, and counts its pages. A document that
// cannot be read unchanged, such as an encrypted one, is rewritten first.
func (d *document) readStructure(ctx context.Context) (*structure, error) {
	return readSound(ctx, d, d.describeAsIs)
}

func (d *document) describeAsIs(ctx context.Context) (*structure, error) {
	content, err := d.content()
	if err != nil {
		return nil, err
	}

	f, err := pdffile.Read(content)
	if err == nil {
		if s, err := selfDescribed(f); err == nil {
			d.pages = len(s.Pages)
			return s, nil
		}
	}

	var s *structure
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
	d.pages = len(s.Pages)
	return s, nil
}

// rewrite makes a document one whose objects can be read: not encrypted, and
// with a table that is right.
func (d *document) rewrite(ctx context.Context) error {
	original := *d
	packed, err := contains(d.work.Path(d.name), "/ObjStm")
	if err != nil {
		return err
	}
	encrypted, err := contains(d.work.Path(d.name), "/Encrypt")
	if err != nil {
		return err
	}

	name := strconv.Itoa(d.number) + "rewritten.pdf"
	if err := d.writeTo(ctx, name, qpdfJob{"decrypt": "", "objectStreams": "disable", "streamData": "preserve"}); err != nil {
		return err
	}

	d.name, d.password, d.packed = name, "", packed
	if encrypted {
		d.sealed = &original
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
func (d *document) describe(ctx context.Context, keys ...string) (*structure, error) {
	out, err := d.ask(ctx, qpdfJob{"inputFile": d.name, "password": d.password, "json": "2", "jsonKey": keys})
	if err != nil {
		return nil, err
	}
	var s structure
	if err := json.Unmarshal(out, &s); err != nil {
		return nil, d.fail(Damaged, fmt.Errorf("structure: %w", err))
	}
	return &s, nil
}

// ask runs a qpdf job that describes the document, with its own limits.
func (d *document) ask(ctx context.Context, job qpdfJob) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	out, err := qpdfWithin(bounded, d.work, job, describeMemory)
	var exit *engine.ExitError
	switch {
	case err != nil && ctx.Err() == nil && bounded.Err() != nil:
		return nil, d.fail(Exhausted, err)
	case errors.As(err, &exit) && strings.Contains(exit.Stderr, outOfMemory):
		return nil, d.fail(Exhausted, err)
	}
	return out, d.damaged(err)
}

// change writes an update behind the document's file.
func (d *document) change(u *pdffile.Update) error {
	if u.Empty() {
		return nil
	}
	tail, err := u.Append()
	if err != nil {
		return d.fail(Damaged, err)
	}
	return d.append(tail)
}

// append writes behind the document's file.
func (d *document) append(tail []byte) (err error) {
	f, err := os.OpenFile(d.work.Path(d.name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(tail)
	return err
}

// writeUpdated writes a file of the job's folder with an update to another one.
func (d *document) writeUpdated(from, to string, update *pdffile.Update) error {
	content, err := os.ReadFile(d.work.Path(from))
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	tail, err := update.Append()
	if err != nil {
		return d.fail(Damaged, err)
	}
	if err := os.WriteFile(d.work.Path(to), append(content, tail...), 0o600); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return nil
}
