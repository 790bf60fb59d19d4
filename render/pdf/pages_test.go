package pdf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// content returns a job's only output.
func content(t testing.TB, result engine.Result) []byte {
	t.Helper()
	if len(result.Files) != 1 {
		t.Fatalf("%d outputs, want 1", len(result.Files))
	}
	text, err := io.ReadAll(result.Output(0).Open())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// draw returns a page of a document as poppler shows it, at 72 dpi.
func draw(t testing.TB, document []byte, page int) image.Image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "page")
	number := fmt.Sprint(page)
	pdftest.Tool(t, "pdftoppm", "-q", "-cropbox", "-r", "72", "-png", "-singlefile", "-f", number, "-l", number, pdftest.Save(t, document), out)
	return picturePNG(t, pdftest.Load(t, out+".png"))
}

// drawMuPDF returns a page as MuPDF shows it, at 72 dpi.
func drawMuPDF(t testing.TB, document []byte, page int) image.Image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "page.png")
	pdftest.Tool(t, "mutool", "draw", "-q", "-r", "72", "-o", out, pdftest.Save(t, document), fmt.Sprint(page))
	return picturePNG(t, pdftest.Load(t, out))
}

// drawPDFium returns a page as PDFium shows it, which is Chromium's viewer, at 72 dpi.
func drawPDFium(t testing.TB, document []byte, page int) image.Image {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "-e", `
		const { PDFiumLibrary } = require("@hyzyla/pdfium");
		PDFiumLibrary.init().then(async (library) => {
			const document = await library.loadDocument(require("fs").readFileSync(0));
			const page = await document.getPage(Number(process.argv[1]) - 1).render({ scale: 1, render: "bitmap" });
			const size = Buffer.alloc(8);
			size.writeUInt32BE(page.width, 0);
			size.writeUInt32BE(page.height, 4);
			process.stdout.write(Buffer.concat([size, page.data]));
		});`, fmt.Sprint(page))
	cmd.Dir, cmd.Stdin = "../../.ci/node", bytes.NewReader(document)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("node: %v\n%s\nmake setup installs the library", err, failed.Stderr)
	}
	if err != nil || len(out) < 8 {
		t.Fatalf("node: %d bytes, %v", len(out), err)
	}
	width, height := int(binary.BigEndian.Uint32(out)), int(binary.BigEndian.Uint32(out[4:]))
	img := &image.RGBA{Pix: out[8:], Stride: 4 * width, Rect: image.Rect(0, 0, width, height)}
	if len(img.Pix) != 4*width*height {
		t.Fatalf("%d bytes for %d × %d pixels", len(img.Pix), width, height)
	}
	return img
}

func picturePNG(t testing.TB, text []byte) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// near reports whether two colours look alike.
func near(a, b color.Color) bool {
	r1, g1, b1, _ := a.RGBA()
	r2, g2, b2, _ := b.RGBA()
	for _, d := range []int{int(r1) - int(r2), int(g1) - int(g2), int(b1) - int(b2)} {
		if max(d, -d) > 0x3000 {
			return false
		}
	}
	return true
}

// extent returns the smallest rectangle that holds all pixels of a colour.
func extent(img image.Image, c color.Color) image.Rectangle {
	var found image.Rectangle
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if near(img.At(x, y), c) {
				found = found.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return found
}

// differing returns the share of pixels that look different.
func differing(t testing.TB, a, b image.Image) float64 {
	t.Helper()
	if a.Bounds() != b.Bounds() {
		t.Fatalf("sizes %v and %v", a.Bounds().Max, b.Bounds().Max)
	}
	different := 0
	bounds := a.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if !near(a.At(x, y), b.At(x, y)) {
				different++
			}
		}
	}
	return float64(different) / float64(bounds.Dx()*bounds.Dy())
}

// close1 reports whether two rectangles differ by at most one pixel.
func close1(a, b image.Rectangle) bool {
	for _, d := range []int{a.Min.X - b.Min.X, a.Min.Y - b.Min.Y, a.Max.X - b.Max.X, a.Max.Y - b.Max.Y} {
		if math.Abs(float64(d)) > 1 {
			return false
		}
	}
	return true
}

var (
	red   = color.RGBA{R: 255, A: 255}
	green = color.RGBA{G: 255, A: 255}
	blue  = color.RGBA{B: 255, A: 255}
	white = color.RGBA{R: 255, G: 255, B: 255, A: 255}
)

// unmarshal reads a result.
func unmarshal[T any](t testing.TB, text []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%.200q: %v", text, err)
	}
	return v
}

// keep writes a result to the folder that LOOK names, where a person can look
// at it.
func keep(t testing.TB, name string, text []byte) {
	t.Helper()
	if dir := os.Getenv("LOOK"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Error(err)
		}
	}
}
