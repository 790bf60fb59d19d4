package pdf

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// plate is a PNG of one colour.
func plate(t testing.TB, c color.Color, width, height int) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// stampArgs stamps an image, which is 30 by 15 points where it is a plate of
// 40 by 20 pixels.
func stampArgs(change func(*Mark)) StampArgs {
	mark := Mark{Stamp: job.Input{Name: inputName(1)}, Image: true, Position: new("center"), Opacity: 1, Scale: 1}
	if change != nil {
		change(&mark)
	}
	return StampArgs{Input: input(""), Marks: []Mark{mark}}
}

func TestStampPosition(t *testing.T) {
	stamp := plate(t, green, 40, 20)
	// The page as it is shown is 200 by 100 points, or 100 by 200.
	for _, rotate := range []int{0, 90, 180, 270} {
		w, h := 200, 100
		if rotate%180 != 0 {
			w, h = h, w
		}
		for name, corner := range map[string]image.Point{
			"center": {w/2 - 15, h/2 - 7}, "top": {w/2 - 15, 24}, "bottom": {w/2 - 15, h - 24 - 15}, "top-left": {24, 24},
			"top-right": {w - 24 - 30, 24}, "bottom-left": {24, h - 24 - 15}, "bottom-right": {w - 24 - 30, h - 24 - 15},
		} {
			got := extent(draw(t, makeOne(t, StampJob.Name, stampArgs(func(a *Mark) { a.Position = &name }), colored(rotate), stamp), 1), green)
			if want := (image.Rectangle{Min: corner, Max: corner.Add(image.Pt(30, 15))}); !close1(got, want) {
				t.Errorf("turned by %d, %s: the stamp is at %v, want %v", rotate, name, got, want)
			}
		}
		point := stampArgs(func(a *Mark) { a.Position, a.X, a.Y, a.Scale = nil, 10, 20, 2 })
		got := extent(draw(t, makeOne(t, StampJob.Name, point, colored(rotate), stamp), 1), green)
		if want := image.Rect(10, 20, 70, 50); !close1(got, want) {
			t.Errorf("turned by %d, a point: the stamp is at %v, want %v", rotate, got, want)
		}
	}
}

// TestStampTurns stamps an image that is green at the left and white at the
// right: counter-clockwise, the green part comes down.
func TestStampTurns(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 80, 20))
	for y := range 20 {
		for x := range 80 {
			img.Set(x, y, map[bool]color.Color{true: green, false: white}[x < 40])
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	for _, rotate := range []int{0, 90} {
		shown := draw(t, makeOne(t, StampJob.Name, stampArgs(func(a *Mark) { a.Rotate, a.Position = 90, new("top-left") }), colored(rotate), b.Bytes()), 1)
		if got, want := extent(shown, white), image.Rect(24, 24, 39, 54); !close1(got, want) {
			t.Errorf("turned by %d: the right end is at %v, want %v", rotate, got, want)
		}
		if got, want := extent(shown, green), image.Rect(24, 54, 39, 84); !close1(got, want) {
			t.Errorf("turned by %d: the left end is at %v, want %v", rotate, got, want)
		}
	}
}

func TestStampLayersAndOpacity(t *testing.T) {
	stamp := plate(t, green, 40, 20)
	below := draw(t, makeOne(t, StampJob.Name, stampArgs(func(a *Mark) { a.Below = true }), colored(0), stamp), 1)
	if got := extent(below, green); !got.Empty() {
		t.Errorf("a stamp below what fills the page is seen at %v", got)
	}
	onText := draw(t, makeOne(t, StampJob.Name, stampArgs(func(a *Mark) { a.Below = true }), three().Write(), stamp), 2)
	if got := extent(onText, green); got.Dx() < 29 {
		t.Errorf("a stamp below a text is seen at %v", got)
	}
	half := draw(t, makeOne(t, StampJob.Name, stampArgs(func(a *Mark) { a.Opacity = 0.5 }), three().Write(), stamp), 1)
	if got, want := half.At(150, 200), (color.RGBA{R: 127, G: 255, B: 127, A: 255}); !near(got, want) {
		t.Errorf("half a stamp is %v, want %v", got, want)
	}
}

func TestStampPages(t *testing.T) {
	stamped := makeOne(t, StampJob.Name, stampArgs(func(a *Mark) { a.Pages = "1,last,1" }), three().Write(), plate(t, green, 40, 20))
	sound(t, stamped, "", 3)
	for page, want := range map[int]bool{1: true, 2: false, 3: true} {
		if got := !extent(draw(t, stamped, page), green).Empty(); got != want {
			t.Errorf("page %d is stamped: %v, want %v", page, got, want)
		}
	}
	runFailing(t, job.PageOutOfRange, StampJob.Name, stampArgs(func(a *Mark) { a.Pages = "9" }), three().Write(), plate(t, green, 4, 2))
}

// TestStampOfPDF stamps a page of a PDF, twice, and finds all texts.
func TestStampOfPDF(t *testing.T) {
	other := source{Pages: []string{"STAMP"}}.Write()
	args := stampArgs(func(a *Mark) { a.Image, a.Scale = false, 0.5 })
	once := makeOne(t, StampJob.Name, args, three().Write(), other)
	args.Marks[0].Position = new("bottom")
	stamped := makeOne(t, StampJob.Name, args, once, other)
	sound(t, stamped, "", 3)
	text := fmt.Sprint(readTexts(t, TextArgs{Input: input("")}, stamped).Pages)
	if want := "[{1 alpha STAMP STAMP} {2 beta STAMP STAMP} {3 gamma STAMP STAMP}]"; oneLine(text) != want {
		t.Errorf("the text is %s, want %s", oneLine(text), want)
	}
}

// oneLine puts the words of a text on one line.
func oneLine(text string) string { return string(bytes.Join(bytes.Fields([]byte(text)), []byte(" "))) }

func TestStampKeepsEncryptionAndStreams(t *testing.T) {
	stamp := plate(t, green, 40, 20)
	document := pdftest.Transform(t, three().Write(), "--object-streams=generate", "--encrypt", "user", "owner", "256", "--")
	protected := stampArgs(nil)
	protected.Input.Password = "user"
	stamped := makeOne(t, StampJob.Name, protected, document, stamp)
	for _, password := range []string{"user", "owner"} {
		sound(t, stamped, password, 3)
	}
	runFailing(t, job.PasswordRequired, StampJob.Name, stampArgs(nil), stamped, stamp)
	if !bytes.Contains(stamped, []byte("/ObjStm")) {
		t.Error("the objects are no more in streams")
	}
}

func TestStampImageFaults(t *testing.T) {
	for kind, image := range map[job.Kind][]byte{images.NotImage: []byte("hello"), images.DamagedImage: plate(t, red, 4, 4)[:60], images.LargeImage: claim(plate(t, red, 4, 4), 60_000, 60_000)} {
		if got := runFailing(t, kind, StampJob.Name, stampArgs(nil), three().Write(), image); got.Input != 1 {
			t.Errorf("%s: input %d is blamed, want 1", kind, got.Input)
		}
	}
}

// TestStampShrinksLargeImages has an image larger than the page.
func TestStampShrinksLargeImages(t *testing.T) {
	got := extent(draw(t, makeOne(t, StampJob.Name, stampArgs(nil), colored(0), plate(t, green, 1000, 1000)), 1), green)
	if want := image.Rect(50, 0, 150, 100); !close1(got, want) {
		t.Errorf("the stamp is at %v, want %v", got, want)
	}
}

// TestStampFits has a text that is longer than the page, turned: what is at a
// named position is made smaller, and what is at a point is as it is.
func TestStampFits(t *testing.T) {
	drawn := source{Pages: []string{"x"}, Objects: []string{
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 40] /Contents 101 0 R >>", "<< /Length 25 >>\nstream\n0 1 0 rg 0 0 900 500 re f \nendstream",
	}}
	long := bytes.Replace(drawn.Write(), []byte("/Kids [10 0 R ]"), []byte("/Kids [100 0 R]"), 1)
	for name, want := range map[string]image.Rectangle{"center": image.Rect(74, 24, 126, 76), "top": image.Rect(74, 24, 126, 76)} {
		args := stampArgs(func(a *Mark) { a.Image, a.Rotate, a.Position = false, 45, &name })
		if got := extent(draw(t, makeOne(t, StampJob.Name, args, colored(0), long), 1), green); !close1(got, want) {
			t.Errorf("%s: the stamp is at %v, want %v", name, got, want)
		}
	}
}

// TestStampTiles counts stamps all over a page, and draws two stamps at once.
func TestStampTiles(t *testing.T) {
	stamp := plate(t, green, 40, 20)
	args := stampArgs(func(a *Mark) { a.Tiled = true })
	shown := draw(t, makeOne(t, StampJob.Name, args, colored(0), stamp), 1)
	for _, at := range []image.Point{{100, 50}, {22, 50}, {178, 50}} {
		if got := shown.At(at.X, at.Y); !near(got, green) {
			t.Errorf("at %v is %v, want a stamp", at, got)
		}
	}
	if got := shown.At(61, 50); near(got, green) {
		t.Error("tiles touch one another")
	}
	args = stampArgs(func(a *Mark) { a.Position = new("top-left") })
	args.Marks = append(args.Marks, args.Marks[0])
	args.Marks[1].Position, args.Marks[1].Pages = new("bottom-right"), "1"
	if got, want := extent(draw(t, makeOne(t, StampJob.Name, args, colored(0), stamp), 1), green), image.Rect(24, 24, 176, 76); !close1(got, want) {
		t.Errorf("two stamps are at %v, want %v", got, want)
	}
}

// TestStampMisplacedObject: a table that has an object elsewhere, as that of some scanners
// and editors has, costs neither the stamp nor the page.
func TestStampMisplacedObject(t *testing.T) {
	source := pdftest.Source{
		Pages: []string{"alpha"}, Annots: map[int]string{0: "100 0 R"},
		Objects: []string{"<< /Type /Annot /Subtype /Square /Rect [10 10 20 20] /Border [0 0 1] /Popup 101 0 R >>", "<< /Type /Annot /Subtype /Popup /Rect [10 10 20 20] /Parent 100 0 R >>"},
	}
	document := source.Write()
	place := fmt.Sprintf("%010d 00000 n", bytes.Index(document, []byte("101 0 obj")))
	if !bytes.Contains(document, []byte(place)) {
		t.Fatal("the object is not in the table")
	}
	document = bytes.Replace(document, []byte(place), []byte("0000000015 00000 n"), 1)
	stamped := makeOne(t, StampJob.Name, stampArgs(nil), document, plate(t, green, 40, 20))
	if out := pdftest.Tool(t, "qpdf", "--check", pdftest.Save(t, stamped)); strings.Contains(out, "WARNING") {
		t.Errorf("qpdf says %s", out)
	}
	if extent(draw(t, stamped, 1), green).Empty() || !strings.Contains(pdftest.Tool(t, "pdftotext", pdftest.Save(t, stamped), "-"), "alpha") {
		t.Error("the stamp or the text is missing")
	}
}
