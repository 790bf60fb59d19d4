package barcode

import (
	"fmt"
	"regexp"
	"strings"
)

// Element strings of the GS1 General Specifications, sections 3 and 7.8: each value follows its application
// identifier, which defines its meaning. They are written with their identifiers in brackets:
// (01)09506000134352(10)ABC123.

// fnc1 is the function character that marks GS1 data and ends values without a fixed length.
const fnc1 = 0xF1

// maxGS1 is the maximum length of a GS1-128, identifiers and separators
// included (5.4.1).
const maxGS1 = 48

var (
	gs1Element = regexp.MustCompile(`^\(([0-9]{2,4})\)`)
	gs1Next    = regexp.MustCompile(`\([0-9]{2,4}\)`)
)

// gs1Fixed are the lengths of elements that need no separator, identifier
// included, by its first two digits (figure 7.8.5-2).
var gs1Fixed = map[string]int{
	"00": 20, "01": 16, "02": 16, "03": 16, "04": 18, "11": 8, "12": 8, "13": 8, "14": 8,
	"15": 8, "16": 8, "17": 8, "18": 8, "19": 8,
	"20": 4, "31": 10, "32": 10, "33": 10, "34": 10, "35": 10, "36": 10, "41": 16,
}

// gs1Checked are the identifiers whose values end in a check digit.
var gs1Checked = map[string]bool{
	"00": true, "01": true, "02": true, "410": true, "411": true, "412": true, "413": true,
	"414": true, "415": true, "416": true, "417": true,
}

// gs1Values are the characters other than letters and digits that values may have.
const gs1Values = `!"%&'()*+,-./:;<=>?_`

// gs1Data returns the content of a code with element strings, fnc1 in front.
func gs1Data(t Type, text string) (string, error) {
	out := []byte{fnc1}
	open := false // the value before has no fixed length

	for rest := text; rest != ""; {
		found := gs1Element.FindStringSubmatch(rest)
		if found == nil {
			return "", contentErrorf(t, "must be values after their application identifiers in brackets, "+
				"such as (01)09506000134352(10)ABC123; got %s", describe(rest))
		}

		id := found[1]
		value := rest[len(found[0]):]
		rest = ""
		if next := gs1Next.FindStringIndex(value); next != nil {
			rest = value[next[0]:]
			value = value[:next[0]]
		}

		if fault := gs1Fault(id, value); fault != "" {
			return "", contentErrorf(t, "has an invalid value of (%s): it must %s; got %s", id, fault, describe(value))
		}
		if open {
			out = append(out, fnc1)
		}
		out = append(append(out, id...), value...)
		open = gs1Fixed[id[:2]] == 0
	}

	if t == Code128 && len(out) > maxGS1+1 {
		return "", contentErrorf(t, "must be at most %d characters of GS1 data without brackets; got %d",
			maxGS1, len(out)-1)
	}
	return string(out), nil
}

// gs1Fault returns the rule that a value violates.
func gs1Fault(id, value string) string {
	fixed := gs1Fixed[id[:2]] - len(id)
	digits := strings.Trim(value, "0123456789") == ""

	switch {
	case fixed > 0 && (len(value) != fixed || !digits):
		return fmt.Sprintf("be %d digits", fixed)
	case gs1Checked[id] && checkDigit(value[:len(value)-1]) != value[len(value)-1]:
		return fmt.Sprintf("end in the check digit %c", checkDigit(value[:len(value)-1]))
	case fixed <= 0 && (value == "" || len(value) > 90):
		return "have 1 to 90 characters"
	case strings.ContainsFunc(value, notGS1):
		return "be letters, digits and " + gs1Values
	}
	return ""
}

func notGS1(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(gs1Values, r)
}
