package barcode

import (
	"bytes"
	"errors"
	"image"
	"slices"
	"strings"
	"testing"
)

// TestContentErrors checks the messages for texts that a type cannot encode.
func TestContentErrors(t *testing.T) {
	tests := []struct {
		typ  Type
		text string
		want string
	}{
		{EAN13, "1234567", `must be 12 digits, or 13 with the check digit, for ean13; got "1234567"`},
		{EAN13, "40063813339O1", `must be 12 digits, or 13 with the check digit, for ean13; got "40063813339O1"`},
		{EAN13, "４００６３８１３３３９３", `must be 12 digits, or 13 with the check digit, for ean13; got "４００６３８１３３３９３"`},
		{EAN13, "4006381333932", `has check digit 2, but 400638133393 has check digit 1. Omit it or correct the number`},
		{UPCA, "0360002914", `must be 11 digits, or 12 with the check digit, for upca; got "0360002914"`},
		{UPCA, "036000291453", `has check digit 3, but 03600029145 has check digit 2. Omit it or correct the number`},
		{UPCA, strings.Repeat("1", 40), `must be 11 digits, or 12 with the check digit, for upca; got "111111111111111111111111…"`},
		{Code39, "abc", `must be digits, capital letters, spaces and - . $ / + % for code39; got "a"`},
		{Code39, "A*B", `must be digits, capital letters, spaces and - . $ / + % for code39; got "*"`},
		{Code39, "AÜ", `must be digits, capital letters, spaces and - . $ / + % for code39; got "Ü"`},
		{Code39, strings.Repeat("A", 49), `must be 1 to 48 characters for code39; got 49`},
		{Code128, "Grüße", `must be ASCII for code128; got "ü"`},
		{Code128, strings.Repeat("1", 81), `must be 1 to 80 characters for code128; got 81`},
		{QR, strings.Repeat("a", 2954), "is too long for a QR Code: at most 7,089 digits, 4,296 characters " +
			"of 0-9 A-Z space $ % * + - . / : or 2,953 bytes; got 2954 bytes"},
		{QR, strings.Repeat("A", 4297), "is too long for a QR Code: at most 7,089 digits, 4,296 characters " +
			"of 0-9 A-Z space $ % * + - . / : or 2,953 bytes; got 4297 bytes"},
		{QR, strings.Repeat("1", 7090), "is too long: qr accepts any UTF-8 text: up to 7,089 digits, 4,296 characters " +
			"of 0-9 A-Z space $ % * + - . / : or 2,953 bytes; got 7090 bytes"},
		{DataMatrix, strings.Repeat("a", 1559), "is too long for a Data Matrix: at most 3,116 digits, " +
			"1,558 ASCII characters or about 1,550 other bytes; got 1559 bytes"},
		{DataMatrix, strings.Repeat("日", 600), "is too long for a Data Matrix: at most 3,116 digits, " +
			"1,558 ASCII characters or about 1,550 other bytes; got 1800 bytes"},
		{PDF417, strings.Repeat("a", 1800), "is too long for a PDF417: at most about 2,500 digits, 1,700 letters or " +
			"1,000 other bytes; got 1800 bytes, which need 901 code words of 862"},
		{QR, "", "must not be empty; qr accepts any UTF-8 text: up to 7,089 digits, 4,296 characters " +
			"of 0-9 A-Z space $ % * + - . / : or 2,953 bytes"},
		{QR, "a\xff", "must be valid UTF-8"},
	}
	for _, tt := range tests {
		_, err := Make(Request{Type: tt.typ, Text: tt.text, Format: PNG, Scale: 3})
		var content *ContentError
		if !errors.As(err, &content) {
			t.Errorf("%s %.30q: got error %v, want a ContentError", tt.typ, tt.text, err)
			continue
		}
		if content.Type != tt.typ || content.Message != tt.want {
			t.Errorf("%s %.30q: got %s %q, want %q", tt.typ, tt.text, content.Type, content.Message, tt.want)
		}
	}
}

// TestCaptionErrors checks the messages for texts that includetext cannot print.
func TestCaptionErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"שלום", "must be Latin, Greek, Cyrillic, Chinese, Japanese or Korean with includetext; got 'ש'"},
		{strings.Repeat("a", 301), "must be at most 300 characters with includetext; got 301"},
	}
	for _, typ := range []Type{QR, DataMatrix, PDF417} {
		for _, tt := range tests {
			_, err := Make(Request{Type: typ, Text: tt.text, Format: SVG, Scale: 3, IncludeText: true})
			var content *ContentError
			if !errors.As(err, &content) || content.Message != tt.want {
				t.Errorf("%s %.10q: got %v, want %q", typ, tt.text, err, tt.want)
			}
			mustMake(t, Request{Type: typ, Text: tt.text, Format: SVG, Scale: 3})
		}
	}
}

func TestRequestErrors(t *testing.T) {
	good := Request{Type: QR, Text: "a", Format: PNG, Scale: 1}
	tests := []struct {
		name   string
		change func(*Request)
		want   error
	}{
		{"type", func(r *Request) { r.Type = "aztec" }, ErrType},
		{"no type", func(r *Request) { r.Type = "" }, ErrType},
		{"format", func(r *Request) { r.Format = "gif" }, ErrFormat},
		{"no scale", func(r *Request) { r.Scale = 0 }, ErrScale},
		{"large scale", func(r *Request) { r.Scale = 11 }, ErrScale},
	}
	for _, tt := range tests {
		req := good
		tt.change(&req)
		if _, err := Make(req); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestScaleKeepsModulesWhole compares each scale with the first one: every
// pixel of that must be a square of its own.
func TestScaleKeepsModulesWhole(t *testing.T) {
	t.Parallel()
	for _, s := range everyVariant(PNG) {
		if s.req.IncludeText {
			continue
		}
		unit := s.req
		unit.Scale = 1
		small := decodePNG(t, mustMake(t, unit))
		large := decodePNG(t, mustMake(t, s.req))
		scale := s.req.Scale
		want := image.NewGray(image.Rect(0, 0, small.Rect.Dx()*scale, small.Rect.Dy()*scale))
		for y := range want.Rect.Dy() {
			for x := range want.Rect.Dx() {
				want.Pix[y*want.Stride+x] = small.Pix[y/scale*small.Stride+x/scale]
			}
		}
		if x, y, same := firstDifference(large, want); !same {
			t.Errorf("%s: differs from scale 1 at %d, %d", s.file, x, y)
		}
	}
}

// TestQuietZones measures the white around the bars, in modules, and what the
// standards ask for. Bar codes need none above and below.
func TestQuietZones(t *testing.T) {
	t.Parallel()
	want := map[Type]margins{
		QR: {4, 4, 4, 4}, Code128: {10, 10, 4, 4}, Code39: {10, 10, 4, 4}, EAN13: {11, 7, 4, 4},
		UPCA: {9, 9, 4, 4}, PDF417: {2, 2, 2, 2}, DataMatrix: {1, 1, 1, 1},
	}
	for _, s := range everyVariant(PNG) {
		if s.req.IncludeText {
			continue
		}
		img := decodePNG(t, mustMake(t, s.req))
		ink := inkBox(img)
		pixels := s.req.Scale
		if s.req.Type == QR || s.req.Type == DataMatrix {
			pixels *= 2
		}
		got := margins{
			ink.Min.X / pixels, (img.Rect.Max.X - ink.Max.X) / pixels,
			ink.Min.Y / pixels, (img.Rect.Max.Y - ink.Max.Y) / pixels,
		}
		if got != want[s.req.Type] {
			t.Errorf("%s: got %+v, want %+v", s.file, got, want[s.req.Type])
		}
	}
}

// inkBox returns the smallest rectangle around all that is not white.
func inkBox(img *image.Gray) image.Rectangle {
	var box image.Rectangle
	for y := range img.Rect.Dy() {
		line := img.Pix[y*img.Stride:][:img.Rect.Dx()]
		dark := func(grey byte) bool { return grey != 255 }
		first := slices.IndexFunc(line, dark)
		if first < 0 {
			continue
		}
		end := len(line)
		for !dark(line[end-1]) {
			end--
		}
		box = box.Union(image.Rect(first, y, end, y+1))
	}
	return box
}

// TestTextLeavesSymbolAlone checks that text changes nothing above itself but
// the width, and that it stays out of the quiet zone below matrix codes.
func TestTextLeavesSymbolAlone(t *testing.T) {
	t.Parallel()
	tops := map[Type]int{EAN13: 69, UPCA: 69, Code128: 50, Code39: 50}
	for _, s := range everyVariant(PNG) {
		if !s.req.IncludeText {
			continue
		}
		with := decodePNG(t, mustMake(t, s.req))
		bare := s.req
		bare.IncludeText = false
		without := decodePNG(t, mustMake(t, bare))
		height := without.Rect.Dy() // matrix codes with their quiet zone
		if modules, ok := tops[s.req.Type]; ok {
			height = (barMargin + modules) * s.req.Scale
		}
		left := (with.Rect.Dx() - without.Rect.Dx()) / 2
		for y := range height {
			got := with.Pix[y*with.Stride+left:][:without.Rect.Dx()]
			if want := without.Pix[y*without.Stride:][:without.Rect.Dx()]; !bytes.Equal(got, want) {
				t.Fatalf("%s: text changed the symbol on line %d", s.file, y)
			}
		}
		if below := inkBox(with); below.Max.Y <= height {
			t.Errorf("%s: no text below the symbol", s.file)
		} else if below.Max.Y > with.Rect.Max.Y-s.req.Scale {
			t.Errorf("%s: the text touches the edge", s.file)
		}
	}
}

// TestEANLayout checks where digits and guard bars are: the first digit of EAN-13 left of
// the bars, the outer digits of UPC-A outside and smaller, and the guards next to the
// digits.
func TestEANLayout(t *testing.T) {
	const scale = 10
	below := (barMargin + eanBarHeight) * scale // where digits and guards are
	column := func(img *image.Gray, from, to int) image.Rectangle {
		part := image.Rect(from*scale, below, to*scale, img.Rect.Max.Y)
		box := inkBox(toOrigin(img, part))
		return box.Add(part.Min)
	}
	ean := decodePNG(t, mustMake(t, Request{Type: EAN13, Text: "4006381333931", Format: PNG, Scale: scale, IncludeText: true}))
	upc := decodePNG(t, mustMake(t, Request{Type: UPCA, Text: "036000291452", Format: PNG, Scale: scale, IncludeText: true}))

	if box := column(ean, 0, 9); box.Empty() {
		t.Error("EAN-13 has no digit left of the bars")
	}
	if box := column(ean, 11+95, 11+95+7); !box.Empty() {
		t.Errorf("EAN-13 has ink at %v, right of the bars", box)
	}
	outer, inner := column(upc, 0, 8), column(upc, 9+11, 9+17)
	if outer.Empty() || column(upc, 9+95+1, 9+95+9).Empty() {
		t.Error("UPC-A lacks a digit outside the bars")
	}
	if got, want := float64(outer.Dy()), 0.75*float64(inner.Dy()); got < want-3 || got > want+3 {
		t.Errorf("the outer digit of UPC-A is %v pixels high, want %v", got, want)
	}
	for name, guard := range map[string]image.Rectangle{
		"EAN-13 left": column(ean, 11, 14), "EAN-13 centre": column(ean, 11+46, 11+49), "EAN-13 right": column(ean, 11+92, 11+95),
		"UPC-A left": column(upc, 9, 12), "UPC-A first digit": column(upc, 12, 19), "UPC-A last digit": column(upc, 9+85, 9+92),
	} {
		if got, want := guard.Max.Y-below, eanGuardDrop*scale; got != want {
			t.Errorf("%s guard: got %d pixels below the bars, want %d", name, got, want)
		}
	}
}

// toOrigin copies a part of an image.
func toOrigin(img *image.Gray, part image.Rectangle) *image.Gray {
	out := image.NewGray(image.Rect(0, 0, part.Dx(), part.Dy()))
	for y := range part.Dy() {
		for x := range part.Dx() {
			out.SetGray(x, y, img.GrayAt(part.Min.X+x, part.Min.Y+y))
		}
	}
	return out
}

// TestTypesAreDescribed holds the table that the public schema is made from.
func TestTypesAreDescribed(t *testing.T) {
	want := []Type{QR, Code128, Code39, EAN13, UPCA, PDF417, DataMatrix}
	got := types()
	if len(got) != len(want) {
		t.Fatalf("got %d types, want %d", len(got), len(want))
	}
	for i, info := range got {
		if info.Type != want[i] {
			t.Errorf("type %d: got %s, want %s", i, info.Type, want[i])
		}
		if info.Title == "" || info.Summary == "" || info.Content == "" {
			t.Errorf("%s is not described: %+v", info.Type, info)
		}
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		text string
		want string // lines, joined by |
	}{
		{"short", "short"},
		{"1234567890", "1234567890"},
		{"12345678901", "1234567890|1"},
		{"two words and more", "two words|and more"},
		{"a\nb", "a|b"},
		{"tab\there", "tab here"},
		{"äöüäöüäöüäöü", "äöüäöüäöüä|öü"},
	}
	for _, tt := range tests {
		if got := strings.Join(wrap(tt.text, 10, func(rune) float64 { return 1 }), "|"); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

// BenchmarkMake is one barcode of each type as customers order it, and the
// slowest that they can order.
func BenchmarkMake(b *testing.B) {
	requests := map[string]Request{
		"qr":               {Type: QR, Text: "https://example.com/a?b=c", Format: PNG, Scale: 3},
		"qr/text":          {Type: QR, Text: "https://example.com/a?b=c", Format: PNG, Scale: 3, IncludeText: true},
		"qr/svg":           {Type: QR, Text: "https://example.com/a?b=c", Format: SVG, Scale: 3},
		"qr/longest":       {Type: QR, Text: prose(2953), Format: PNG, Scale: 10},
		"code128":          {Type: Code128, Text: "Hello-128", Format: PNG, Scale: 3, IncludeText: true},
		"code128/svg":      {Type: Code128, Text: "Hello-128", Format: SVG, Scale: 3, IncludeText: true},
		"code128/longest":  {Type: Code128, Text: prose(80), Format: PNG, Scale: 10, IncludeText: true},
		"code39":           {Type: Code39, Text: "CODE-39", Format: PNG, Scale: 3, IncludeText: true},
		"ean13":            {Type: EAN13, Text: "400638133393", Format: PNG, Scale: 3, IncludeText: true},
		"upca":             {Type: UPCA, Text: "03600029145", Format: PNG, Scale: 3, IncludeText: true},
		"pdf417":           {Type: PDF417, Text: "M1DOE/JOHN            EABC123 FRAJFKAF 0006 123Y001A0001", Format: PNG, Scale: 3},
		"pdf417/longest":   {Type: PDF417, Text: prose(1400), Format: PNG, Scale: 10},
		"datamatrix":       {Type: DataMatrix, Text: "A1B2C3D4E5F6G7H8I9J0", Format: PNG, Scale: 3},
		"datamatrix/most":  {Type: DataMatrix, Text: prose(1558), Format: PNG, Scale: 10},
		"datamatrix/utf-8": {Type: DataMatrix, Text: "Grüße, 日本語", Format: PNG, Scale: 3},
	}
	for name, req := range requests {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustMake(b, req)
			}
		})
	}
}
