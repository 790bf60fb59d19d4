package pdf

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// colored is a page that has colours, a crop box with an odd origin and a
// turn: 200 by 100 points are shown, red at the left as it is stored.
func colored(rotate int) []byte {
	s := source{Pages: []string{"x"}, Objects: []string{
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 500 500] /CropBox [37 41 237 141] /Rotate %d /Contents 101 0 R >>", rotate),
		"<< /Length 54 >>\nstream\n1 0 0 rg 0 0 137 500 re f 0 0 1 rg 137 0 400 500 re f\nendstream",
	}}
	// The page takes the place of the one of the source.
	return bytes.Replace(s.Write(), []byte("/Kids [10 0 R ]"), []byte("/Kids [100 0 R]"), 1)
}

func TestRasterOnePage(t *testing.T) {
	for _, test := range []struct {
		rotate        int
		width, height int
		redAt, blueAt image.Point
	}{
		{0, 400, 200, image.Pt(20, 100), image.Pt(380, 100)},
		{90, 200, 400, image.Pt(100, 20), image.Pt(100, 380)},
		{180, 400, 200, image.Pt(380, 100), image.Pt(20, 100)},
		{270, 200, 400, image.Pt(100, 380), image.Pt(100, 20)},
	} {
		for _, jpeg := range []bool{false, true} {
			result, err := runJob(t, RasterJob.Name, RasterArgs{Input: input(""), Pages: "1", DPI: 144, JPEG: jpeg}, colored(test.rotate))
			if err != nil {
				t.Fatal(err)
			}
			if got := unmarshal[RasterResult](t, result.Body); got.Images != 1 {
				t.Errorf("%d images, want 1", got.Images)
			}
			img, kind, err := image.Decode(bytes.NewReader(content(t, result)))
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{false: "png", true: "jpeg"}[jpeg]; kind != want {
				t.Errorf("the image is a %s, want a %s", kind, want)
			}
			if got := img.Bounds().Max; got != image.Pt(test.width, test.height) {
				t.Errorf("turned by %d: size %v, want %d × %d", test.rotate, got, test.width, test.height)
			}
			if r, b := img.At(test.redAt.X, test.redAt.Y), img.At(test.blueAt.X, test.blueAt.Y); !near(r, red) || !near(b, blue) {
				t.Errorf("turned by %d: colours %v and %v, want red and blue", test.rotate, r, b)
			}
		}
	}
}

// TestRasterMatchesPoppler compares our PNG with poppler's own.
func TestRasterMatchesPoppler(t *testing.T) {
	for name, document := range map[string][]byte{"grey": three().Write(), "colours": colored(0), "form": formPDF(t)} {
		result, err := runJob(t, RasterJob.Name, RasterArgs{Input: input(""), Pages: "1", DPI: 100}, document)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "page")
		pdftest.Tool(t, "pdftoppm", "-q", "-cropbox", "-r", "100", "-png", "-singlefile", "-f", "1", "-l", "1", pdftest.Save(t, document), out)
		got, want := picturePNG(t, content(t, result)), picturePNG(t, pdftest.Load(t, out+".png"))
		if got.Bounds() != want.Bounds() {
			t.Fatalf("%s: size %v, want %v", name, got.Bounds(), want.Bounds())
		}
		for y := range got.Bounds().Dy() {
			for x := range got.Bounds().Dx() {
				r1, g1, b1, _ := got.At(x, y).RGBA()
				r2, g2, b2, _ := want.At(x, y).RGBA()
				if r1 != r2 || g1 != g2 || b1 != b2 {
					t.Fatalf("%s: pixel %d, %d is %v, want %v", name, x, y, got.At(x, y), want.At(x, y))
				}
			}
		}
	}
}

func TestRasterSeveralPages(t *testing.T) {
	texts := make([]string, 30)
	for i := range texts {
		texts[i] = fmt.Sprint("page ", i+1)
	}
	document := source{Pages: texts}.Write() // of widths from 300 on
	result, err := runJob(t, RasterJob.Name, RasterArgs{Input: input(""), Pages: "12,3-5,4,20-", DPI: 36}, document)
	if err != nil {
		t.Fatal(err)
	}
	text := content(t, result)
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	wanted := []int{12, 3, 4, 5, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}
	if got := unmarshal[RasterResult](t, result.Body).Images; got != len(wanted) || len(archive.File) != got {
		t.Fatalf("%d images and %d files, want %d", got, len(archive.File), len(wanted))
	}
	for i, page := range wanted {
		file := archive.File[i]
		if want := fmt.Sprintf("page-%03d.png", page); file.Name != want {
			t.Errorf("file %d is %s, want %s", i, file.Name, want)
		}
		in, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		config, err := png.DecodeConfig(in)
		if err != nil {
			t.Fatal(err)
		}
		if want := (300 + page - 1 + 1) / 2; config.Width != want {
			t.Errorf("%s is %d wide, want %d", file.Name, config.Width, want)
		}
	}
}

func TestRasterPasswords(t *testing.T) {
	document := pdftest.Transform(t, three().Write(), "--encrypt", "user", "owner", "256", "--")
	for _, password := range []string{"user", "owner"} {
		if _, err := runJob(t, RasterJob.Name, RasterArgs{Input: input(password), Pages: "last", DPI: 36}, document); err != nil {
			t.Errorf("%s: %v", password, err)
		}
	}
	runFailing(t, job.PasswordRequired, RasterJob.Name, RasterArgs{Input: input(""), DPI: 36}, document)
	runFailing(t, job.WrongPassword, RasterJob.Name, RasterArgs{Input: input("other"), DPI: 36}, document)
}

func TestRasterRefuses(t *testing.T) {
	if got := runFailing(t, job.PageOutOfRange, RasterJob.Name, RasterArgs{Input: input(""), Pages: "4", DPI: 36}, three().Write()); got.Pages != 3 {
		t.Errorf("%d pages, want 3", got.Pages)
	}
	runFailing(t, job.NotPDF, RasterJob.Name, RasterArgs{Input: input(""), DPI: 36}, []byte("GIF89a"))
	huge := bytes.Replace(three().Write(), []byte("[0 0 301 400]"), []byte("[0 0 99999 9]"), 1)
	got := runFailing(t, job.TooFine, RasterJob.Name, RasterArgs{Input: input(""), Pages: "1-2", DPI: 36}, huge)
	if math.Round(got.Width) != 50000 || got.Page != 2 || got.Height < 1 {
		t.Errorf("page %d is too fine with %.0f × %.0f pixels, want page 2 with 50000 × a few", got.Page, got.Width, got.Height)
	}
	square := bytes.Replace(three().Write(), []byte("[0 0 300 400]"), []byte("[0 0 1800 1800]"), 1)
	runFailing(t, job.TooFine, RasterJob.Name, RasterArgs{Input: input(""), Pages: "1", DPI: 600}, square)
}

// TestEncodePNG reads back what is written, in each way of filtering lines.
func TestEncodePNG(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, pixel := range map[string]func(x, y int) color.RGBA{
		"white":  func(int, int) color.RGBA { return white },
		"grey":   func(x, y int) color.RGBA { v := uint8(x * y); return color.RGBA{v, v, v, 255} },
		"smooth": func(x, y int) color.RGBA { return color.RGBA{uint8(3 * x), uint8(2 * y), uint8(x + y), 255} },
		"noise": func(int, int) color.RGBA {
			v := random.Uint32()
			return color.RGBA{uint8(v), uint8(v >> 8), uint8(v >> 16), 255}
		},
	} {
		for _, size := range []image.Point{{1, 1}, {7, 300}, {300, 7}} {
			want := image.NewRGBA(image.Rectangle{Max: size})
			ppm := fmt.Appendf(nil, "P6\n%d %d\n255\n", size.X, size.Y)
			for y := range size.Y {
				for x := range size.X {
					c := pixel(x, y)
					want.SetRGBA(x, y, c)
					ppm = append(ppm, c.R, c.G, c.B)
				}
			}
			var out bytes.Buffer
			if err := job.EncodePNG(&out, bytes.NewReader(ppm), 300); err != nil {
				t.Fatal(err)
			}
			got, err := png.Decode(&out)
			if err != nil {
				t.Fatalf("%s, %v: %v", name, size, err)
			}
			for y := range size.Y {
				for x := range size.X {
					if g, w := color.RGBAModel.Convert(got.At(x, y)), want.At(x, y); g != w {
						t.Fatalf("%s, %v: pixel %d, %d is %v, want %v", name, size, x, y, g, w)
					}
				}
			}
		}
	}
	for _, bad := range []string{"", "P5\n1 1\n255\n1", "P6\n1 1\n65535\n123456", "P6\n0 1\n255\n", "P6\n99999 1\n255\n", "P6\n2 1\n255\n12"} {
		if err := job.EncodePNG(io.Discard, strings.NewReader(bad), 72); err == nil {
			t.Errorf("%q was encoded", bad)
		}
	}
}

// BenchmarkRaster draws 20 pages at 150 dpi, and has pdftoppm do so by hand.
func BenchmarkRaster(b *testing.B) {
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = strings.Repeat(fmt.Sprint("page ", i+1, " "), 3)
	}
	document := bytes.ReplaceAll(source{Pages: texts}.Write(), []byte(" 400]"), []byte(" 800]"))
	path := pdftest.Save(b, document)
	for name, jpeg := range map[string]bool{"png": false, "jpeg": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := runJob(b, RasterJob.Name, RasterArgs{Input: input(""), Pages: "1-", DPI: 150, JPEG: jpeg}, document); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("pdftoppm", func(b *testing.B) {
		for b.Loop() {
			pdftest.Tool(b, "pdftoppm", "-jpeg", "-r", "150", path, filepath.Join(b.TempDir(), "page"))
		}
	})
}
