package barcode

import (
	mathbits "math/bits"
	"slices"
	"testing"
)

// The examples of the standards, word by word.

// TestQRExample is annex I of ISO/IEC 18004: 01234567 in version 1, level M.
func TestQRExample(t *testing.T) {
	seg := newQRSegment("01234567")
	if got := seg.version(qrMedium); got != 1 {
		t.Fatalf("got version %d, want 1", got)
	}
	got := qrInterleave(seg.codewords(1, qrMedium), 1, qrMedium)
	want := []byte{
		0x10, 0x20, 0x0C, 0x56, 0x61, 0x80, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11,
		0xA5, 0x24, 0xD4, 0xC1, 0xED, 0x36, 0xC7, 0x87, 0x2C, 0x55,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got % X, want % X", got, want)
	}
}

// TestQRCheckBits holds the format and version information of tables C.1 and
// D.1 of ISO/IEC 18004.
func TestQRCheckBits(t *testing.T) {
	if got, want := bch(0b00101, 10, 0x537)^0x5412, 0b100000011001110; got != want {
		t.Errorf("format of level M, mask 5: got %015b, want %015b", got, want)
	}
	if got, want := bch(7, 12, 0x1F25), 0b000111110010010100; got != want {
		t.Errorf("version 7: got %018b, want %018b", got, want)
	}
	if got, want := bch(40, 12, 0x1F25), 0b101000110001101001; got != want {
		t.Errorf("version 40: got %018b, want %018b", got, want)
	}
}

// TestQRCapacity holds some of table 1 and 7 of ISO/IEC 18004.
func TestQRCapacity(t *testing.T) {
	tests := []struct {
		version           int
		total, low, high  int
		alignmentPatterns []int
	}{
		{1, 26, 19, 9, nil},
		{2, 44, 34, 16, []int{6, 18}},
		{7, 196, 156, 66, []int{6, 22, 38}},
		{32, 2465, 1955, 845, []int{6, 34, 60, 86, 112, 138}},
		{36, 3034, 2434, 1054, []int{6, 24, 50, 76, 102, 128, 154}},
		{40, 3706, 2956, 1276, []int{6, 30, 58, 86, 114, 142, 170}},
	}
	for _, tt := range tests {
		if got := qrTotalWords(tt.version); got != tt.total {
			t.Errorf("version %d: got %d words, want %d", tt.version, got, tt.total)
		}
		if got := qrDataWords(tt.version, qrLow); got != tt.low {
			t.Errorf("version %d-L: got %d data words, want %d", tt.version, got, tt.low)
		}
		if got := qrDataWords(tt.version, qrHigh); got != tt.high {
			t.Errorf("version %d-H: got %d data words, want %d", tt.version, got, tt.high)
		}
		if got := qrAlignment(tt.version); !slices.Equal(got, tt.alignmentPatterns) {
			t.Errorf("version %d: got patterns at %v, want %v", tt.version, got, tt.alignmentPatterns)
		}
	}
}

// TestQRLevelUsesTheRoom shows that what a version leaves goes into a higher
// level, and that only the longest texts get a lower one.
func TestQRLevelUsesTheRoom(t *testing.T) {
	tests := []struct {
		text string
		side int
	}{
		{"1", 21}, {prose(14), 21}, {prose(15), 25}, {prose(2331), 177}, {prose(2332), 161},
	}
	for _, tt := range tests {
		s, err := encodeQR(&Request{Text: tt.text})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.rows); got != tt.side {
			t.Errorf("%d characters: got %d modules, want %d", len(tt.text), got, tt.side)
		}
	}
}

// TestDataMatrixExample is annex O of ISO/IEC 16022: 123456 in ten modules.
func TestDataMatrixExample(t *testing.T) {
	words := dataMatrixWords("123456")
	words = append(words, dataMatrixCheck(words, dataMatrixSizes[0])...)
	if want := []byte{142, 164, 186, 114, 25, 5, 88, 102}; !slices.Equal(words, want) {
		t.Errorf("got %v, want %v", words, want)
	}
}

// TestPDF417Example is annex Q of ISO/IEC 15438: PDF417 at level 1.
func TestPDF417Example(t *testing.T) {
	words := append([]int{5}, pdf417Words("PDF417")...)
	words = append(words, pdf417Check(words, pdf417CheckWords(1))...)
	if want := []int{5, 453, 178, 121, 239, 452, 327, 657, 619}; !slices.Equal(words, want) {
		t.Errorf("got %v, want %v", words, want)
	}
}

func TestPDF417Compaction(t *testing.T) {
	tests := []struct {
		name, text string
		want       []int
	}{
		// The example of clause 5.4.4.
		{"numeric", "000213298174000", []int{902, 1, 624, 434, 632, 282, 200}},
		{"six bytes", "\x01\x02\x03\x04\x05\x06", []int{924, 1, 620, 89, 74, 846}},
		{"text", "Ab1;a B", []int{0*30 + 27, 1*30 + 28, 1*30 + 29, 0*30 + 27, 0*30 + 26, 27*30 + 1}},
		{"ECI", "é", []int{927, 26, 901, 0xC3, 0xA9}},
	}
	for _, tt := range tests {
		if got := pdf417Words(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestPDF417Bytes is the example of clause 5.4.3 of ISO/IEC 15438.
func TestPDF417Bytes(t *testing.T) {
	tests := map[string][]int{
		"alcool":     {924, 163, 238, 432, 766, 244},
		"alcoolique": {901, 163, 238, 432, 766, 244, 105, 113, 117, 101},
	}
	for text, want := range tests {
		if got := pdf417AppendBytes(nil, text); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// TestPDF417Level is table E.1 of ISO/IEC 15438.
func TestPDF417Level(t *testing.T) {
	for words, want := range map[int]int{1: 2, 40: 2, 41: 3, 160: 3, 161: 4, 320: 4, 321: 5, 863: 5} {
		if got := pdf417Level(words); got != want {
			t.Errorf("%d words: got level %d, want %d", words, got, want)
		}
	}
}

// TestPDF417Shape keeps each number of words inside the limits of the symbol.
func TestPDF417Shape(t *testing.T) {
	for words := 2; words <= pdf417MaxData; words++ {
		level := pdf417Level(words)
		need := words + pdf417CheckWords(level)
		s := newPDF417Shape(words, level)
		switch room := s.rows * s.cols; {
		case s.rows < pdf417MinRows || s.rows > pdf417MaxRows || s.cols < 1 || s.cols > pdf417MaxCols:
			t.Fatalf("%d words: got %d rows and %d columns", words, s.rows, s.cols)
		case room < need || room > pdf417MaxWords:
			t.Fatalf("%d words: %d rows of %d hold %d, want %d to %d", words, s.rows, s.cols, room, need, pdf417MaxWords)
		}
	}
}

// TestPDF417Patterns checks the table against the rules that it follows: four
// bars and four spaces of one to six modules, whose bars tell the cluster, no
// pattern twice.
func TestPDF417Patterns(t *testing.T) {
	for cluster, patterns := range pdf417Patterns() {
		seen := map[uint16]int{}
		for value, pattern := range patterns {
			if other, twice := seen[pattern]; twice {
				t.Errorf("cluster %d: %d and %d are the same", 3*cluster, other, value)
			}
			seen[pattern] = value
			widths := runWidths(1<<16 | uint32(pattern))
			if len(widths) != 8 || slices.Max(widths) > 6 {
				t.Fatalf("cluster %d: %d has the widths %v", 3*cluster, value, widths)
			}
			if got := (widths[0] - widths[2] + widths[4] - widths[6] + 9) % 9; got != 3*cluster {
				t.Errorf("cluster %d: %d says that it is of cluster %d", 3*cluster, value, got)
			}
		}
	}
}

// runWidths returns the widths of bars and spaces of a pattern, from its
// highest bit on.
func runWidths(pattern uint32) []int {
	var widths []int
	last := uint32(2)
	for i := mathbits.Len32(pattern) - 1; i >= 0; i-- {
		if bit := pattern >> i & 1; bit != last {
			widths = append(widths, 1)
			last = bit
			continue
		}
		widths[len(widths)-1]++
	}
	return widths
}

// TestCode128Patterns checks the table of Code 128: eleven modules, of which an
// even number is dark, no pattern twice.
func TestCode128Patterns(t *testing.T) {
	seen := map[string]bool{}
	for value, pattern := range code128Patterns[:code128Stop] {
		sum, dark := 0, 0
		for i, w := range pattern {
			sum += int(w - '0')
			if i%2 == 0 {
				dark += int(w - '0')
			}
		}
		if len(pattern) != 6 || sum != 11 || dark%2 != 0 || seen[pattern] {
			t.Errorf("value %d has the pattern %s", value, pattern)
		}
		seen[pattern] = true
	}
}

// TestCode39Patterns checks the table of Code 39: three of nine are wide.
func TestCode39Patterns(t *testing.T) {
	seen := map[string]bool{}
	for i, pattern := range code39Patterns {
		wide := 0
		for _, e := range pattern {
			wide += int(e - '0')
		}
		if len(pattern) != 9 || wide != 3 || seen[pattern] {
			t.Errorf("%q has the pattern %s", code39Characters[i], pattern)
		}
		seen[pattern] = true
	}
}

// TestCode128IsShort counts the values, with the start character.
func TestCode128IsShort(t *testing.T) {
	tests := []struct {
		text string
		want []byte
	}{
		{"AB", []byte{104, 33, 34}},
		{"1234", []byte{105, 12, 34}},
		{"123", []byte{104, 17, 18, 19}},       // changing sets would not be shorter
		{"12345", []byte{104, 17, 99, 23, 45}}, // as long as the other way round
		{"a123456", []byte{104, 65, 99, 12, 34, 56}},
		{"\x01\x02", []byte{103, 65, 66}},
		{"\x01a", []byte{103, 65, 100, 65}},
	}
	for _, tt := range tests {
		if got := code128Values(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestCheckDigit(t *testing.T) {
	for number, want := range map[string]byte{
		"400638133393": '1', "590123412345": '7', "978020137962": '4', "000000000000": '0', "03600029145": '2', "01234567890": '5',
	} {
		if got := checkDigit(number); got != want {
			t.Errorf("%s: got %c, want %c", number, got, want)
		}
	}
}

// TestReedSolomon evaluates words with their check words at the roots of the
// generator, where all must vanish.
func TestReedSolomon(t *testing.T) {
	for name, f := range map[string]struct {
		field *field
		first int
	}{"QR Code": {qrField, 0}, "Data Matrix": {dataMatrixField, 1}} {
		for degree := 1; degree <= 68; degree++ {
			words := []byte(prose(3 * degree))
			words = append(words, f.field.remainder(words, f.field.generator(degree, f.first))...)
			for i := range degree {
				root, sum := f.field.exp[f.first+i], byte(0)
				for _, w := range words {
					sum = f.field.mul(sum, root) ^ w
				}
				if sum != 0 {
					t.Fatalf("%s with %d check words: root %d leaves %d", name, degree, i, sum)
				}
			}
		}
	}
	for level := range 9 {
		words := pdf417Words(prose(200))
		words = append(words, pdf417Check(words, pdf417CheckWords(level))...)
		root := 1
		for i := range pdf417CheckWords(level) {
			root = root * 3 % pdf417Base
			sum := 0
			for _, w := range words {
				sum = (sum*root + w) % pdf417Base
			}
			if sum != 0 {
				t.Fatalf("PDF417 at level %d: root %d leaves %d", level, i+1, sum)
			}
		}
	}
}
