package barcode

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// zxingNames are the types as ZXing calls them.
var zxingNames = map[Type]string{
	QR: "QRCode", Code128: "Code128", Code39: "Code39", EAN13: "EAN-13",
	UPCA: "UPC-A", PDF417: "PDF417", DataMatrix: "DataMatrix",
}

// zxingControls are the names that ZXing prints for control characters.
var zxingControls = strings.Fields("NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI " +
	"DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US")

var (
	zxingLine   = regexp.MustCompile(`^(\S+) (\S+)(?: "(.*)")?$`)
	zxingEscape = regexp.MustCompile(`<(?:U\+([0-9A-F]+)|([A-Z][A-Z0-9]+))>`)
)

// sample is an image file and what ZXing must read in it.
type sample struct {
	file string
	req  Request
	want string // where it is not req.Text
}

// expected returns the text in the code.
func (s *sample) expected() string {
	if s.want != "" {
		return s.want
	}
	return s.req.Text
}

// decodeAll has ZXing read all samples, without a word about what they are.
func decodeAll(t *testing.T, dir string, samples []sample) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// ZXing 1.4 would also look at a smaller copy of a large image, and aborts
	// where it finds the same bars in both.
	args := []string{"-1", "-noscale"}
	for _, s := range samples {
		args = append(args, s.file)
	}
	cmd := exec.CommandContext(ctx, "ZXingReader", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("ZXingReader (Debian: zxing-cpp-tools; .ci/setup test installs it): %v %s", err, stderr.String())
	}
	type read struct{ name, text string }
	got := map[string]read{}
	for line := range strings.Lines(string(out)) {
		m := zxingLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			t.Fatalf("ZXing printed %q", line)
		}
		got[m[1]] = read{m[2], zxingUnescape(m[3])}
	}
	for _, s := range samples {
		want := read{zxingNames[s.req.Type], s.expected()}
		if got[s.file] != want {
			t.Errorf("%s: ZXing read %s, want %s (%+v)", s.file, abbreviate(got[s.file]), abbreviate(want), s.req.Scale)
		}
	}
}

func abbreviate(v any) string {
	s := fmt.Sprintf("%+q", v)
	if len(s) > 120 {
		s = s[:120] + "…"
	}
	return s
}

func zxingUnescape(text string) string {
	return zxingEscape.ReplaceAllStringFunc(text, func(escape string) string {
		m := zxingEscape.FindStringSubmatch(escape)
		if m[1] != "" {
			code, err := strconv.ParseUint(m[1], 16, 32)
			if err != nil {
				return escape
			}
			return string(rune(code))
		}
		for i, name := range zxingControls {
			if name == m[2] {
				return string(rune(i))
			}
		}
		if m[2] == "DEL" {
			return "\x7f"
		}
		return escape
	})
}

// mustMake draws a barcode that must be possible.
func mustMake(tb testing.TB, req Request) []byte {
	tb.Helper()
	out, err := Make(req)
	if err != nil {
		tb.Fatalf("Make(%+v): %v", req, err)
	}
	return out
}

// everyVariant lists each type × scale × text on and off, in one format.
func everyVariant(format Format) []sample {
	texts := map[Type]string{
		QR: "https://example.com/a?b=c&d=+49", Code128: "Hello-128 4711", Code39: "CODE-39 $/+%.",
		EAN13: "4006381333931", UPCA: "036000291452", PDF417: "PDF417: Hello, 12345!", DataMatrix: "Data Matrix 123456",
	}
	var samples []sample
	for _, info := range types() {
		for scale := MinScale; scale <= MaxScale; scale++ {
			for _, label := range []bool{false, true} {
				samples = append(samples, sample{
					file: fmt.Sprintf("%s-%d-%t.png", info.Type, scale, label),
					req:  Request{Type: info.Type, Text: texts[info.Type], Format: format, Scale: scale, IncludeText: label},
				})
			}
		}
	}
	return samples
}

func writeSamples(t *testing.T, dir string, samples []sample) {
	t.Helper()
	for _, s := range samples {
		if err := os.WriteFile(filepath.Join(dir, s.file), mustMake(t, s.req), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestZXingReadsPNG covers each type × scale × text as PNG.
func TestZXingReadsPNG(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	samples := everyVariant(PNG)
	writeSamples(t, dir, samples)
	decodeAll(t, dir, samples)
}

// TestZXingReadsEverySize covers each version of QR Code, each size of Data
// Matrix and PDF417 from one word to the last, with all levels between.
func TestZXingReadsEverySize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var samples []sample
	add := func(typ Type, n int, text string) {
		samples = append(samples, sample{
			file: fmt.Sprintf("%s-%04d.png", typ, n),
			req:  Request{Type: typ, Text: text, Format: PNG, Scale: 2},
		})
	}
	for version := 1; version <= qrVersions; version++ {
		// A level higher than medium may take what is left.
		add(QR, version, prose(qrDataWords(version, qrMedium)-3))
	}
	for _, size := range dataMatrixSizes {
		add(DataMatrix, size.side, prose(size.data))
	}
	for n := 1; n < 1400; n += n/4 + 1 {
		add(PDF417, n, prose(n))
	}
	writeSamples(t, dir, samples)
	decodeAll(t, dir, samples)
}

// prose returns n characters of ASCII without pairs of digits.
func prose(n int) string {
	const text = "The quick brown fox, 5% faster, jumps over 1 lazy dog! "
	return strings.Repeat(text, n/len(text)+1)[:n]
}

// TestZXingReadsContents covers what the types can hold: all of ASCII, other
// scripts, mixtures that change modes, and the longest texts.
func TestZXingReadsContents(t *testing.T) {
	t.Parallel()
	var ascii strings.Builder
	for b := range byte(128) {
		ascii.WriteByte(b)
	}
	contents := map[Type][]string{
		QR: {
			"0", "+49170123456", "-12", "007", "A", "A B$%*+-./:", "a", ascii.String(), "ü", "Grüße, 日本語 😀", "語", "Ωμέγα Привет שלום",
			strings.Repeat("7", 7089), strings.Repeat("A1", 2148), prose(2953), strings.Repeat("日", 983), "BEGIN:VCARD\r\nN:Müller\r\nEND:VCARD",
		},
		DataMatrix: {
			"0", "00", "123", "+49170123456", "A", ascii.String(), "ü", "üa", "aü1", "Grüße, 日本語 😀", "語", "Ωμέγα Привет שלום",
			strings.Repeat("7", 3116), prose(1558), strings.Repeat("ü", 124), strings.Repeat("ü", 125), strings.Repeat("ü", 776),
		},
		PDF417: {
			"0", "A", "a", "aB", "aBC", "1a;B", "a;;b", ";", "A;1;a", ascii.String(), "ü", "Grüße, 日本語 😀", "語", "Ωμέγα Привет שלום",
			"0001234567890123", strings.Repeat("0", 45), "ab" + strings.Repeat("9", 50) + "cd", strings.Repeat("ü", 3), strings.Repeat("ü", 510),
			strings.Repeat("7", 2500), prose(1400), strings.Repeat("abcde\x01", 100), "\x00", "[a]{B}<1>",
		},
		Code128: {
			"0", "00", "123", "1234", "a1234", "12345a", "\x00", "\x01a\x02B12", "A\tb\nC", ascii.String()[:64], ascii.String()[64:],
			strings.Repeat("aB", 40), strings.Repeat("7", 80), "~", "<&\">",
		},
		Code39: {"0", "A", "$+/%", "-. $/+%", strings.Repeat("AB-4", 12), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	}
	dir := t.TempDir()
	var samples []sample
	for typ, texts := range contents {
		for i, text := range texts {
			samples = append(samples, sample{
				file: fmt.Sprintf("%s-%d.png", typ, i),
				req:  Request{Type: typ, Text: text, Format: PNG, Scale: 2},
			})
		}
	}
	writeSamples(t, dir, samples)
	decodeAll(t, dir, samples)
}

// TestZXingReadsCaptions covers the lines below matrix codes, which must not
// keep a reader from finding the symbol.
func TestZXingReadsCaptions(t *testing.T) {
	t.Parallel()
	texts := []string{
		"0", "0000 00000000000000000", "0000000000000000000000", "https://example.com/a?b=c", "Zoë Müller\nΑθήνα",
		"WIFI:T:WPA;S:Gäste;P:geheim;;", "東京都千代田区 서울 北京", strings.Repeat("1", 40), prose(120), prose(300),
	}
	dir := t.TempDir()
	var samples []sample
	for _, typ := range []Type{QR, PDF417, DataMatrix} {
		for i, text := range texts {
			for _, scale := range []int{1, 2, 3} {
				samples = append(samples, sample{
					file: fmt.Sprintf("%s-%d-%d.png", typ, i, scale),
					req:  Request{Type: typ, Text: text, Format: PNG, Scale: scale, IncludeText: true},
				})
			}
		}
	}
	writeSamples(t, dir, samples)
	decodeAll(t, dir, samples)
}

// TestZXingReadsDigits covers check digits, added and compared, for each first
// digit, which the number sets of EAN-13 hold.
func TestZXingReadsDigits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var samples []sample
	for first := range 10 {
		number := fmt.Sprintf("%d98765432106", first)
		full := number + string(checkDigit(number))
		ean := sample{fmt.Sprintf("ean-%d.png", first), Request{Type: EAN13, Text: number, Format: PNG, Scale: 2, IncludeText: true}, full}
		if first == 0 {
			// The same bars are a UPC-A, and that is what ZXing says.
			ean.req.Type, ean.req.Text, ean.want = UPCA, number[1:], full[1:]
		}
		samples = append(samples, ean)
		number = fmt.Sprintf("%d1234567890", first)
		full = number + string(checkDigit(number))
		samples = append(samples,
			sample{fmt.Sprintf("upc-%d.png", first), Request{Type: UPCA, Text: number, Format: PNG, Scale: 2}, full},
			sample{fmt.Sprintf("upc-full-%d.png", first), Request{Type: UPCA, Text: full, Format: PNG, Scale: 2}, full})
	}
	writeSamples(t, dir, samples)
	decodeAll(t, dir, samples)
}

// decodePNG reads an image, which must be grey.
func decodePNG(tb testing.TB, data []byte) *image.Gray {
	tb.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	grey, ok := img.(*image.Gray)
	if !ok {
		tb.Fatalf("got %T, want a grey image", img)
	}
	return grey
}
