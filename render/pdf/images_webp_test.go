package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// webPOf has libwebp's own program make a WebP.
func webPOf(t *testing.T, img []byte, args ...string) []byte {
	t.Helper()
	in, out := pdftest.Save(t, img), filepath.Join(t.TempDir(), "out.webp")
	pdftest.Tool(t, "cwebp", append(append([]string{"-quiet"}, args...), in, "-o", out)...)
	return pdftest.Load(t, out)
}

// movingWebP has libwebp's own tool make an animated WebP of images with their places on
// the canvas.
func movingWebP(t *testing.T, places []string, pageImages ...[]byte) []byte {
	t.Helper()
	args := []string{}
	for i, rasterImage := range pageImages {
		args = append(args, "-frame", pdftest.Save(t, rasterImage), "+100"+places[i])
	}
	out := filepath.Join(t.TempDir(), "moving.webp")
	pdftest.Tool(t, "webpmux", append(args, "-o", out)...)
	return pdftest.Load(t, out)
}

// seen is an image of which nothing is seen up to so far from its left, and red behind.
func seen(width, height, from int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := from; x < width; x++ {
			img.Set(x, y, red)
		}
	}
	return img
}

// TestWebPThatMoves expects the first image on the whole canvas, for each way to pack it, and
// a warning about the others.
func TestWebPThatMoves(t *testing.T) {
	whole, part, half := asPNG(t, large(rgba)), asPNG(t, seen(20, 10, 0)), asPNG(t, seen(20, 10, 10))
	for name, test := range map[string]struct {
		places     []string
		pageImages [][]byte
		at         map[image.Point]color.Color
		more       bool
	}{
		"lossy":     {[]string{"", ""}, [][]byte{webPOf(t, whole), webPOf(t, part)}, map[image.Point]color.Color{{X: 5, Y: 5}: red, {X: 40, Y: 28}: blue}, true},
		"lossless":  {[]string{"", ""}, [][]byte{webPOf(t, whole, "-lossless"), webPOf(t, part)}, map[image.Point]color.Color{{X: 40, Y: 5}: green}, true},
		"one":       {[]string{""}, [][]byte{webPOf(t, whole)}, map[image.Point]color.Color{{X: 5, Y: 5}: red}, false},
		"a part":    {[]string{"+10+20", ""}, [][]byte{webPOf(t, part), webPOf(t, whole)}, map[image.Point]color.Color{{X: 5, Y: 5}: color.NRGBA{}, {X: 15, Y: 25}: red}, true},
		"see":       {[]string{"+10+20", ""}, [][]byte{webPOf(t, half), webPOf(t, whole)}, map[image.Point]color.Color{{X: 13, Y: 25}: color.NRGBA{}, {X: 27, Y: 25}: red}, true},
		"see whole": {[]string{"", "+2+2"}, [][]byte{webPOf(t, half), webPOf(t, half)}, map[image.Point]color.Color{{X: 3, Y: 5}: color.NRGBA{}, {X: 16, Y: 5}: red}, true},
	} {
		source := movingWebP(t, test.places, test.pageImages...)
		img, _ := convertTo(t, images.ConvertArgs{To: "png"}, source)
		for at, want := range test.at {
			if _, _, _, alpha := want.RGBA(); alpha == 0 {
				if _, _, _, got := img.At(at.X, at.Y).RGBA(); got != 0 {
					t.Errorf("%s: %v is %v, want nothing", name, at, img.At(at.X, at.Y))
				}
			} else if !near(img.At(at.X, at.Y), want) {
				t.Errorf("%s: %v is %v, want %v", name, at, img.At(at.X, at.Y), want)
			}
		}
		result, err := runJob(t, images.ConvertJob.Name, images.ConvertArgs{Input: input(""), To: "png"}, source)
		var made images.ConvertedImage
		if err != nil || json.Unmarshal(result.Body, &made) != nil || made.More != test.more {
			t.Errorf("%s: more is %t, want %t: %v", name, made.More, test.more, err)
		}
		document := makeOne(t, images.FromImagesJob.Name, imagesArgs(1), source)
		sound(t, document, "", 1)
	}
}

// TestWebPThatLies expects refusals: the first image is cut off, is outside the canvas, or
// has another size than it claims; the canvas is too large.
func TestWebPThatLies(t *testing.T) {
	whole := movingWebP(t, []string{"", ""}, webPOf(t, asPNG(t, large(rgba))), webPOf(t, asPNG(t, large(rgba))))
	ground, frame := bytes.Index(whole, []byte("VP8X"))+8, bytes.Index(whole, []byte("ANMF"))+8
	changed := func(at int, to ...byte) []byte {
		lie := slices.Clone(whole)
		copy(lie[at:], to)
		return lie
	}
	for name, test := range map[string]struct {
		source []byte
		kind   job.Kind
	}{
		"cut":          {whole[:frame+40], images.DamagedImage},
		"no picture":   {whole[:frame+16], images.DamagedImage},
		"too short":    {changed(frame-4, 8, 0, 0, 0), images.DamagedImage},
		"outside":      {changed(frame, 9), images.DamagedImage},
		"other size":   {changed(frame+6, 20), images.DamagedImage},
		"large ground": {changed(ground+4, 0xff, 0xff, 0x3f, 0xff, 0xff, 0x3f), images.LargeImage},
	} {
		runFailing(t, test.kind, images.ConvertJob.Name, images.ConvertArgs{Input: input(""), To: "png"}, test.source)
		t.Log(name)
	}
}

// profileChunk is a colour profile as a chunk of a PNG.
func profileChunk(profile []byte) []byte {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(profile)
	_ = z.Close()
	body := append([]byte("iCCPprofile\x00\x00"), packed.Bytes()...)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)-len("iCCP")))
	return binary.BigEndian.AppendUint32(append(chunk, body...), crc32.ChecksumIEEE(body))
}

// profileSegments is a colour profile as segments of a JPEG.
func profileSegments(profile []byte) (segments []byte) {
	parts := slices.Collect(slices.Chunk(profile, 65_000))
	for i, part := range parts {
		body := append(append([]byte("ICC_PROFILE\x00"), byte(i+1), byte(len(parts))), part...)
		segments = binary.BigEndian.AppendUint16(append(segments, 0xff, 0xe2), uint16(2+len(body)))
		segments = append(segments, body...)
	}
	return segments
}

// tiffProfile gives a TIFF a colour profile: its directory is written again, at the end.
func tiffProfile(content, profile []byte) []byte {
	order := binary.LittleEndian
	at := int(order.Uint32(content[4:]))
	count := order.Uint16(content[at:])
	entries := content[at+2 : at+2+12*int(count)]
	made := slices.Concat(content, profile, make([]byte, len(profile)%2))
	place := len(made)
	made = order.AppendUint16(made, count+1)
	made = append(made, entries...)
	made = order.AppendUint16(order.AppendUint16(made, 34675), 7)
	made = order.AppendUint32(order.AppendUint32(made, uint32(len(profile))), uint32(len(content)))
	made = order.AppendUint32(made, 0)
	order.PutUint32(made[4:], uint32(place))
	return made
}

// TestImagesKeepProfiles keeps the profile of colours of every kind that has one, in images and
// in PDFs, and none that is for other colours.
func TestImagesKeepProfiles(t *testing.T) {
	profile := pdftest.Load(t, archive.ColorProfile)
	img := photograph(40, 30)
	withPNG := func(content, profile []byte) []byte {
		return slices.Concat(content[:33], profileChunk(profile), content[33:])
	}
	plain, photo := asPNG(t, img), asJPEG(t, img)
	still := webPOf(t, withPNG(plain, profile), "-metadata", "icc")
	moving := movingWebP(t, []string{"", ""}, still, still)
	icc, out := filepath.Join(t.TempDir(), "a.icc"), filepath.Join(t.TempDir(), "out.webp")
	if err := os.WriteFile(icc, profile, 0o600); err != nil {
		t.Fatal(err)
	}
	pdftest.Tool(t, "webpmux", "-set", "icc", icc, pdftest.Save(t, moving), "-o", out)
	for name, source := range map[string][]byte{
		"a JPEG": slices.Concat(photo[:2], profileSegments(profile), photo[2:]),
		"a PNG":  withPNG(plain, profile), "a PNG with alpha": withPNG(asPNG(t, seen(40, 30, 20)), profile),
		"a TIFF": tiffProfile(asTIFF(t, img), profile),
		"a WebP": still, "a WebP that moves": pdftest.Load(t, out),
	} {
		for _, to := range []string{"png", "jpeg", "webp"} {
			_, made := convertTo(t, images.ConvertArgs{To: to}, source)
			if !hasProfile(made, profile) {
				t.Errorf("%s as %s has not its profile", name, to)
			}
		}
		document := makeOne(t, images.FromImagesJob.Name, imagesArgs(1), source)
		sound(t, document, "", 1)
		unpacked := filepath.Join(t.TempDir(), "unpacked.pdf")
		pdftest.Tool(t, "qpdf", "--stream-data=uncompress", pdftest.Save(t, document), unpacked)
		if !bytes.Contains(pdftest.Load(t, unpacked), profile) {
			t.Errorf("%s: its profile is not in the PDF", name)
		}
	}
	grey := bytes.Replace(profile, []byte("RGB "), []byte("GRAY"), 1)
	for name, source := range map[string][]byte{
		"colours with a profile of greys": withPNG(plain, grey), "greys with one of colours": withPNG(asPNG(t, image.NewGray(image.Rect(0, 0, 9, 9))), profile),
		"a profile that is none": withPNG(plain, []byte("none")), "a palette": withPNG(asPNG(t, large(paletted)), grey),
	} {
		if _, made := convertTo(t, images.ConvertArgs{To: "png"}, source); bytes.Contains(made, []byte("iCCP")) {
			t.Errorf("%s: is kept", name)
		}
		sound(t, makeOne(t, images.FromImagesJob.Name, imagesArgs(1), source), "", 1)
	}
}

// hasProfile reports whether an image has a profile, which only a PNG packs.
func hasProfile(content, profile []byte) bool {
	_, packed, found := bytes.Cut(content, []byte("iCCP"))
	if !found {
		return bytes.Contains(content, profile)
	}
	_, packed, _ = bytes.Cut(packed, []byte{0, 0})
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return false
	}
	got, err := io.ReadAll(z)
	return err == nil && bytes.Equal(got, profile)
}
