package barcode

import (
	"bytes"
	"errors"
	"image/color"
	"image/png"
	"testing"
)

var (
	navy    = &color.NRGBA{R: 0, G: 0, B: 0x80, A: 255}
	cream   = &color.NRGBA{R: 0xFF, G: 0xFD, B: 0xD0, A: 255}
	nothing = &color.NRGBA{}
)

// TestZXingReadsOptions has ZXing read codes of each option.
func TestZXingReadsOptions(t *testing.T) {
	t.Parallel()
	none, wide := 0, 12
	samples := []sample{
		{"colours.png", Request{Type: QR, Text: "https://example.com/", Color: navy, Background: cream, IncludeText: true}, ""},
		{"wide.png", Request{Type: EAN13, Text: "4006381333931", Width: 640, Height: 200, IncludeText: true}, ""},
		{"low.png", Request{Type: Code128, Text: "LOW-4711", Height: 60, IncludeText: true}, ""},
		{"square.png", Request{Type: DataMatrix, Text: "A1", Width: 500, Height: 300}, ""},
		{"quiet.png", Request{Type: QR, Text: "wide", QuietZone: &wide}, ""},
		{"flush.png", Request{Type: EAN13, Text: "4006381333931", QuietZone: &none, IncludeText: true}, ""},
		{"long.png", Request{Type: Code128, Text: "00000000000000000000000000000000000000000000000000000000", IncludeText: true}, ""},
		{"pdf417-0.png", Request{Type: PDF417, Text: "none", Level: "0"}, ""},
		{"pdf417-8.png", Request{Type: PDF417, Text: "all", Level: "8"}, ""},
	}
	for _, level := range []string{"L", "M", "Q", "H"} {
		samples = append(samples, sample{"qr-" + level + ".png", Request{Type: QR, Text: "level " + level, Level: level}, ""})
	}
	for i := range samples {
		samples[i].req.Format, samples[i].req.Scale = PNG, 2
	}
	dir := t.TempDir()
	writeSamples(t, dir, samples)
	decodeAll(t, dir, samples)
}

// TestGS1 reads element strings back: fnc1 first, and between values without a
// fixed length only.
func TestGS1(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"(01)09506000134352(17)271231(10)ABC123", "010950600013435217271231" + "10ABC123"},
		{"(10)ABC123(21)55", "10ABC123\x1d2155"},
		{"(00)340123450000000017", "00340123450000000017"},
		{"(01)09506000134352(3103)001750(21)a/b_1", "0109506000134352" + "3103001750" + "21a/b_1"},
	} {
		for _, typ := range []Type{Code128, DataMatrix} {
			image := mustMake(t, Request{Type: typ, Text: tt.text, Format: PNG, Scale: 2, GS1: true, IncludeText: true})
			if got := decodeBytes(t, image, zxingNames[typ]); got != tt.want {
				t.Errorf("%s of %s: ZXing read %q, want %q", typ, tt.text, got, tt.want)
			}
		}
		for name, words := range map[string][]byte{
			"code128": code128Values(mustGS1(t, Code128, tt.text))[1:], "datamatrix": dataMatrixASCII(nil, mustGS1(t, DataMatrix, tt.text)),
		} {
			if first := words[0]; first != code128FNC1 && first != dataMatrixFNC1 {
				t.Errorf("%s of %s begins with %d and not with FNC1", name, tt.text, first)
			}
		}
	}
}

func mustGS1(t *testing.T, typ Type, text string) string {
	t.Helper()
	data, err := gs1Data(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestOptionErrors(t *testing.T) {
	long := make([]byte, 50)
	for i := range long {
		long[i] = 'A'
	}
	for _, tt := range []struct {
		req         Request
		field, want string
	}{
		{Request{Type: EAN13, Text: "4006381333931", Level: "L"}, "eclevel", "requires type qr or pdf417"},
		{Request{Type: QR, Text: "a", Level: "5"}, "eclevel", `must be one of L, M, Q, H for qr; got "5"`},
		{Request{Type: PDF417, Text: "a", Level: "H"}, "eclevel", `must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8 for pdf417; got "H"`},
		{Request{Type: QR, Text: prose(2000), Level: "H"}, "", "is too long for a QR Code with eclevel H; got 2000 bytes. Use a lower eclevel or a shorter text"},
		{Request{Type: PDF417, Text: prose(1000), Level: "8"}, "", "is too long for a PDF417 with eclevel 8; got 1000 bytes. Use a lower eclevel or a shorter text"},
		{Request{Type: QR, Text: "(01)1", GS1: true}, "gs1", "requires type code128 or datamatrix"},
		{Request{Type: QR, Text: "a", Width: 20}, "width", "must be at least 29 pixels for this code"},
		{Request{Type: QR, Text: "a", Height: 20}, "height", "must be at least 29 pixels for this code"},
		{Request{Type: EAN13, Text: "4006381333931", Height: 12}, "height", "must be at least 13 pixels for this code"},
		{Request{Type: Code128, Text: "0109506000134352", GS1: true}, "", `must be values after their application identifiers in brackets, such as (01)09506000134352(10)ABC123; got "0109506000134352"`},
		{Request{Type: Code128, Text: "(01)0950600013435", GS1: true}, "", `has an invalid value of (01): it must be 14 digits; got "0950600013435"`},
		{Request{Type: Code128, Text: "(01)09506000134351", GS1: true}, "", `has an invalid value of (01): it must end in the check digit 2; got "09506000134351"`},
		{Request{Type: DataMatrix, Text: "(10)", GS1: true}, "", `has an invalid value of (10): it must have 1 to 90 characters; got ""`},
		{Request{Type: DataMatrix, Text: "(10)a b", GS1: true}, "", `has an invalid value of (10): it must be letters, digits and !"%&'()*+,-./:;<=>?_; got "a b"`},
		{Request{Type: Code128, Text: "(10)" + string(long), GS1: true}, "", "must be at most 48 characters of GS1 data without brackets; got 52"},
	} {
		tt.req.Format, tt.req.Scale = PNG, 1
		_, err := Make(tt.req)
		var content *ContentError
		if !errors.As(err, &content) || content.Field != tt.field || content.Message != tt.want {
			t.Errorf("%+v: got %v, want %s %q", tt.req, err, tt.field, tt.want)
		}
	}
	if _, err := Make(Request{Type: QR, Text: "a", Format: PNG, Scale: 1, Color: cream}); !errors.Is(err, ErrContrast) {
		t.Errorf("cream on white: got %v, want ErrContrast", err)
	}
}

// TestColors looks at pixels: of the ground, of a module, and at what is
// transparent.
func TestColors(t *testing.T) {
	for _, ground := range []*color.NRGBA{cream, nothing} {
		img, err := png.Decode(bytes.NewReader(mustMake(t, Request{
			Type: QR, Text: "a", Format: PNG, Scale: 2, Color: navy, Background: ground, IncludeText: true,
		})))
		if err != nil {
			t.Fatal(err)
		}
		if got := color.NRGBAModel.Convert(img.At(0, 0)); *ground != *nothing && got != *ground {
			t.Errorf("the ground is %v, want %v", got, *ground)
		} else if _, _, _, alpha := got.RGBA(); *ground == *nothing && alpha != 0 {
			t.Errorf("the ground is %v, want nothing", got)
		}
		if got := color.NRGBAModel.Convert(img.At(4*4, 4*4)); got != *navy {
			t.Errorf("the first module is %v, want %v", got, *navy)
		}
	}
}

// TestSizes holds images to the pixels that are asked for, in both formats.
func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		req           Request
		width, height int
	}{
		{Request{Type: QR, Text: "a", Width: 300}, 300, 290},
		{Request{Type: QR, Text: "a", Height: 300}, 290, 300},
		{Request{Type: QR, Text: "a", Width: 100, Height: 400}, 100, 400},
		{Request{Type: EAN13, Text: "4006381333931", Width: 250, Height: 100, IncludeText: true}, 250, 100},
		{Request{Type: Code39, Text: "A", Height: 45}, 67 * 3, 45},
	} {
		tt.req.Format, tt.req.Scale = PNG, 3
		img, err := png.DecodeConfig(bytes.NewReader(mustMake(t, tt.req)))
		if err != nil || img.Width != tt.width || img.Height != tt.height {
			t.Errorf("%+v: got %d × %d (%v), want %d × %d", tt.req, img.Width, img.Height, err, tt.width, tt.height)
		}
		tt.req.Format = SVG
		if _, err := svgTitle(mustMake(t, tt.req)); err != nil {
			t.Errorf("%+v: %v", tt.req, err)
		}
	}
}
