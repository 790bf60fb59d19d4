package barcode

import "strings"

// Code 39 of ISO/IEC 16388, without a check character.

const (
	// maxCode39 is the maximum length that hand scanners can read: 768 modules, about 200 mm in print.
	maxCode39 = 48
	// code39Wide is the width of a wide element; 3 is the most that the
	// standard allows and the easiest to read.
	code39Wide    = 3
	code39Modules = 6 + 3*code39Wide + 1 // of a character and the gap after it
)

const code39Characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-. $/+%*"

// code39Patterns are the five bars and four spaces of each character, wide ones
// as 1, in the order of code39Characters (ISO/IEC 16388, table 1).
var code39Patterns = [44]string{
	"000110100", "100100001", "001100001", "101100000", "000110001", "100110000", "001110000", "000100101",
	"100100100", "001100100", "100001001", "001001001", "101001000", "000011001", "100011000", "001011000",
	"000001101", "100001100", "001001100", "000011100", "100000011", "001000011", "101000010", "000010011",
	"100010010", "001010010", "000000111", "100000110", "001000110", "000010110", "110000001", "011000001",
	"111000000", "010010001", "110010000", "011010000", "010000101", "110000100", "011000100", "010101000",
	"010100010", "010001010", "000101010", "010010100",
}

// encodeCode39 makes a Code 39 with its start and stop characters, the
// asterisks, which belong to the code and not to the text below it.
func encodeCode39(req *Request) (*symbol, error) {
	text := req.Text
	unknown := func(r rune) bool { return r == '*' || !strings.ContainsRune(code39Characters, r) }
	if i := strings.IndexFunc(text, unknown); i >= 0 {
		return nil, contentErrorf(Code39, "must be digits, capital letters, spaces and - . $ / + %% for code39; got %s",
			describe(firstRune(text[i:])))
	}
	if len(text) > maxCode39 {
		return nil, contentErrorf(Code39, "must be 1 to %d characters for code39; got %d", maxCode39, len(text))
	}

	caption := text
	text = "*" + text + "*"
	bars := make([]bool, 0, code39Modules*len(text))
	s := &symbol{}

	for i := range len(text) {
		pattern := code39Patterns[strings.IndexByte(code39Characters, text[i])]
		for j := range 9 {
			width := 1
			if pattern[j] == '1' {
				width = code39Wide
			}
			bars = appendBar(bars, j%2 == 0, width)
		}
		bars = append(bars, false)
	}

	s.setBars(bars[:len(bars)-1], caption)
	return s, nil
}

// appendBar appends a bar or a space.
func appendBar(bars []bool, dark bool, width int) []bool {
	for range width {
		bars = append(bars, dark)
	}
	return bars
}
