package barcode

import "strings"

// EAN-13 and UPC-A of ISO/IEC 15420 and the GS1 General Specifications. UPC-A
// is EAN-13 with a leading zero; the two differ in how the digits are printed.

const (
	// eanBarHeight is 22.85 mm at the nominal module of 0.33 mm.
	eanBarHeight = 69
	// eanGuardDrop is the extra length of the guard bars at the bottom.
	eanGuardDrop = 5
	eanModules   = 95
	eanCentre    = 45 // start of the centre guard
)

// eanDigits are the modules of the digits in number set A (ISO/IEC 15420, table 1).
// Set C is its complement, and set B is set C read backwards.
var eanDigits = [10]string{
	"0001101", "0011001", "0010011", "0111101", "0100011",
	"0110001", "0101111", "0111011", "0110111", "0001011",
}

// eanSets are the number sets of the left half; they hold the first digit (table 3).
var eanSets = [10]string{
	"AAAAAA", "AABABB", "AABBAB", "AABBBA", "ABAABB",
	"ABBAAB", "ABBBAA", "ABABAB", "ABABBA", "ABBABA",
}

// encodeEAN13 makes an EAN-13 from 12 digits, or from 13 with the check digit.
func encodeEAN13(req *Request) (*symbol, error) {
	digits, err := withCheckDigit(EAN13, req.Text, 12)
	if err != nil {
		return nil, err
	}
	s := eanSymbol(eanBars(digits), margins{left: 11, right: 7}, eanGuards)
	s.labels = append(s.labels, eanLabel(digits[:1], 4, 1))
	s.labels = append(s.labels, eanHalf(digits[1:7], 11+3)...)
	s.labels = append(s.labels, eanHalf(digits[7:], 11+50)...)
	return s, nil
}

// encodeUPCA makes a UPC-A from 11 digits, or from 12 with the check digit. The first and the last digit are
// outside of the bars and smaller, and their bars are as long as the guards.
func encodeUPCA(req *Request) (*symbol, error) {
	digits, err := withCheckDigit(UPCA, req.Text, 11)
	if err != nil {
		return nil, err
	}

	long := func(x int) bool { return eanGuards(x) || x < 10 || x >= eanModules-10 }
	s := eanSymbol(eanBars("0"+digits), margins{left: 9, right: 9}, long)
	s.labels = append(s.labels, eanLabel(digits[:1], 4, 0.75))
	s.labels = append(s.labels, eanHalf(digits[1:6], 9+10)...)
	s.labels = append(s.labels, eanHalf(digits[6:11], 9+50)...)
	s.labels = append(s.labels, eanLabel(digits[11:], 9+eanModules+5, 0.75))
	return s, nil
}

// eanGuards reports whether a module belongs to a guard pattern.
func eanGuards(x int) bool {
	return x < 3 || x >= eanModules-3 || eanCentre <= x && x < eanCentre+5
}

// withCheckDigit checks the digits of a text and adds the check digit, or compares it if the text has it already. n
// is the number of digits without it.
func withCheckDigit(t Type, text string, n int) (string, error) {
	if len(text) != n && len(text) != n+1 || strings.Trim(text, "0123456789") != "" {
		return "", contentErrorf(t, "must be %d digits, or %d with the check digit, for %s; got %s",
			n, n+1, t, describe(text))
	}

	check := checkDigit(text[:n])
	if len(text) == n+1 && text[n] != check {
		return "", contentErrorf(t, "has check digit %c, but %s has check digit %c. Omit it or correct the number",
			text[n], text[:n], check)
	}
	return text[:n] + string(check), nil
}

// checkDigit weighs the digits 3, 1, 3, … from the right and returns the difference to the next multiple of ten
// (GS1 General Specifications, 7.9.1).
func checkDigit(digits string) byte {
	sum := 0
	for i := range len(digits) {
		weight := 1
		if (len(digits)-i)%2 == 1 {
			weight = 3
		}
		sum += weight * int(digits[i]-'0')
	}
	return byte('0' + (10-sum%10)%10)
}

// eanBars returns the 95 modules of 13 digits.
func eanBars(digits string) []bool {
	bars := make([]bool, 0, eanModules)
	bars = appendModules(bars, "101")

	sets := eanSets[digits[0]-'0']
	for i := 1; i <= 6; i++ {
		modules := eanDigits[digits[i]-'0']
		for j := range 7 {
			if sets[i-1] == 'A' {
				bars = append(bars, modules[j] == '1')
			} else {
				bars = append(bars, modules[6-j] == '0')
			}
		}
	}

	bars = appendModules(bars, "01010")
	for i := 7; i <= 12; i++ {
		modules := eanDigits[digits[i]-'0']
		for j := range 7 {
			bars = append(bars, modules[j] == '0')
		}
	}

	return appendModules(bars, "101")
}

// appendModules appends modules written as zeros and ones.
func appendModules(bars []bool, modules string) []bool {
	for i := range len(modules) {
		bars = append(bars, modules[i] == '1')
	}
	return bars
}

// eanSymbol puts the bars above a second row that contains only the long ones; without labels that row is removed.
func eanSymbol(bars []bool, quiet margins, long func(x int) bool) *symbol {
	quiet.top = barMargin
	quiet.bottom = barMargin
	drop := make([]bool, len(bars))

	for x, dark := range bars {
		drop[x] = dark && long(x)
	}
	return &symbol{
		linear:     true,
		rows:       []row{{bars, eanBarHeight}, {drop, eanGuardDrop}},
		labelRows:  1,
		labelSpace: labelTop + labelHeight - eanGuardDrop,
		quiet:      quiet,
	}
}

// eanHalf labels digits under their bars, from the module left on.
func eanHalf(digits string, left int) []label {
	labels := make([]label, len(digits))
	for i := range len(digits) {
		labels[i] = eanLabel(digits[i:i+1], float64(7*i+left)+3.5, 1)
	}
	return labels
}

func eanLabel(digit string, centre, scale float64) label {
	return label{
		text:     digit,
		centre:   centre,
		baseline: barMargin + eanBarHeight + labelTop + labelHeight,
		size:     scale * labelSize,
		digits:   true,
	}
}
