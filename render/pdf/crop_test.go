package pdf

import (
	"bytes"
	"fmt"
	"image"
	stddraw "image/draw"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// cut returns a part of an image, as an image of its own.
func cut(img image.Image, part image.Rectangle) image.Image {
	out := image.NewRGBA(image.Rect(0, 0, part.Dx(), part.Dy()))
	stddraw.Draw(out, out.Bounds(), img, part.Min, stddraw.Src)
	return out
}

// TestCropKeepsVisibleContent crops pages that are turned, and begin elsewhere than at
// the corner of their paper: three programs show the part of them that was asked for.
func TestCropKeepsVisibleContent(t *testing.T) {
	sharedtest.Slow(t)
	for _, rotate := range []int{0, 90, 180, 270, -90, 450} {
		corner := stampArgs(func(a *Mark) { *a.Position = "top-left" })
		document := makeOne(t, StampJob.Name, corner, colored(rotate), plate(t, green, 40, 20))
		whole := draw(t, document, 1)
		width, height := whole.Bounds().Dx(), whole.Bounds().Dy()
		box := CropBox{X: 20, Y: 10, Width: 70, Height: 60}
		part := image.Rect(20, 10, 90, 70)
		boxed := makeOne(t, CropJob.Name, CropArgs{Selection: Selection{Input: input("")}, Box: &box}, document)
		margin := images.Margin{Top: 10, Left: 20, Right: float64(width - part.Max.X), Bottom: float64(height - part.Max.Y)}
		cropped := makeOne(t, CropJob.Name, CropArgs{Selection: Selection{Input: input("")}, Margin: margin}, document)
		for name, got := range map[string]image.Image{
			"poppler": draw(t, boxed, 1), "MuPDF": drawMuPDF(t, boxed, 1), "PDFium": drawPDFium(t, boxed, 1), "margins": draw(t, cropped, 1),
		} {
			if share := differing(t, got, cut(whole, part)); share > 0.02 {
				t.Errorf("turned by %d, %s: %.1f %% of the pixels differ", rotate, name, 100*share)
			}
		}
		sound(t, boxed, "", 1)
	}
}

func TestCropLeavesOtherPages(t *testing.T) {
	sharedtest.Slow(t)
	got := makeOne(t, CropJob.Name, CropArgs{Selection: Selection{Input: input(""), Pages: "2"}, Box: &CropBox{X: 1, Y: 2, Width: 9000, Height: 30}}, linked().Write())
	sound(t, got, "", 3)
	about := unmarshal[Info](t, result(t, InfoJob.Name, input(""), got))
	for i, want := range []PageInfo{{1, 300, 400, 0}, {2, 300, 30, 0}, {3, 302, 400, 0}} {
		if about.Pages[i] != want {
			t.Errorf("page %d: %+v, want %+v", i+1, about.Pages[i], want)
		}
	}
	if !about.HasOutline || !about.HasForm {
		t.Errorf("the outline or the form is gone: %+v", about)
	}
}

func TestCropRefusesEmptyResults(t *testing.T) {
	for _, args := range []CropArgs{
		{Box: &CropBox{X: 400, Width: 10, Height: 10}}, {Margin: images.Margin{Top: 200, Bottom: 198}}, {Box: &CropBox{X: 298, Width: 50, Height: 50}},
	} {
		args.Selection = Selection{Input: input(""), Pages: "1"}
		if failed := runFailing(t, job.OffPage, CropJob.Name, args, three().Write()); failed.Page != 1 || failed.Text == "" {
			t.Errorf("%+v: %+v", args, failed)
		}
	}
	beyond := CropArgs{Selection: Selection{Input: input(""), Pages: "4"}, Box: &CropBox{Width: 10, Height: 10}}
	runFailing(t, job.PageOutOfRange, CropJob.Name, beyond, three().Write())
}

// TestCropCountsInUnits crops a page whose unit is not a point.
func TestCropCountsInUnits(t *testing.T) {
	document := bytes.Replace(three().Write(), []byte("/MediaBox [0 0 300 400]"), []byte("/MediaBox [0 0 30 40] /UserUnit 10"), 1)
	got := makeOne(t, CropJob.Name, CropArgs{Selection: Selection{Input: input(""), Pages: "1"}, Box: &CropBox{X: 50, Y: 100, Width: 200, Height: 150}}, document)
	if text := pdftest.Tool(t, "qpdf", "--qdf", "--object-streams=disable", pdftest.Save(t, got), "-"); !bytes.Contains(flat(text), []byte("/CropBox [ 5 15 25 30 ]")) {
		t.Errorf("the page is cropped elsewhere:\n%.2000s", text)
	}
}

// flat writes white space as single spaces.
func flat(text string) []byte { return bytes.Join(bytes.Fields([]byte(text)), []byte(" ")) }

func TestRepair(t *testing.T) {
	content := linked().Write()
	table := bytes.LastIndex(content, []byte("xref\n0"))
	for name, broken := range map[string][]byte{
		"no table": content[:table], "a table that lies": bytes.ReplaceAll(content, []byte(" 00000 n"), []byte("9 00000 n")),
		"text before it": append([]byte("HTTP/1.1 200 OK\r\n\r\n"), content...),
	} {
		got := makeOne(t, RepairJob.Name, input(""), broken)
		sound(t, got, "", 3)
		if texts := pageTexts(t, got, ""); fmt.Sprint(texts) != "[alpha beta gamma]" {
			t.Errorf("%s: pages %q", name, texts)
		}
	}
	runFailing(t, job.Damaged, RepairJob.Name, input(""), []byte("%PDF-1.7\nnothing of it is left"))
	runFailing(t, job.NotPDF, RepairJob.Name, input(""), []byte("GIF89a"))
}
