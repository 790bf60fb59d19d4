package pdffile

import (
	"cmp"
	"strconv"
	"strings"
)

// Refer spells a reference.
func Refer(number, generation int) string {
	return strconv.Itoa(number) + " " + strconv.Itoa(generation) + " R"
}

// Reference returns v if it is a reference, and otherwise nothing.
func Reference(v any) string {
	text, _ := v.(string)
	if _, _, ok := splitReference(text); !ok {
		return ""
	}
	return text
}

// splitReference returns the numbers of a reference.
func splitReference(text string) (number, generation int, ok bool) {
	if text == "" || text[0] < '1' || text[0] > '9' {
		return 0, 0, false
	}
	first, rest, _ := strings.Cut(text, " ")
	second, isReference := strings.CutSuffix(rest, " R")
	number, err1 := strconv.Atoi(first)
	generation, err2 := strconv.Atoi(second)
	return number, generation, isReference && err1 == nil && err2 == nil && generation >= 0
}

func compareReferences(a, b string) int {
	first, _, _ := splitReference(a)
	second, _, _ := splitReference(b)
	return cmp.Compare(first, second)
}
