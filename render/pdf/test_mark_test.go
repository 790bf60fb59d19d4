package pdf

import (
	"archive/zip"
	"bytes"
	"image"
	"image/color"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// markGrey is the colour of the test mark.
var markGrey = color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 255}

// marked returns the part of an image with the colour of the test mark.
func marked(img image.Image) image.Rectangle { return extent(img, markGrey) }

// TestMarkIsInTheCorner marks pages that are turned, begin elsewhere than at the corner of their paper, and are
// covered with colour. Three programs show the band in the bottom right corner of the page as it is shown.
func TestMarkIsInTheCorner(t *testing.T) {
	for _, rotate := range []int{0, 90, 180, 270} {
		w, h := 200, 100
		if rotate%180 != 0 {
			w, h = h, w
		}
		got := makeOne(t, TestMarkJob.Name, input(""), colored(rotate))
		sound(t, got, "", 1)
		width := int(images.MinMarkPoints * images.MarkOutline().Width)
		for name, page := range map[string]image.Image{"poppler": draw(t, got, 1), "MuPDF": drawMuPDF(t, got, 1), "PDFium": drawPDFium(t, got, 1)} {
			if at, want := marked(page), image.Rect(w-width, h-images.MinMarkPoints, w, h); !close1(at, want) {
				t.Errorf("turned by %d, %s: the mark is at %v, want %v", rotate, name, at, want)
			}
		}
	}
}

// TestMarkIsOnEveryPage marks a document with an outline, links and fields, which it keeps, and one whose pages share
// their content.
func TestMarkIsOnEveryPage(t *testing.T) {
	got := makeOne(t, TestMarkJob.Name, input(""), linked().Write())
	sound(t, got, "", 3)
	for page := 1; page <= 3; page++ {
		if marked(draw(t, got, page)).Dx() < 10 {
			t.Errorf("page %d has no mark", page)
		}
	}
	if before, after := outlineOf(t, linked().Write()), outlineOf(t, got); !slices.Equal(before, after) {
		t.Errorf("the outline is %q, want %q", after, before)
	}
	if before, after := pageTexts(t, linked().Write(), ""), pageTexts(t, got, ""); !slices.Equal(before, after) {
		t.Errorf("the text is %q, want %q", after, before)
	}
	again := makeOne(t, TestMarkJob.Name, input(""), got)
	sound(t, again, "", 3)
}

func TestMarkKeepsEncryption(t *testing.T) {
	document := pdftest.Transform(t, three().Write(), "--object-streams=generate", "--encrypt", "user", "owner", "256", "--print=none", "--")
	for _, password := range []string{"user", "owner"} {
		got := makeOne(t, TestMarkJob.Name, input(password), document)
		sound(t, got, "user", 3)
		if about := pdftest.Tool(t, "pdfinfo", "-upw", "user", pdftest.Save(t, got)); !strings.Contains(about, "print:no") {
			t.Errorf("the permissions are lost:\n%s", about)
		}
		if plain := pdftest.Transform(t, got, "--password=user", "--decrypt"); marked(draw(t, plain, 3)).Dx() < 10 {
			t.Error("an encrypted page has no mark")
		}
	}
	runFailing(t, job.WrongPassword, TestMarkJob.Name, input("other"), document)
	runFailing(t, job.NotPDF, TestMarkJob.Name, input(""), []byte("GIF89a"))
	runFailing(t, job.Damaged, TestMarkJob.Name, input(""), []byte("%PDF-1.7\nnothing"))
}

func TestMarkKeepsLinearization(t *testing.T) {
	got := makeOne(t, TestMarkJob.Name, input(""), pdftest.Transform(t, three().Write(), "--linearize"))
	if out := pdftest.Tool(t, "qpdf", "--check-linearization", pdftest.Save(t, got)); !strings.Contains(out, "no linearization errors") {
		t.Error(out)
	}
	if marked(draw(t, got, 2)).Dx() < 10 {
		t.Error("the page has no mark")
	}
}

// TestMarkKeepsPDFA marks archives of each level, which remain archives.
func TestMarkKeepsPDFA(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	for level, standard := range map[archive.Level]string{archive.Level1B: "1b", archive.Level2B: "2b", archive.Level3B: "3b"} {
		archived, _ := madeArchive(t, level, three().Write())
		got := makeOne(t, TestMarkJob.Name, input(""), archived)
		if marked(draw(t, got, 1)).Dx() < 10 {
			t.Errorf("%s: the page has no mark", level)
		}
		if _, err := runJob(t, archive.ClaimJob.Name, archive.CheckArgs{Input: input(""), Level: level}, got); err != nil {
			t.Errorf("%s: %v", level, err)
		}
		if broken := pdftest.VeraPDF(t, standard, pdftest.Save(t, got)); len(broken) > 0 {
			t.Errorf("%s: veraPDF reports %v", level, broken)
		}
	}
}

// TestMarkOnImagesOfPages renders pages as images: one, and several in an archive.
func TestMarkOnImagesOfPages(t *testing.T) {
	locked := pdftest.Transform(t, three().Write(), "--encrypt", "user", "owner", "256", "--")
	for _, jpeg := range []bool{false, true} {
		one := makeOne(t, RasterJob.Name, RasterArgs{Input: input("user"), Pages: "2", JPEG: jpeg, DPI: 72, TestMark: true}, locked)
		if at := marked(decoded(t, one)); at.Dx() < 10 {
			t.Errorf("one page: the mark is at %v", at)
		}
	}
	several := makeOne(t, RasterJob.Name, RasterArgs{Input: input(""), DPI: 72, TestMark: true}, three().Write())
	archived, err := zip.NewReader(bytes.NewReader(several), int64(len(several)))
	if err != nil || len(archived.File) != 3 {
		t.Fatalf("%d images, %v", len(archived.File), err)
	}
	for _, file := range archived.File {
		content, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if at := marked(decoded(t, page)); at.Dx() < 10 {
			t.Errorf("%s: the mark is at %v", file.Name, at)
		}
	}
}

// decoded reads a PNG or JPEG.
func decoded(t testing.TB, content []byte) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestMarkOnImages marks images of each format and of sizes down to one pixel.
func TestMarkOnImages(t *testing.T) {
	for _, format := range []string{"png", "jpeg", "webp", "tiff", "gif"} {
		source := plate(t, green, 320, 200)
		over, _ := convertTo(t, images.ConvertArgs{To: format, TestMark: images.MarkOver}, source)
		width := int(images.MinMarkPixels * images.MarkOutline().Width)
		if size, at := over.Bounds().Size(), marked(over); size != image.Pt(320, 200) || !close1(at, image.Rect(320-width, 200-images.MinMarkPixels, 320, 200).Inset(1)) {
			t.Errorf("%s: the mark of an image of %v is at %v", format, size, at)
		}
		below, _ := convertTo(t, images.ConvertArgs{To: format, TestMark: images.MarkBelow}, source)
		if size, at := below.Bounds().Size(), marked(below); size != image.Pt(320, 216) || at.Min.Y < 200 || at.Dx() < 20 {
			t.Errorf("%s: the mark below an image of %v is at %v", format, size, at)
		}
	}
	for _, size := range []image.Point{{1, 1}, {3, 200}, {200, 2}, {20, 20}} {
		for _, place := range []string{images.MarkOver, images.MarkBelow} {
			got, _ := convertTo(t, images.ConvertArgs{To: "png", TestMark: place}, plate(t, green, size.X, size.Y))
			if got.Bounds().Dx() != size.X || near(got.At(got.Bounds().Dx()-1, got.Bounds().Dy()-1), green) {
				t.Errorf("%v, %s: the image of %v has no mark", size, place, got.Bounds())
			}
		}
	}
}
