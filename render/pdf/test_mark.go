package pdf

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// TestMarkJob draws the test mark on each page of a PDF.
var TestMarkJob = job.DefineFile("pdf.test-mark", engine.ChangeTime, testMark)

// testMark draws the test mark on each page of a document: a band with the word Test, in the bottom right corner of the
// page as it is shown. It is part of the page's content, in shades of grey and without a font or transparency, so that
// PDF/A stays PDF/A. Nothing hides it: see marker. The rest of the document stays as it is, its encryption and
// linearization included.
func testMark(ctx context.Context, w *engine.Work, in job.Input) error {
	doc := &job.Document{Work: w, Name: in.Name, Password: in.Password}
	linear, err := isLinear(doc)
	if err != nil {
		return err
	}

	if err := doc.CheckHeader(); err != nil {
		return err
	}
	if err := markPages(ctx, doc); err != nil {
		return err
	}

	options := job.QPDFJob{"newlineBeforeEndstream": ""} // as PDF/A requires
	if linear {
		options["linearize"] = ""
	}
	return doc.Write(ctx, options)
}

// isLinear reports whether the document is linearized, which its first object shows.
func isLinear(d *job.Document) (bool, error) {
	content, err := d.Content()
	return bytes.Contains(content[:min(len(content), pdffile.HeaderWithin)], []byte("/Linearized")), err
}

// pageMark returns the band on a page as it is shown, and its place on the page.
func pageMark(p job.Paper) (content string, at job.Box) {
	width, height := p.Size()
	u := 1 / p.Unit

	matrix := job.Affine{u, 0, 0, u, p.Box[0], p.Box[1]}
	switch p.Turn {
	case 90:
		matrix = job.Affine{0, u, -u, 0, p.Box[2], p.Box[1]}
	case 180:
		matrix = job.Affine{-u, 0, 0, -u, p.Box[2], p.Box[3]}
	case 270:
		matrix = job.Affine{0, -u, u, 0, p.Box[0], p.Box[3]}
	}

	band := images.MarkHeight(width, height, images.MinMarkPoints, images.MaxMarkPoints)
	label := images.MarkOutline()

	var out strings.Builder
	out.WriteString(markStart + " " + numbers5(matrix))
	// In heights of the band, from the top left of the band.
	fmt.Fprintf(&out, " cm\n%s 0 0 %s %s %s cm\n", job.FormatNumber(band), job.FormatNumber(-band), job.FormatNumber(width-band*label.Width), job.FormatNumber(band))
	fmt.Fprintf(&out, "1 g 0 0 %s 1 re f\n0.2 g %s %s %s %s re f\n", job.FormatNumber(label.Width),
		job.FormatNumber(images.MarkEdge), job.FormatNumber(images.MarkEdge), job.FormatNumber(label.Width-2*images.MarkEdge), job.FormatNumber(1-2*images.MarkEdge))
	out.WriteString(markEnd())
	return out.String(), matrix.Around(width-band*label.Width, 0, width, band)
}

// markStart is how the content of each band begins.
const markStart = "/Artifact BMC\nq"

// markEnd is how the content of each band ends: the word.
var markEnd = sync.OnceValue(func() string {
	var out strings.Builder
	out.WriteString("1 g\n")
	images.MarkOutline().Trace(&contentPen{out: &out})
	out.WriteString("f\nQ\nEMC\n")
	return out.String()
})

// contentPen writes a path of a page's content.
type contentPen struct {
	out  *strings.Builder
	x, y float32
}

func (p *contentPen) MoveTo(x, y float32) { p.to("m", x, y) }
func (p *contentPen) LineTo(x, y float32) { p.to("l", x, y) }
func (p *contentPen) ClosePath()          { p.out.WriteString("h\n") }

// QuadTo writes the curve with two control points, because PDF has no other.
func (p *contentPen) QuadTo(cx, cy, x, y float32) {
	toward := func(from float32, control float32) float32 { return from + 2*(control-from)/3 }
	for _, n := range []float32{toward(p.x, cx), toward(p.y, cy), toward(x, cx), toward(y, cy)} {
		p.out.WriteString(job.FormatNumber(float64(n)) + " ")
	}
	p.to("c", x, y)
}

func (p *contentPen) to(operator string, x, y float32) {
	fmt.Fprintf(p.out, "%s %s %s\n", job.FormatNumber(float64(x)), job.FormatNumber(float64(y)), operator)
	p.x, p.y = x, y
}
