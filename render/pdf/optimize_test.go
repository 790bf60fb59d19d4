package pdf

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// photograph is an image that neither filter makes small: slopes, and noise that is
// the same each time.
func photograph(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	noise := uint32(1)
	for y := range height {
		for x := range width {
			noise = noise*1664525 + 1013904223
			n := int(noise >> 28)
			img.SetNRGBA(x, y, color.NRGBA{R: byte(200*x/width + n), G: byte(200*y/height + n), B: byte(120 + 60*math.Sin(float64(x+y)/40) + float64(n)), A: 255})
		}
	}
	return img
}

// imageObject writes an image of a document.
func imageObject(width, height int, more string, content []byte) string {
	return fmt.Sprintf("<< /Type /XObject /Subtype /Image /Width %d /Height %d %s /Length %d >>\nstream\n%s\nendstream", width, height, more, len(content), content)
}

// album has images of many kinds, each drawn on a square inch of its own page.
func album(t *testing.T) []byte {
	t.Helper()
	const side = 300
	photo := photograph(side, side)
	var gray, alpha, key, inked, bits []byte
	for i := range side * side {
		c := photo.Pix[4*i : 4*i+4]
		gray = append(gray, c[0])
		alpha = append(alpha, c[2])
		key = append(key, c[0], c[1], c[2])
		inked = append(inked, c[0], 255-c[1], c[2], 20)
	}
	for i := range side * 38 {
		bits = append(bits, byte(i*i>>3))
	}
	palette := "/ColorSpace [/Indexed /DeviceRGB 1 <ff0000 0000ff>] /BitsPerComponent 8"
	checks := bytes.Repeat([]byte{0, 1}, 8)
	const rgb8, gray8 = "/ColorSpace /DeviceRGB /BitsPerComponent 8", "/ColorSpace /DeviceGray /BitsPerComponent 8"
	found := []string{
		imageObject(side, side, rgb8+" /Filter /DCTDecode", asJPEG(t, photo)),
		imageObject(side, side, gray8, gray),
		imageObject(side, side, rgb8+" /SMask 110 0 R", key),
		imageObject(side, side, rgb8+" /Mask [0 9 0 9 0 9]", key),
		imageObject(side, side, "/ColorSpace /DeviceCMYK /BitsPerComponent 8", inked),
		imageObject(side, side, "/ColorSpace /DeviceGray /BitsPerComponent 1", bits),
		imageObject(side, side, "/ImageMask true /BitsPerComponent 1", bits),
		imageObject(4, 4, palette, checks),
	}
	s := source{Objects: append(found, "null", "null", imageObject(side, side, gray8, alpha))}
	text := ""
	for i := range found {
		s.Pages = append(s.Pages, "x")
		s.Objects = append(s.Objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 72 72] /Contents %d 0 R /Resources << /XObject << /I %d 0 R >> >> >>", 112+2*i, 100+i),
			"<< /Length 23 >>\nstream\nq 72 0 0 72 0 0 cm /I Do\nendstream")
		text += fmt.Sprintf("%d 0 R ", 111+2*i)
	}
	document := s.Write()
	at := bytes.Index(document, []byte("/Kids ["))
	end := at + bytes.IndexByte(document[at:], ']')
	mended := makeOne(t, RepairJob.Name, input(""), append(append(bytes.Clone(document[:at]), "/Kids ["+text...), document[end:]...))
	return pdftest.Transform(t, mended, "--stream-data=uncompress")
}

// imagesOf returns what poppler says of the images of a document, by page.
func imagesOf(t *testing.T, content []byte) (list []string) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(pdftest.Tool(t, "pdfimages", "-list", pdftest.Save(t, content))), "\n")[2:] {
		f := strings.Fields(line)
		list = append(list, strings.Join([]string{f[0], f[2], f[3], f[5], f[6], f[7], f[8]}, " "))
	}
	return list
}

// TestOptimizeByKind takes pixels and quality off the images that stand that, and
// leaves the others to the pixel.
func TestOptimizeByKind(t *testing.T) {
	document := album(t)
	for _, test := range []struct {
		name  string
		args  OptimizeArgs
		want  []string
		alike float64 // largest share of pixels that may look different
	}{
		{"nothing lost", OptimizeArgs{Linearize: true}, []string{
			"1 image 300 rgb 3 8 jpeg", "2 image 300 gray 1 8 image", "3 image 300 rgb 3 8 image", "3 smask 300 gray 1 8 image", "4 image 300 rgb 3 8 image",
			"5 image 300 cmyk 4 8 image", "6 image 300 gray 1 1 image", "7 stencil 300 - 1 1 image", "8 image 4 index 1 8 image"}, 0},
		{"fewer pixels", OptimizeArgs{MaxDPI: 100, Quality: 70}, []string{
			"1 image 100 rgb 3 8 jpeg", "2 image 100 gray 1 8 jpeg", "3 image 100 rgb 3 8 jpeg", "3 smask 100 gray 1 8 image", "4 image 300 rgb 3 8 image",
			"5 image 300 cmyk 4 8 image", "6 image 300 gray 1 1 image", "7 stencil 300 - 1 1 image", "8 image 4 index 1 8 image"}, 0.02},
		{"grey", OptimizeArgs{Gray: true, Linearize: true}, []string{
			"1 image 300 gray 1 8 jpeg", "2 image 300 gray 1 8 image", "3 image 300 gray 1 8 image", "3 smask 300 gray 1 8 image", "4 image 300 rgb 3 8 image",
			"5 image 300 gray 1 8 image", "6 image 300 gray 1 1 image", "7 stencil 300 - 1 1 image", "8 image 4 index 1 8 image"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.args.Input = input("")
			got := makeOne(t, OptimizeJob.Name, test.args, document)
			keep(t, "optimized "+test.name+".pdf", got)
			sound(t, got, "", 8)
			if len(got) >= len(document) {
				t.Errorf("%d bytes became %d", len(document), len(got))
			}
			if list := imagesOf(t, got); strings.Join(list, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("images are\n%s\nwant\n%s", strings.Join(list, "\n"), strings.Join(test.want, "\n"))
			}
			about := unmarshal[Info](t, result(t, InfoJob.Name, input(""), got))
			if about.Linearized != test.args.Linearize {
				t.Errorf("linearized is %v, want %v", about.Linearized, test.args.Linearize)
			}
			for page := 1; page <= 8; page++ {
				if share := differing(t, draw(t, got, page), draw(t, document, page)); share > test.alike {
					t.Errorf("page %d: %.1f %% of the pixels differ", page, 100*share)
				}
			}
			for _, page := range []int{1, 3, 5, 8} {
				c := color.NRGBAModel.Convert(draw(t, got, page).At(20, 50)).(color.NRGBA) // what the model makes
				if flat := max(c.R, c.G, c.B)-min(c.R, c.G, c.B) < 4; flat != test.args.Gray {
					t.Errorf("page %d is %v, grey is %v", page, c, test.args.Gray)
				}
			}
		})
	}
}

// TestOptimizeLinearizes: a result is linearized if that is asked for, whatever its source, and stays so with metadata.
func TestOptimizeLinearizes(t *testing.T) {
	plain := three().Write()
	for name, test := range map[string]struct {
		source   []byte
		password string
		args     OptimizeArgs
		small    bool // no larger than its source
	}{
		"plain":                  {plain, "", OptimizeArgs{}, false},
		"compressed":             {makeOne(t, CompressJob.Name, input(""), plain), "", OptimizeArgs{}, false},
		"object streams":         {pdftest.Transform(t, plain, "--object-streams=generate"), "", OptimizeArgs{}, false},
		"encrypted":              {pdftest.Transform(t, plain, "--encrypt", "u", "o", "256", "--"), "u", OptimizeArgs{}, false},
		"errors":                 {append(plain[:len(plain):len(plain)], "\nstartxref\n7\n%%EOF\n"...), "", OptimizeArgs{}, false},
		"linearized":             {pdftest.Transform(t, plain, "--linearize", "--object-streams=generate", "--compression-level=9", "--recompress-flate"), "", OptimizeArgs{}, true},
		"linearized and changed": {append(pdftest.Transform(t, plain, "--linearize"), "% "...), "", OptimizeArgs{}, false},
		"images":                 {album(t), "", OptimizeArgs{Quality: 50, MaxDPI: 72}, true},
		"linearized images":      {pdftest.Transform(t, album(t), "--linearize"), "", OptimizeArgs{Quality: 50, MaxDPI: 72}, true},
	} {
		t.Run(name, func(t *testing.T) {
			test.args.Input, test.args.AlwaysLinearize = input(test.password), true
			got := makeOne(t, OptimizeJob.Name, test.args, test.source)
			if test.small && len(got) > len(test.source) {
				t.Errorf("%d bytes became %d", len(test.source), len(got))
			}
			described := makeOne(t, SetInfoJob.Name, SetInfoArgs{Input: input(test.password), Info: pdffile.Info{Title: "x"}}, got)
			for _, content := range [][]byte{got, described} {
				about := unmarshal[Info](t, result(t, InfoJob.Name, input(test.password), content))
				if !about.Linearized || about.PageCount < 3 || about.Encrypted != (test.password != "") {
					t.Errorf("the result is %+v", about)
				}
			}
		})
	}
}

// TestOptimizeNeverEnlarges gives it what is small already: it comes back as it was.
func TestOptimizeNeverEnlarges(t *testing.T) {
	small := makeOne(t, CompressJob.Name, input(""), three().Write())
	for _, args := range []OptimizeArgs{{Linearize: true}, {}, {Linearize: true, Quality: 90, MaxDPI: 300}, {Gray: true}} {
		args.Input = input("")
		if got := makeOne(t, OptimizeJob.Name, args, small); !bytes.Equal(got, small) && len(got) >= len(small) {
			t.Errorf("%+v: %d bytes became %d", args, len(small), len(got))
		}
	}
	locked := pdftest.Transform(t, album(t), "--encrypt", "u", "o", "256", "--")
	got := makeOne(t, OptimizeJob.Name, OptimizeArgs{Input: input("u"), Quality: 50, Linearize: true}, locked)
	sound(t, got, "u", 8)
	if len(got) >= len(locked) || strings.Contains(pdftest.Tool(t, "pdfinfo", "-upw", "u", pdftest.Save(t, got)), "Encrypted:       no") {
		t.Errorf("%d encrypted bytes became %d", len(locked), len(got))
	}
	runFailing(t, job.PasswordRequired, OptimizeJob.Name, OptimizeArgs{Input: input("")}, locked)
}

// TestOptimizeReadsPredictors makes images of PNGs smaller whose rows were filtered
// in each of the ways that there are.
func TestOptimizeReadsPredictors(t *testing.T) {
	photo := photograph(400, 300)
	document := makeOne(t, images.FromImagesJob.Name, images.FromImagesArgs{Inputs: []job.Input{{Name: inputName(0)}, {Name: inputName(1)}}}, asPNG(t, photo), asJPEG(t, photo))
	got := makeOne(t, OptimizeJob.Name, OptimizeArgs{Input: input(""), Quality: 80}, document)
	if list := imagesOf(t, got); list[0] != "1 image 400 rgb 3 8 jpeg" || len(got) > len(document)/2 {
		t.Errorf("%d bytes became %d: %q", len(document), len(got), list)
	}
	for page := 1; page <= 2; page++ {
		if share := differing(t, draw(t, got, page), draw(t, document, page)); share > 0 {
			t.Errorf("page %d: %.1f %% of the pixels differ", page, 100*share)
		}
	}
}
