package barcode

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// FuzzMake draws any text in any type: nothing panics, what is refused is
// refused with a ContentError, and what is accepted is well-formed SVG and a
// PNG that ZXing reads.
func FuzzMake(f *testing.F) {
	for i := range types() {
		for _, text := range []string{"", "A", "0", "4006381333931", "036000291452", "12345678901", "a1;\x00ü日😀", "+49 170", "PDF417 code, 12345678901234"} {
			f.Add(uint8(i), text, true)
		}
	}
	f.Fuzz(func(t *testing.T, index uint8, text string, label bool) {
		infos := types()
		typ := infos[int(index)%len(infos)].Type
		req := Request{Type: typ, Text: text, Format: SVG, Scale: 1, IncludeText: label}
		svg, err := Make(req)
		if err != nil {
			var content *ContentError
			if !errors.As(err, &content) || content.Type != typ || content.Message == "" {
				t.Fatalf("%s of %q: got %v, want a ContentError", typ, text, err)
			}
			return
		}
		if _, err := svgTitle(svg); err != nil {
			t.Fatalf("%s of %q: %v", typ, text, err)
		}
		req.Format, req.Scale, req.IncludeText = PNG, 2, false
		want := text
		switch typ {
		case EAN13:
			want = text[:12] + string(checkDigit(text[:12]))
		case UPCA:
			want = text[:11] + string(checkDigit(text[:11]))
		case QR, Code128, Code39, PDF417, DataMatrix:
		}
		if got := decodeBytes(t, mustMake(t, req), zxingNames[typ]); got != want {
			t.Errorf("%s of %q: ZXing read %q", typ, text, got)
		}
	})
}

// decodeBytes has ZXing read one image, byte by byte as it is encoded. Passing the type
// keeps it from taking an EAN-13 with a leading zero for a UPC-A.
func decodeBytes(t *testing.T, png []byte, format string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "code.png")
	if err := os.WriteFile(file, png, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ZXingReader", "-bytes", "-noscale", "-format", format, file).Output()
	if err != nil {
		t.Errorf("ZXing: %v", err)
	}
	return string(out)
}
