package pdf

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/tiff"

	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// claim makes a PNG say that it has another size.
func claim(text []byte, width, height uint32) []byte {
	text = bytes.Clone(text)
	binary.BigEndian.PutUint32(text[16:], width)
	binary.BigEndian.PutUint32(text[20:], height)
	binary.BigEndian.PutUint32(text[29:], crc32.ChecksumIEEE(text[12:29]))
	return text
}

// quarters is 24 by 16 pixels: red, green, blue and white, from the top left
// clockwise: red green / white blue.
func quarters(model func(image.Rectangle) settable) image.Image {
	img := model(image.Rect(0, 0, 24, 16))
	for y := range 16 {
		for x := range 24 {
			c := [2][2]color.RGBA{{red, green}, {white, blue}}[y/8][x/12]
			img.Set(x, y, c)
		}
	}
	return img
}

type settable = interface {
	image.Image
	Set(x, y int, c color.Color)
}

func rgba(r image.Rectangle) settable   { return image.NewRGBA(r) }
func rgba64(r image.Rectangle) settable { return image.NewNRGBA64(r) }
func paletted(r image.Rectangle) settable {
	return image.NewPaletted(r, color.Palette{white, red, green, blue})
}

func encode[O any](t testing.TB, how func(*bytes.Buffer, image.Image, O) error, img image.Image, options O) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := how(&b, img, options); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	return encode(t, func(b *bytes.Buffer, img image.Image, _ struct{}) error { return png.Encode(b, img) }, img, struct{}{})
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	return encode(t, func(b *bytes.Buffer, img image.Image, o *jpeg.Options) error { return jpeg.Encode(b, img, o) }, img, &jpeg.Options{Quality: 100})
}

func asTIFF(t testing.TB, img image.Image) []byte {
	t.Helper()
	return encode(t, func(b *bytes.Buffer, img image.Image, o *tiff.Options) error { return tiff.Encode(b, img, o) }, img, &tiff.Options{Compression: tiff.Deflate})
}

func asGIF(t testing.TB, img image.Image) []byte {
	t.Helper()
	return encode(t, func(b *bytes.Buffer, img image.Image, o *gif.Options) error { return gif.Encode(b, img, o) }, img, nil)
}

// exif makes a JPEG say how the camera was held.
func exif(text []byte, orientation byte) []byte {
	segment := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(orientation) + "\x00\x00\x00\x00\x00\x00"
	head := []byte{0xff, 0xd8, 0xff, 0xe1, 0, byte(len(segment) + 2)}
	return append(append(head, segment...), text[2:]...)
}

func imagesArgs(n int) images.FromImagesArgs {
	var args images.FromImagesArgs
	for i := range n {
		args.Inputs = append(args.Inputs, job.Input{Name: inputName(i)})
	}
	return args
}

// pixelsOf draws the first page at the resolution of its image.
func pixelsOf(t testing.TB, document []byte) image.Image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "page")
	pdftest.Tool(t, "pdftoppm", "-q", "-r", "96", "-png", "-singlefile", pdftest.Save(t, document), out)
	return picturePNG(t, pdftest.Load(t, out+".png"))
}

// cornersOf returns the colours in the middle of the quarters of an image.
func cornersOf(img image.Image) string {
	names := ""
	size := img.Bounds().Max
	for _, at := range []image.Point{{size.X / 4, size.Y / 4}, {3 * size.X / 4, size.Y / 4}, {size.X / 4, 3 * size.Y / 4}, {3 * size.X / 4, 3 * size.Y / 4}} {
		name := "?"
		for c, n := range map[color.RGBA]string{red: "R", green: "G", blue: "B", white: "W"} {
			if near(img.At(at.X, at.Y), c) {
				name = n
			}
		}
		names += name
	}
	return names
}

func TestFromImagesOfEveryKind(t *testing.T) {
	files := map[string][]byte{
		"png": asPNG(t, quarters(rgba)), "png of 16 bits": asPNG(t, quarters(rgba64)), "png with a palette": asPNG(t, quarters(paletted)),
		"jpeg": asJPEG(t, quarters(rgba)), "gif": asGIF(t, quarters(paletted)), "tiff": asTIFF(t, quarters(rgba)), "tiff of 16 bits": asTIFF(t, quarters(rgba64)),
	}
	for name, file := range files {
		document := makeOne(t, images.FromImagesJob.Name, imagesArgs(1), file)
		sound(t, document, "", 1)
		img := pixelsOf(t, document)
		want := image.Pt(24, 16)
		if strings.HasPrefix(name, "tiff") {
			want = image.Pt(32, 22) // these say that they have 72 pixels per inch
		}
		if got := img.Bounds().Max; got != want {
			t.Errorf("%s: the page has %v pixels, want %v", name, got, want)
		}
		if got := cornersOf(img); got != "RGWB" {
			t.Errorf("%s: the quarters are %s, want RGWB", name, got)
		}
		if got := cornersOf(drawMuPDF(t, document, 1)); got != "RGWB" {
			t.Errorf("%s: the quarters are %s in MuPDF, want RGWB", name, got)
		}
	}
	for name, want := range map[string]string{"lossy.webp": "RBRB", "alpha.webp": "WBWB", "interlaced.png": "RBRB", "cmyk.jpg": "RRRR"} {
		document := makeOne(t, images.FromImagesJob.Name, imagesArgs(1), pdftest.Load(t, "testdata/"+name))
		sound(t, document, "", 1)
		if got := cornersOf(pixelsOf(t, document)); got != want {
			t.Errorf("%s: the quarters are %s, want %s", name, got, want)
		}
	}
}

// TestFromImagesKeepsDepth looks at what is in the PDF.
func TestFromImagesKeepsDepth(t *testing.T) {
	document := makeOne(t, images.FromImagesJob.Name, imagesArgs(2), asPNG(t, quarters(rgba64)), asPNG(t, quarters(paletted)))
	listing := pdftest.Tool(t, "pdfimages", "-list", pdftest.Save(t, document))
	// Columns: page, number, type, width, height, colours, components, bits.
	for _, want := range []string{`1 +0 image +24 +16 +rgb +3 +16 `, `2 +[0-9]+ image +24 +16 +index +1 +2 `} {
		if !regexp.MustCompile(want).MatchString(listing) {
			t.Errorf("no line %q in\n%s", want, listing)
		}
	}
}

func TestFromImagesTIFFPages(t *testing.T) {
	document := makeOne(t, images.FromImagesJob.Name, imagesArgs(1), pdftest.Load(t, "testdata/pages.tiff"))
	sound(t, document, "", 2)
	// 144 pixels per inch: half a point each.
	for page, want := range map[int]struct {
		PageSize image.Point
		color    string
	}{1: {image.Pt(12, 8), "RRRR"}, 2: {image.Pt(8, 12), "BBBB"}} {
		img := draw(t, document, page)
		if got := img.Bounds().Max; got != want.PageSize || cornersOf(img) != want.color {
			t.Errorf("page %d: %v of %s, want %v of %s", page, got, cornersOf(img), want.PageSize, want.color)
		}
	}
}

// TestFromImagesOrientation holds the camera in every way.
func TestFromImagesOrientation(t *testing.T) {
	plain := asJPEG(t, quarters(rgba))
	for orientation, want := range map[byte]string{1: "RGWB", 2: "GRBW", 3: "BWGR", 4: "WBRG", 5: "RWGB", 6: "WRBG", 7: "BGWR", 8: "GBRW"} {
		img := pixelsOf(t, makeOne(t, images.FromImagesJob.Name, imagesArgs(1), exif(plain, orientation)))
		size := image.Pt(24, 16)
		if orientation >= 5 {
			size = image.Pt(16, 24)
		}
		if got := cornersOf(img); got != want || img.Bounds().Max != size {
			t.Errorf("orientation %d: %s of %v, want %s of %v", orientation, got, img.Bounds().Max, want, size)
		}
	}
}

// TestFromImagesTakesJPEGsAsTheyAre gets the very bytes back.
func TestFromImagesTakesJPEGsAsTheyAre(t *testing.T) {
	file := asJPEG(t, quarters(rgba))
	document := makeOne(t, images.FromImagesJob.Name, imagesArgs(1), file)
	out := filepath.Join(t.TempDir(), "image")
	pdftest.Tool(t, "pdfimages", "-j", pdftest.Save(t, document), out)
	got, err := os.ReadFile(out + "-000.jpg")
	if err != nil || !bytes.Equal(got, file) {
		t.Errorf("%d bytes (error %v), want the %d of the file", len(got), err, len(file))
	}
}

func TestFromImagesTransparency(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 24, 16))
	for y := range 16 {
		for x := range 24 {
			img.SetNRGBA(x, y, color.NRGBA{B: 255, A: map[bool]uint8{true: 255, false: 0}[x < 12]})
		}
	}
	document := makeOne(t, images.FromImagesJob.Name, imagesArgs(1), asPNG(t, img))
	sound(t, document, "", 1)
	if got := cornersOf(pixelsOf(t, document)); got != "BWBW" {
		t.Errorf("the quarters are %s, want BWBW", got)
	}
}

func TestFromImagesFit(t *testing.T) {
	stamp := plate(t, red, 40, 20) // 30 by 15 points
	for fit, want := range map[images.Fit]image.Rectangle{
		images.Contain: image.Rect(10, 60, 90, 100), images.Cover: image.Rect(10, 20, 90, 140), images.Fill: image.Rect(10, 20, 90, 140), images.Natural: image.Rect(35, 72, 65, 87),
	} {
		args := imagesArgs(1)
		args.Width, args.Height, args.Margin, args.Fit = 100, 150, images.Margin{Top: 20, Right: 10, Bottom: 10, Left: 10}, fit
		img := draw(t, makeOne(t, images.FromImagesJob.Name, args, stamp), 1)
		if got := img.Bounds().Max; got != image.Pt(100, 150) {
			t.Errorf("%s: the page is %v, want 100 × 150", fit, got)
		}
		if got := extent(img, red); !close1(got, want) {
			t.Errorf("%s: the image is at %v, want %v", fit, got, want)
		}
	}
	args := imagesArgs(1)
	args.Margin = images.Margin{Top: 1, Right: 2, Bottom: 3, Left: 4}
	if got := draw(t, makeOne(t, images.FromImagesJob.Name, args, stamp), 1).Bounds().Max; got != image.Pt(36, 19) {
		t.Errorf("with margins the page is %v, want 36 × 19", got)
	}
}

func TestFromImagesRefuses(t *testing.T) {
	good := asPNG(t, quarters(rgba))
	flipped := bytes.Clone(good)
	flipped[len(flipped)-20] ^= 1
	for name, test := range map[string]struct {
		kind job.Kind
		file []byte
	}{
		"text": {images.NotImage, []byte("<svg xmlns='http://www.w3.org/2000/svg'/>")}, "nothing much": {images.NotImage, []byte("x")},
		"a cut PNG": {images.DamagedImage, good[:len(good)-30]}, "a flipped bit": {images.DamagedImage, flipped},
		"a cut GIF": {images.DamagedImage, []byte("GIF89a")}, "a cut JPEG": {images.DamagedImage, []byte("\xff\xd8\xff\xe0\x00\x10JFIF")},
		"a cut TIFF": {images.DamagedImage, []byte("II*\x00\x08\x00\x00\x00\xff\xff")}, "a TIFF without a page": {images.DamagedImage, []byte("MM\x00*\x00\x00\x00\x00")},
		"a TIFF in a circle":         {images.DamagedImage, circle(asTIFF(t, quarters(rgba)))},
		"a cut WebP":                 {images.DamagedImage, pdftest.Load(t, "testdata/lossy.webp")[:40]},
		"a PNG that claims too much": {images.LargeImage, claim(good, 100_000, 100_000)},
		"a GIF that claims too much": {images.LargeImage, []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00;")},
	} {
		start := time.Now()
		got := runFailing(t, test.kind, images.FromImagesJob.Name, imagesArgs(2), good, test.file)
		if got.Input != 1 {
			t.Errorf("%s: input %d is blamed, want 1", name, got.Input)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: refused after %v", name, took)
		}
	}
}

// circle makes the directory of a TIFF its own successor.
func circle(text []byte) []byte {
	text = bytes.Clone(text)
	at := binary.LittleEndian.Uint32(text[4:])
	entries := uint32(binary.LittleEndian.Uint16(text[at:]))
	binary.LittleEndian.PutUint32(text[at+2+12*entries:], at)
	return text
}
