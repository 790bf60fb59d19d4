package pdf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// convertTo converts an image and reads the result with a program that had no part
// in making it: MuPDF, or for WebP libwebp's own.
func convertTo(t *testing.T, args images.ConvertArgs, source []byte) (image.Image, []byte) {
	t.Helper()
	args.Input = input("")
	if args.Quality == 0 {
		args.Quality = 90
	}
	made := makeOne(t, images.ConvertJob.Name, args, source)
	in, out := filepath.Join(t.TempDir(), "image."+args.To), filepath.Join(t.TempDir(), "out.png")
	if err := os.WriteFile(in, made, 0o600); err != nil {
		t.Fatal(err)
	}
	switch args.To {
	case "webp":
		pdftest.Tool(t, "dwebp", "-quiet", in, "-o", out)
	case "png":
		return picturePNG(t, made), made
	case "tiff": // declares 72 pixels per inch
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
			img, made := convertTo(t, images.ConvertArgs{To: to}, source)
			if got := cornersOf(img); got != want || img.Bounds().Size() != image.Pt(48, 32) {
				t.Errorf("%s to %s: %s of %v, want %s", from, to, got, img.Bounds().Size(), want)
			}
			if bytes.Contains(made, []byte("Exif")) {
				t.Errorf("%s to %s has metadata", from, to)
			}
			half, _ := convertTo(t, images.ConvertArgs{To: to, Width: 24}, source)
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
		img, _ := convertTo(t, images.ConvertArgs{To: "png"}, exif(plain, orientation))
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
		args     images.ConvertArgs
		PageSize image.Point
		corners  string
	}{
		{images.ConvertArgs{Height: 96}, image.Pt(144, 96), "RGWB"},
		{images.ConvertArgs{Width: 24, Height: 24}, image.Pt(24, 16), "RGWB"},
		{images.ConvertArgs{Width: 24, Height: 24, Fit: images.Fill}, image.Pt(24, 24), "RGWB"},
		{images.ConvertArgs{Width: 20, Height: 20, Fit: images.Cover}, image.Pt(20, 20), "RGWB"},
		{images.ConvertArgs{Width: 96, Height: 16, Fit: images.Fill}, image.Pt(96, 16), "RGWB"},
		{images.ConvertArgs{Width: 24, Height: 24, Within: true}, image.Pt(24, 16), "RGWB"},
		{images.ConvertArgs{Width: 480, Height: 48, Within: true}, image.Pt(48, 32), "RGWB"},
		{images.ConvertArgs{Width: 1, Height: 9000, Fit: images.Contain}, image.Pt(1, 1), ""},
	} {
		test.args.To = "png"
		img, _ := convertTo(t, test.args, source)
		if img.Bounds().Size() != test.PageSize || test.corners != "" && cornersOf(img) != test.corners {
			t.Errorf("%+v: %s of %v, want %s of %v", test.args, cornersOf(img), img.Bounds().Size(), test.corners, test.PageSize)
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
		args        images.ConvertArgs
		left, right color.Color
	}{
		{images.ConvertArgs{To: "jpeg"}, white, color.RGBA{R: 255, G: 127, B: 127, A: 255}},
		{images.ConvertArgs{To: "jpeg", Background: navy}, blue, color.RGBA{R: 128, B: 127, A: 255}},
		{images.ConvertArgs{To: "png"}, color.NRGBA{}, color.NRGBA{R: 255, A: 128}},
		{images.ConvertArgs{To: "webp"}, color.NRGBA{}, color.NRGBA{R: 255, A: 128}},
		{images.ConvertArgs{To: "png", Background: navy, Width: 20}, blue, color.RGBA{R: 128, B: 127, A: 255}},
		{images.ConvertArgs{To: "png", Width: 20}, color.NRGBA{}, color.NRGBA{R: 255, A: 128}},
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
	made := makeOne(t, images.ConvertJob.Name, images.ConvertArgs{Input: input(""), To: "gif"}, source)
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
	img, made := convertTo(t, images.ConvertArgs{To: "gif"}, asPNG(t, photo))
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
	source := append(append(append([]byte{}, plain[:2]...), profileSegments(profile)...), plain[2:]...)
	again, err := pngChunk(makeOne(t, images.ConvertJob.Name, images.ConvertArgs{Input: input(""), To: "png"}, source), "iCCP")
	if err != nil || len(again) == 0 {
		t.Errorf("a PNG has no profile: %v", err)
	}
	jpegAgain := makeOne(t, images.ConvertJob.Name, images.ConvertArgs{Input: input(""), To: "jpeg", Quality: 80}, source)
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

// TestConvertImageRefuses converts files that are not images, and images that would be too
// large.
func TestConvertImageRefuses(t *testing.T) {
	small := asPNG(t, large(rgba))
	for name, test := range map[string]struct {
		source []byte
		args   images.ConvertArgs
		kind   job.Kind
	}{
		"text":        {[]byte("hello, hello, hello"), images.ConvertArgs{To: "png"}, images.NotImage},
		"a PDF":       {three().Write(), images.ConvertArgs{To: "png"}, images.NotImage},
		"no page":     {[]byte("II*\x00\x00\x00\x00\x00"), images.ConvertArgs{To: "png"}, images.DamagedImage},
		"cut off":     {small[:60], images.ConvertArgs{To: "png"}, images.DamagedImage},
		"a lie":       {claim(small, 60_000, 60_000), images.ConvertArgs{To: "png"}, images.LargeImage},
		"too long":    {small, images.ConvertArgs{To: "webp", Width: 16_384}, images.LargeImage},
		"too many":    {small, images.ConvertArgs{To: "png", Width: 16_000, Height: 16_000, Fit: images.Fill}, images.LargeImage},
		"ever higher": {asPNG(t, image.NewGray(image.Rect(0, 0, 1, 100))), images.ConvertArgs{To: "png", Width: 16_000}, images.LargeImage},
	} {
		test.args.Input = input("")
		test.args.Quality = 80
		if failed := runFailing(t, test.kind, images.ConvertJob.Name, test.args, test.source); failed.Kind == images.LargeImage && failed.Text == "" {
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
	img, _ := convertTo(t, images.ConvertArgs{To: "jpeg"}, b.Bytes())
	if img.Bounds().Size() != image.Pt(40, 20) || !near(img.At(20, 10), red) || !near(img.At(2, 2), white) {
		t.Errorf("%v, %v and %v", img.Bounds(), img.At(20, 10), img.At(2, 2))
	}
}

// movingGIF returns a GIF with the given number of images.
func movingGIF(t *testing.T, pageImages int) []byte {
	t.Helper()
	var all gif.GIF
	for range pageImages {
		all.Image, all.Delay = append(all.Image, image.NewPaletted(image.Rect(0, 0, 40, 20), color.Palette{red, green})), append(all.Delay, 5)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &all); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// movingPNG makes a PNG claim that it is the first of several images.
func movingPNG(content []byte, pageImages uint32) []byte {
	chunk := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("acTL"), pageImages), 0)
	whole := binary.BigEndian.AppendUint32(append([]byte{0, 0, 0, 8}, chunk...), crc32.ChecksumIEEE(chunk))
	return slices.Concat(content[:33], whole, content[33:])
}

// TestConvertReportsOmittedImages expects a warning about the images that were left out.
func TestConvertReportsOmittedImages(t *testing.T) {
	plain := asPNG(t, large(rgba))
	for name, test := range map[string]struct {
		source []byte
		more   bool
	}{
		"a GIF": {asGIF(t, large(paletted)), false}, "a GIF of one picture": {movingGIF(t, 1), false}, "a GIF that moves": {movingGIF(t, 3), true},
		"a PNG": {plain, false}, "a PNG of one picture": {movingPNG(plain, 1), false}, "a PNG that moves": {movingPNG(plain, 2), true},
		"a TIFF": {asTIFF(t, large(rgba)), false}, "a TIFF of two pages": {pdftest.Load(t, "testdata/pages.tiff"), true},
		"a JPEG": {asJPEG(t, large(rgba)), false}, "a WebP": {pdftest.Load(t, "testdata/lossy.webp"), false},
	} {
		result, err := runJob(t, images.ConvertJob.Name, images.ConvertArgs{Input: input(""), To: "png"}, test.source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var made images.ConvertedImage
		if err := json.Unmarshal(result.Body, &made); err != nil || made.More != test.more {
			t.Errorf("%s: more is %t, want %t: %v", name, made.More, test.more, err)
		}
		if _, err := png.Decode(bytes.NewReader(read(t, result))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// inkJPEG is a JPEG of blocks of eight by eight pixels, each of one colour, in four
// channels that are stored as they are given. A segment may stand before them.
func inkJPEG(blocks [][][4]byte, before string) []byte {
	var b bytes.Buffer
	segment := func(marker byte, content ...byte) {
		b.Write([]byte{0xff, marker, 0, byte(len(content) + 2)})
		b.Write(content)
	}
	b.WriteString("\xff\xd8" + before)
	// By eight, so that a step of a block's first number is one of its colour.
	segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{8}, 64)...)...)
	segment(0xc0, 8, 0, byte(8*len(blocks)), 0, byte(8*len(blocks[0])), 4, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 4, 0x11, 0)
	// Nine codes of four bits say how many bits follow, and one of one bit that the rest of
	// a block is nothing.
	segment(0xc4, slices.Concat([]byte{0x00, 0, 0, 0, 9}, make([]byte, 12), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8})...)
	segment(0xc4, slices.Concat([]byte{0x10, 1}, make([]byte, 15), []byte{0})...)
	segment(0xda, 4, 1, 0, 2, 0, 3, 0, 4, 0, 0, 63, 0)
	var held, count int
	put := func(value, length int) {
		for i := length - 1; i >= 0; i-- {
			held, count = held<<1|value>>i&1, count+1
			if count == 8 {
				b.WriteByte(byte(held))
				if held == 0xff {
					b.WriteByte(0)
				}
				held, count = 0, 0
			}
		}
	}
	var last [4]int
	for _, row := range blocks {
		for _, block := range row {
			for channel, value := range block {
				step := int(value) - 128 - last[channel]
				last[channel] = int(value) - 128
				length := bits.Len(uint(max(step, -step)))
				if step < 0 {
					step += 1<<length - 1
				}
				put(length, 4)
				put(step, length)
				put(0, 1)
			}
		}
	}
	put(0x7f, 7)
	b.WriteString("\xff\xd9")
	return b.Bytes()
}

// TestConvertInks converts JPEGs in four inks, which programs store in three ways, to the
// colours that they stand for.
func TestConvertInks(t *testing.T) {
	// Cyan, magenta, yellow and black: the quarters are red, green, white and blue, and one
	// block is of some of all.
	quarters := [2][2][4]byte{{{0, 255, 255, 0}, {255, 0, 255, 0}}, {{}, {255, 255, 0, 0}}}
	mixed := [4]byte{51, 102, 0, 64}
	for name, how := range map[string]struct {
		before string
		stored func(c, m, y, k byte) [4]byte
	}{
		"as they are":     {"", func(c, m, y, k byte) [4]byte { return [4]byte{c, m, y, k} }},
		"Adobe, inverted": {"\xff\xee\x00\x0eAdobe\x00d\x00\x00\x00\x00\x00", func(c, m, y, k byte) [4]byte { return [4]byte{255 - c, 255 - m, 255 - y, 255 - k} }},
		"Adobe, as brightness and colour": {"\xff\xee\x00\x0eAdobe\x00d\x00\x00\x00\x00\x00"[:len("\xff\xee\x00\x0eAdobe\x00d\x00\x00\x00\x00\x00")-1] + "\x02", func(c, m, y, k byte) [4]byte {
			light, blue, red := color.RGBToYCbCr(c, m, y)
			return [4]byte{light, blue, red, 255 - k}
		}},
	} {
		blocks := make([][][4]byte, 4)
		for y := range blocks {
			for x := range 6 {
				ink := quarters[y/2][x/3]
				if x == 0 && y == 0 {
					ink = mixed
				}
				blocks[y] = append(blocks[y], how.stored(ink[0], ink[1], ink[2], ink[3]))
			}
		}
		source := inkJPEG(blocks, how.before)
		for _, to := range []string{"png", "jpeg", "webp", "tiff", "gif"} {
			img, _ := convertTo(t, images.ConvertArgs{To: to}, source)
			if got := cornersOf(img); got != "RGWB" || img.Bounds().Size() != image.Pt(48, 32) {
				t.Errorf("%s, to %s: %s of %v", name, to, got, img.Bounds().Size())
			}
		}
		img, _ := convertTo(t, images.ConvertArgs{To: "png"}, source)
		r, g, b, _ := img.At(4, 4).RGBA()
		for i, want := range []int{153, 114, 191} {
			if got := int([]uint32{r, g, b}[i] >> 8); got < want-3 || got > want+3 {
				t.Errorf("%s: %v is mixed to %d, %d, %d", name, mixed, r>>8, g>>8, b>>8)
			}
		}
	}
	img, _ := convertTo(t, images.ConvertArgs{To: "png"}, pdftest.Load(t, "testdata/cmyk.jpg"))
	if got := cornersOf(img); got != "RRRR" {
		t.Errorf("cmyk.jpg is %s", got)
	}
}

// TestConvertRealImages makes smaller PNGs of images that others have made: in all, they
// have the colours that they had.
func TestConvertRealImages(t *testing.T) {
	sharedtest.Slow(t)
	const fewest, large, width = 20, 200_000, 100
	done := 0
	for _, path := range realImages(t, large) {
		content := pdftest.Load(t, path)
		before, kind, err := image.Decode(bytes.NewReader(content))
		if err != nil {
			t.Logf("%s: %v", filepath.Base(path), err) // of a kind that Go does not read
			continue
		}
		result, err := runJob(t, images.ConvertJob.Name, images.ConvertArgs{Input: input(""), To: "png", Quality: 90, Width: width}, content)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		done++
		after := picturePNG(t, read(t, result))
		want, got := meanOf(before), meanOf(after)
		for i := range want {
			if math.Abs(want[i]-got[i]) > 0.02 {
				t.Errorf("%s, a %s: the mean is %.3f, want %.3f", filepath.Base(path), kind, got, want)
				break
			}
		}
		if size := before.Bounds().Size(); math.Abs(float64(after.Bounds().Dy()*size.X)/float64(after.Bounds().Dx())-float64(size.Y)) > float64(size.X)/width {
			t.Errorf("%s: %v became %v", filepath.Base(path), size, after.Bounds().Size())
		}
	}
	if done < fewest {
		t.Errorf("%d images were converted, want %d", done, fewest)
	}
}

// realImages are the paths of images that others have made, with at most so many bytes.
func realImages(t *testing.T, largest int64) (paths []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("many images take long")
	}
	kinds := []string{".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp"}
	err := filepath.WalkDir(pdftest.Corpus(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !slices.Contains(kinds, strings.ToLower(filepath.Ext(path))) {
			return err
		}
		about, err := entry.Info()
		if err == nil && about.Size() <= largest {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// meanOf returns the mean of an image's red, green, blue and alpha, from 0 to 1.
func meanOf(img image.Image) (mean [4]float64) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBA64Model.Convert(img.At(x, y)).(color.RGBA64) // The model's type.
			for i, v := range [...]uint16{c.R, c.G, c.B, c.A} {
				mean[i] += float64(v) / math.MaxUint16 / float64(b.Dx()*b.Dy())
			}
		}
	}
	return mean
}
