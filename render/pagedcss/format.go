package pagedcss

import (
	"fmt"
	"strconv"
	"strings"
)

// Format returns a page number in a counter style, or false if this package does not know the style. The number is
// decimal if the style does not have it, as in CSS.
func Format(n int, style string) (text string, known bool) {
	text, known = format(n, style)
	if known && text == "" {
		text = strconv.Itoa(n)
	}
	return text, known
}

func format(n int, style string) (string, bool) {
	switch style {
	case "decimal":
		return strconv.Itoa(n), true
	case "decimal-leading-zero":
		return fmt.Sprintf("%02d", n), true
	case "lower-roman", "upper-roman":
		text := roman(n)
		if style == "upper-roman" {
			text = strings.ToUpper(text)
		}
		return text, true
	case "lower-alpha", "lower-latin":
		return alphabetic(n, "abcdefghijklmnopqrstuvwxyz"), true
	case "upper-alpha", "upper-latin":
		return alphabetic(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), true
	case "lower-greek":
		return alphabetic(n, "αβγδεζηθικλμνξοπρστυφχψω"), true
	}

	return "", false
}

// known reports whether Format knows a style.
func known(style string) bool {
	_, ok := Format(1, style)
	return ok
}

// maxRoman is the largest Roman number.
const maxRoman = 3999

func roman(n int) string {
	if n < 1 || n > maxRoman {
		return ""
	}

	var out strings.Builder
	for _, digit := range [...]struct {
		value int
		text  string
	}{
		{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"},
		{40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"},
	} {
		for ; n >= digit.value; n -= digit.value {
			out.WriteString(digit.text)
		}
	}

	return out.String()
}

func alphabetic(n int, letters string) string {
	digits := []rune(letters)
	text := ""
	for ; n > 0; n = (n - 1) / len(digits) {
		text = string(digits[(n-1)%len(digits)]) + text
	}
	return text
}
