package barcode

import "strings"

// Code 128 of ISO/IEC 15417, code sets A, B and C, and the FNC1 of GS1-128.

// maxCode128 is the maximum length that scanners can read: 80 characters are 915 modules, about 240 mm in print.
const maxCode128 = 80

// code128Patterns are the widths of bars and spaces of each value (ISO/IEC 15417, table 1); the last one, the stop
// character, ends with an additional bar.
var code128Patterns = [107]string{
	"212222", "222122", "222221", "121223", "121322", "131222", "122213", "122312",
	"132212", "221213", "221312", "231212", "112232", "122132", "122231", "113222",
	"123122", "123221", "223211", "221132", "221231", "213212", "223112", "312131",
	"311222", "321122", "321221", "312212", "322112", "322211", "212123", "212321",
	"232121", "111323", "131123", "131321", "112313", "132113", "132311", "211313",
	"231113", "231311", "112133", "112331", "132131", "113123", "113321", "133121",
	"313121", "211331", "231131", "213113", "213311", "213131", "311123", "311321",
	"331121", "312113", "312311", "332111", "314111", "221411", "431111", "111224",
	"111422", "121124", "121421", "141122", "141221", "112214", "112412", "122114",
	"122411", "142112", "142211", "241211", "221114", "413111", "241112", "134111",
	"111242", "121142", "121241", "114212", "124112", "124211", "411212", "421112",
	"421211", "212141", "214121", "412121", "111143", "111341", "131141", "114113",
	"114311", "411113", "411311", "113141", "114131", "311141", "411131", "211412",
	"211214", "211232", "2331112",
}

const (
	code128FNC1  = 102 // in every code set
	code128Start = 103 // of code set A; B and C follow
	code128Stop  = 106
)

// A code set of Code 128: capital letters and control characters, all letters,
// pairs of digits.
const (
	code128A = iota
	code128B
	code128C
	code128Sets
)

// code128Latch are the values that change to a code set; they mean the same in
// the other two.
var code128Latch = [code128Sets]byte{101, 100, 99}

// encodeCode128 makes the shortest Code 128 of the text.
func encodeCode128(req *Request) (*symbol, error) {
	text := req.Text
	if req.GS1 {
		data, err := gs1Data(Code128, text)
		if err != nil {
			return nil, err
		}
		return drawCode128(data, text), nil
	}

	if i := strings.IndexFunc(text, func(r rune) bool { return r > 127 }); i >= 0 {
		return nil, contentErrorf(Code128, "must be ASCII for code128; got %s", describe(firstRune(text[i:])))
	}
	if len(text) > maxCode128 {
		return nil, contentErrorf(Code128, "must be 1 to %d characters for code128; got %d", maxCode128, len(text))
	}

	return drawCode128(text, text), nil
}

// drawCode128 draws the symbol of a content, with a text below it.
func drawCode128(content, text string) *symbol {
	values := code128Values(content)
	sum := int(values[0])
	for i, v := range values {
		sum += i * int(v)
	}
	values = append(values, byte(sum%103), code128Stop)

	bars := make([]bool, 0, 11*len(values)+2)
	for _, v := range values {
		for i, width := range []byte(code128Patterns[v]) {
			bars = appendBar(bars, i%2 == 0, int(width-'0'))
		}
	}

	s := &symbol{}
	s.setBars(bars, oneLine(text))
	return s
}

// code128Values returns the values of the text with its start character. Where
// to change the code set is decided from the end: shortest[i][set] is the
// number of values that text[i:] takes when set is in force.
func code128Values(text string) []byte {
	shortest := make([][code128Sets]int, len(text)+1)
	for i := len(text) - 1; i >= 0; i-- {
		for set := range code128Sets {
			shortest[i][set] = code128Cost(shortest, text, i, set)
		}
		// A set that cannot write the next character is left before it.
		for set := range code128Sets {
			for _, other := range shortest[i] {
				shortest[i][set] = min(shortest[i][set], other+1)
			}
		}
	}

	set := code128B
	for _, other := range []int{code128A, code128C} {
		if shortest[0][other] < shortest[0][set] {
			set = other
		}
	}

	values := []byte{byte(code128Start + set)}
	for i := 0; i < len(text); {
		if shortest[i][set] < code128Cost(shortest, text, i, set) {
			for other := range code128Sets {
				if shortest[i][set] == shortest[i][other]+1 {
					set = other
					break
				}
			}
			values = append(values, code128Latch[set])
		}

		value, n := code128Value(text[i:], set)
		values = append(values, value)
		i += n
	}
	return values
}

// code128Cost is the number of values of text[i:] when the next one is written
// in set; impossibly high when that set does not have it.
func code128Cost(shortest [][code128Sets]int, text string, i, set int) int {
	_, n := code128Value(text[i:], set)
	if n == 0 {
		return 1 << 20
	}
	return 1 + shortest[i+n][set]
}

// code128Value returns the value of the beginning of text in a code set and the number of characters that it
// encodes, 0 if the set does not contain it.
func code128Value(text string, set int) (value byte, n int) {
	b := text[0]
	switch {
	case b == fnc1:
		return code128FNC1, 1
	case set == code128A && b < ' ':
		return b + 64, 1
	case set == code128A && b < 96, set == code128B && b >= ' ':
		return b - ' ', 1
	case set == code128C && len(text) >= 2 && isDigit(b) && isDigit(text[1]):
		return 10*(b-'0') + text[1] - '0', 2
	}
	return 0, 0
}
