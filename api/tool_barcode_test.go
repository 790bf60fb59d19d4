package api_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
)

// barcodeServer starts the whole product without a renderer: barcodes need none.
func barcodeServer(tb testing.TB) *apitest.Server {
	tb.Helper()
	return apitest.New(tb, apitest.Options{Operations: operation.Rows, Change: func(cfg *apitest.Settings) { cfg.NoRateLimits = true }})
}

// scan returns the kind and the text of a barcode, as ZXing prints
// them.
func scan(t *testing.T, image string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "code.png")
	if err := os.WriteFile(path, []byte(image), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "ZXingReader", "-1", path).CombinedOutput()
	if err != nil {
		t.Fatalf("ZXingReader: %v\n%s", err, out)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), path))
}

func TestBarcodes(t *testing.T) {
	t.Parallel()
	s := barcodeServer(t)
	before, _ := s.Balance(t)
	tests := []struct{ body, want string }{
		{`{"type":"qr","text":"+49 30 901820"}`, `QRCode "+49 30 901820"`},
		{`{"type":"qr","text":"Grüße, 日本","scale":10}`, `QRCode "Gr<U+FC><U+DF>e, <U+65E5><U+672C>"`},
		{`{"type":"code128","text":"Hello-128","scale":2,"includetext":true}`, `Code128 "Hello-128"`},
		{`{"type":"code39","text":"CODE-39"}`, `Code39 "CODE-39"`},
		{`{"type":"ean13","text":"400638133393","includetext":true}`, `EAN-13 "4006381333931"`},
		{`{"type":"upca","text":"036000291452"}`, `UPC-A "036000291452"`},
		{`{"type":"pdf417","text":"Zoë"}`, `PDF417 "Zo<U+EB>"`},
		{`{"type":"datamatrix","text":"Zoë"}`, `DataMatrix "Zo<U+EB>"`},
		{`{"type":"qr","text":"H","eclevel":"H","color":"navy","background":"#fffdd0","quietZone":6,"width":300}`, `QRCode "H"`},
		{`{"type":"code128","text":"(01)09506000134352(10)A1","gs1":true,"includetext":true,"height":120}`, `Code128 "010950600013435210A1"`},
	}
	for _, test := range tests {
		answer := s.Send(t, apitest.Request{Path: "/v1/barcodes", Body: test.body}).OK(t)
		if got := scan(t, answer.Body); got != test.want {
			t.Errorf("%s: ZXing read %s, want %s", test.body, got, test.want)
		}
		if got := answer.Header.Get("Content-Type"); got != "image/png" {
			t.Errorf("type %q", got)
		}
	}
	if after, held := s.Balance(t); before-after != int64(100*len(tests)) || held != 0 {
		t.Errorf("%d calls cost %d and hold %d, want 100 each", len(tests), before-after, held)
	}
}

func TestBarcodeFormats(t *testing.T) {
	t.Parallel()
	s := barcodeServer(t)
	for _, test := range []struct{ fields, file, contentType, begin string }{
		{``, "barcode.png", "image/png", "\x89PNG"},
		{`,"format":"png","filename":"x"`, "x.png", "image/png", "\x89PNG"},
		{`,"format":"svg","filename":"a/x.svg"`, "x.svg", "image/svg+xml", "<svg"},
	} {
		answer := s.Send(t, apitest.Request{Path: "/v1/barcodes", Body: `{"type":"qr","text":"<&>"` + test.fields + `}`}).OK(t)
		if got, want := answer.Header.Get("Content-Disposition"), `attachment; filename="`+test.file+`"`; !strings.HasPrefix(got, want) {
			t.Errorf("disposition %q, want %q", got, want)
		}
		if got := answer.Header.Get("Content-Type"); got != test.contentType || !strings.Contains(answer.Body[:min(200, len(answer.Body))], test.begin) {
			t.Errorf("%s: type %q, begins %.20q", test.file, got, answer.Body)
		}
	}
	// A scale of 3 is the default.
	size := func(fields string) int {
		return len(s.Send(t, apitest.Request{Path: "/v1/barcodes", Body: `{"type":"qr","text":"x"` + fields + `}`}).OK(t).Body)
	}
	if size("") != size(`,"scale":3`) || size("") == size(`,"scale":4`) {
		t.Error("the default of scale is not 3")
	}
	file := fileURL(t, s.Send(t, apitest.Request{Path: "/v1/barcodes", Body: `{"type":"qr","text":"x","response":"url"}`}))
	if got := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + file.ID}).OK(t); scan(t, got.Body) != `QRCode "x"` {
		t.Errorf("the file reads %s", scan(t, got.Body))
	}
}

func TestBarcodesFail(t *testing.T) {
	t.Parallel()
	s := barcodeServer(t)
	before, _ := s.Balance(t)
	for _, test := range []struct {
		body string
		want wire.Detail
	}{
		{`{"text":"x"}`, wire.Detail{Field: "type", Message: "is required"}},
		{`{"type":"aztec","text":"x"}`, wire.Detail{Field: "type", Message: `must be one of qr, code128, code39, ean13, upca, pdf417, datamatrix; got "aztec"`}},
		{`{"type":"qr"}`, wire.Detail{Field: "text", Message: "is required"}},
		{`{"type":"qr","text":""}`, wire.Detail{Field: "text", Message: `must be a string of 1 to 7089 characters; got ""`}},
		{`{"type":"qr","text":"` + strings.Repeat("x", 2954) + `"}`, wire.Detail{Field: "text", Message: "is too long for a QR Code: at most 7,089 digits, 4,296 characters " +
			"of 0-9 A-Z space $ % * + - . / : or 2,953 bytes; got 2954 bytes"}},
		{`{"type":"qr","text":"ש","includetext":true}`, wire.Detail{Field: "text",
			Message: "must be Latin, Greek, Cyrillic, Chinese, Japanese or Korean with includetext; got 'ש'"}},
		{`{"type":"ean13","text":"4006381333931","eclevel":"H"}`, wire.Detail{Field: "eclevel", Message: "requires type qr or pdf417"}},
		{`{"type":"qr","text":"x","gs1":true}`, wire.Detail{Field: "gs1", Message: "requires type code128 or datamatrix"}},
		{`{"type":"qr","text":"x","color":"bleu"}`, wire.Detail{Field: "color", Message: `must be a CSS colour such as #c00, #cc0000 or crimson; got "bleu"`}},
		{`{"type":"qr","text":"x","color":"#eee"}`, wire.Detail{Field: "color", Message: "must have more contrast with background, so scanners can read the code"}},
		{`{"type":"qr","text":"x","width":20}`, wire.Detail{Field: "width", Message: "must be at least 29 pixels for this code"}},
		{`{"type":"ean13","text":"123"}`, wire.Detail{Field: "text", Message: `must be 12 digits, or 13 with the check digit, for ean13; got "123"`}},
		{`{"type":"ean13","text":"4006381333932"}`, wire.Detail{Field: "text", Message: "has check digit 2, but 400638133393 has check digit 1. Omit it or correct the number"}},
		{`{"type":"upca","text":"x"}`, wire.Detail{Field: "text", Message: `must be 11 digits, or 12 with the check digit, for upca; got "x"`}},
		{`{"type":"code39","text":"abc"}`, wire.Detail{Field: "text", Message: `must be digits, capital letters, spaces and - . $ / + % for code39; got "a"`}},
		{`{"type":"code128","text":"ü"}`, wire.Detail{Field: "text", Message: `must be ASCII for code128; got "ü"`}},
		{`{"type":"qr","text":"x","scale":11}`, wire.Detail{Field: "scale", Message: "must be between 1 and 10; got 11"}},
		{`{"type":"qr","text":"x","scale":0}`, wire.Detail{Field: "scale", Message: "must be between 1 and 10; got 0"}},
		{`{"type":"qr","text":"x","format":"gif"}`, wire.Detail{Field: "format", Message: `must be one of png, svg; got "gif"`}},
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/barcodes", Body: test.body}).Refused(t, wire.InvalidRequest)
		if want := []wire.Detail{test.want}; !reflect.DeepEqual(failure.Details, want) {
			t.Errorf("%.60s: details %+v, want %+v", test.body, failure.Details, want)
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("failed calls cost %d and hold %d, want nothing", before-after, held)
	}
}

// BenchmarkBarcodes measures calls through HTTP, four at once for each core, with
// the ledger on SQLite.
func BenchmarkBarcodes(b *testing.B) {
	s := barcodeServer(b)
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			s.Send(b, apitest.Request{Path: "/v1/barcodes", Body: fmt.Sprintf(`{"type":"qr","text":"https://example.com/%d"}`, i)}).OK(b)
		}
	})
}
