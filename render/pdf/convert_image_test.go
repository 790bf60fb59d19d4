package pdf

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"relaypdf/render/pdf/pdftest"
)

// convertTo converts an image and reads the result with a program that had no part
// in making it: MuPDF, or for WebP libwebp's own.
func convertTo(t *testing.T, args ConvertImageArgs, source []byte) (image.Image, []byte) {
	t.Helper()
	args.Input = input("")
	if args.Quality == 0 {
		args.Quality = 90
	}
	made := make1(t, ConvertImageJob, args, source)
	in, out := filepath.Join(t.TempDir(), "image."+args.To), filepath.Join(t.TempDir(), "out.png")
	if err := os.WriteFile(in, made, 0o600); err != nil {
		t.Fatal(err)
	}
	switch args.To {
	case "webp":
		pdftest.Tool(t, "dwebp", "-quiet", in, "-o", out)
	case "png":
		return picturePNG(t, made), made
	case "tiff": // which says that it has 72 pixels an inch
		pdftest.Tool(t, "mutool", "draw", "-q", "-r", "72", "-o", out, in)
	default:
		pdftest.Tool(t, "mutool", "draw", "-q", "-r", "96", "-o", out, in)
	}
	return picturePNG(t, pdftest.Load(t, out)), made
}

// large is an image of four quarters that no filter mixes.
func large(model func(image.Rectangle) settable) image.Image {
	img := model(image.Rect(0, 0, 48, 32))
	for y := range 32 {
		for x := range 48 {
			img.Set(x, y, [2][2]color.RGBA{{red, green}, {white, blue}}[y/16][x/24])
		}
	}
	return img
}

// TestConvertEveryKind converts every kind of image to every other, as large as it
// was, and to half of that.
func TestConvertEveryKind(t *testing.T) {
	for from, source := range map[string][]byte{
		"png": asPNG(t, large(rgba)), "deep": asPNG(t, large(rgba64)), "jpeg": asJPEG(t, large(rgba)), "tiff": asTIFF(t, large(rgba)), "gif": asGIF(t, large(paletted)),
		"turned": exif(asJPEG(t, large(rgba)), 3),
	} {
		want := "RGWB"
		if from == "turned" {
			want = "BWGR"
		}
		for _, to := range []string{"png", "jpeg", "webp", "tiff", "gif"} {
			img, made := convertTo(t, ConvertImageArgs{To: to}, source)
			if got := cornersOf(img); got != want || img.Bounds().Size() != image.Pt(48, 32) {
				t.Errorf("%s to %s: %s of %v, want %s", from, to, got, img.Bounds().Size(), want)
			}
			if bytes.Contains(made, []byte("Exif")) {
				t.Errorf("%s to %s has metadata", from, to)
			}
			half, _ := convertTo(t, ConvertImageArgs{To: to, Width: 24}, source)
			if got := cornersOf(half); got != want || half.Bounds().Size() != image.Pt(24, 16) {
				t.Errorf("%s to half a %s: %s of %v, want %s", from, to, got, half.Bounds().Size(), want)
			}
		}
	}
}

// TestConvertOrientation turns what a camera took in each of the ways that it can be
// held.
func TestConvertOrientation(t *testing.T) {
	plain := asJPEG(t, large(rgba))
	for orientation, want := range map[byte]string{1: "RGWB", 2: "GRBW", 3: "BWGR", 4: "WBRG", 5: "RWGB", 6: "WRBG", 7: "BGWR", 8: "GBRW"} {
		img, _ := convertTo(t, ConvertImageArgs{To: "png"}, exif(plain, orientation))
		size := image.Pt(48, 32)
		if orientation >= 5 {
			size = image.Pt(32, 48)
		}
		if got := cornersOf(img); got != want || img.Bounds().Size() != size {
			t.Errorf("orientation %d: %s of %v, want %s of %v", orientation, got, img.Bounds().Size(), want, size)
		}
	}
}

func TestConvertFits(t *testing.T) {
	source := asPNG(t, large(rgba))
	for _, test := range []struct {
		args    ConvertImageArgs
		size    image.Point
		corners string
	}{
		{ConvertImageArgs{Height: 96}, image.Pt(144, 96), "RGWB"},
		{ConvertImageArgs{Width: 24, Height: 24}, image.Pt(24, 16), "RGWB"},
		{ConvertImageArgs{Width: 24, Height: 24, Fit: Fill}, image.Pt(24, 24), "RGWB"},
		{ConvertImageArgs{Width: 20, Height: 20, Fit: Cover}, image.Pt(20, 20), "RGWB"},
		{ConvertImageArgs{Width: 96, Height: 16, Fit: Fill}, image.Pt(96, 16), "RGWB"},
		{ConvertImageArgs{Width: 1, Height: 9000, Fit: Contain}, image.Pt(1, 1), ""},
	} {
		test.args.To = "png"
		img, _ := convertTo(t, test.args, source)
		if img.Bounds().Size() != test.size || test.corners != "" && cornersOf(img) != test.corners {
			t.Errorf("%+v: %s of %v, want %s of %v", test.args, cornersOf(img), img.Bounds().Size(), test.corners, test.size)
		}
	}
}

// TestConvertTransparency has an image whose left half is not there, and whose right
// half is half there.
func TestConvertTransparency(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 40, 20))
	for y := range 20 {
		for x := 20; x < 40; x++ {
			img.SetNRGBA(x, y, color.NRGBA{R: 255, A: 128})
		}
	}
	source := asPNG(t, img)
	navy := &color.NRGBA{B: 255, A: 255}
	for _, test := range []struct {
		args        ConvertImageArgs
		left, right color.Color
	}{
		{ConvertImageArgs{To: "jpeg"}, white, color.RGBA{R: 255, G: 127, B: 127, A: 255}},
		{ConvertImageArgs{To: "jpeg", Background: navy}, blue, color.RGBA{R: 128, B: 127, A: 255}},
		{ConvertImageArgs{To: "png"}, color.NRGBA{}, color.NRGBA{R: 255, A: 128}},
		{ConvertImageArgs{To: "webp"}, color.NRGBA{}, color.NRGBA{R: 255, A: 128}},
		{ConvertImageArgs{To: "png", Background: navy, Width: 20}, blue, color.RGBA{R: 128, B: 127, A: 255}},
		{ConvertImageArgs{To: "png", Width: 20}, color.NRGBA{}, color.NRGBA{R: 255, A: 128}},
	} {
		got, _ := convertTo(t, test.args, source)
		b := got.Bounds()
		for name, at := range map[string]struct {
			x    int
			want color.Color
		}{"left": {b.Dx() / 5, test.left}, "right": {b.Dx() * 4 / 5, test.right}} {
			c := got.At(at.x, b.Dy()/2)
			_, _, _, alpha := c.RGBA()
			if _, _, _, want := at.want.RGBA(); !near(c, at.want) || max(alpha, want)-min(alpha, want) > 0x800 {
				t.Errorf("%+v, %s: %v, want %v", test.args, name, c, at.want)
			}
		}
	}
	made := make1(t, ConvertImageJob, ConvertImageArgs{Input: input(""), To: "gif"}, source)
	whole, err := gif.Decode(bytes.NewReader(made))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, alpha := whole.At(5, 5).RGBA(); alpha != 0 || !near(whole.At(30, 5), red) {
		t.Errorf("a GIF is %v and %v", whole.At(5, 5), whole.At(30, 5))
	}
}

// TestConvertColors keeps the profile of a photograph's colours, and chooses those of
// a GIF so that they are near.
func TestConvertColors(t *testing.T) {
	photo := photograph(200, 150)
	img, made := convertTo(t, ConvertImageArgs{To: "gif"}, asPNG(t, photo))
	off := 0
	for y := range 150 {
		for x := range 200 {
			if !near(img.At(x, y), photo.At(x, y)) {
				off++
			}
		}
	}
	if share := float64(off) / (200 * 150); share > 0.03 {
		t.Errorf("%.1f %% of a GIF's pixels are far from the photograph's", 100*share)
	}
	keep(t, "photo.gif", made)
	profile := make([]byte, 70_000)
	copy(profile[16:], "RGB ")
	copy(profile[36:], "acsp")
	plain := asJPEG(t, photo)
	source := append(append(append([]byte{}, plain[:2]...), jpegProfile(profile)...), plain[2:]...)
	again, err := pngChunk(make1(t, ConvertImageJob, ConvertImageArgs{Input: input(""), To: "png"}, source), "iCCP")
	if err != nil || len(again) == 0 {
		t.Errorf("a PNG has no profile: %v", err)
	}
	jpegAgain := make1(t, ConvertImageJob, ConvertImageArgs{Input: input(""), To: "jpeg", Quality: 80}, source)
	if bytes.Count(jpegAgain, []byte("ICC_PROFILE")) != 2 {
		t.Error("a JPEG has not the two parts of its profile")
	}
}

// pngChunk returns the content of a chunk.
func pngChunk(content []byte, name string) ([]byte, error) {
	if _, err := png.Decode(bytes.NewReader(content)); err != nil {
		return nil, err
	}
	_, after, found := bytes.Cut(content, []byte(name))
	if !found {
		return nil, fmt.Errorf("no %s", name)
	}
	return after, nil
}

// TestConvertImageRefuses gives it what is no image, and what would be too large.
func TestConvertImageRefuses(t *testing.T) {
	small := asPNG(t, large(rgba))
	for name, test := range map[string]struct {
		source []byte
		args   ConvertImageArgs
		kind   Kind
	}{
		"text":        {[]byte("hello, hello, hello"), ConvertImageArgs{To: "png"}, NotImage},
		"a PDF":       {three().Write(), ConvertImageArgs{To: "png"}, NotImage},
		"cut off":     {small[:60], ConvertImageArgs{To: "png"}, DamagedImage},
		"a lie":       {claim(small, 60_000, 60_000), ConvertImageArgs{To: "png"}, LargeImage},
		"too long":    {small, ConvertImageArgs{To: "webp", Width: 16_384}, LargeImage},
		"too many":    {small, ConvertImageArgs{To: "png", Width: 16_000, Height: 16_000, Fit: Fill}, LargeImage},
		"ever higher": {asPNG(t, image.NewGray(image.Rect(0, 0, 1, 100))), ConvertImageArgs{To: "png", Width: 16_000}, LargeImage},
	} {
		test.args.Input = input("")
		test.args.Quality = 80
		if failed := fails(t, test.kind, ConvertImageJob, test.args, test.source); failed.Kind == LargeImage && failed.Text == "" {
			t.Errorf("%s: no words", name)
		}
	}
}

// TestConvertFirstPicture takes the first of a GIF that moves, on the whole of its
// ground.
func TestConvertFirstPicture(t *testing.T) {
	part := image.NewPaletted(image.Rect(10, 5, 30, 15), color.Palette{red, color.NRGBA{}})
	next := image.NewPaletted(image.Rect(0, 0, 40, 20), color.Palette{green})
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{part, next}, Delay: []int{5, 5}, Config: image.Config{Width: 40, Height: 20}}); err != nil {
		t.Fatal(err)
	}
	img, _ := convertTo(t, ConvertImageArgs{To: "jpeg"}, b.Bytes())
	if img.Bounds().Size() != image.Pt(40, 20) || !near(img.At(20, 10), red) || !near(img.At(2, 2), white) {
		t.Errorf("%v, %v and %v", img.Bounds(), img.At(20, 10), img.At(2, 2))
	}
}
