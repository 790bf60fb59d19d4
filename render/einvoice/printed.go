package einvoice

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// printedAmount is a number with two decimals in the text of a page.
type printedAmount struct {
	text string
	page int
	// readings are all ways that it can be read, as plain texts.
	readings []string
}

// among reports whether one of the readings is in a set of plain texts.
func (a *printedAmount) among(set map[string]bool) bool {
	return slices.ContainsFunc(a.readings, func(reading string) bool { return set[reading] })
}

// amountPattern is a number with groups of thousands or without, and two decimals.
var amountPattern = regexp.MustCompile(`(\d{1,3}(?:[.,'’ ]\d{3})+|\d+)[.,](\d{2})`)

// amountsIn finds the amounts of a line. A space can separate thousands or two numbers, so that such a number has a
// reading for each.
func amountsIn(text string) (amounts []printedAmount) {
	for _, m := range amountPattern.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > 0 && strings.ContainsAny(text[m[0]-1:m[0]], "0123456789.,/-") && text[m[0]-1] != '-' {
			continue
		}
		if m[1] < len(text) && strings.ContainsAny(text[m[1]:m[1]+1], "0123456789/") || followed(text[m[1]:]) {
			continue
		}

		whole := text[m[2]:m[3]]
		cents := text[m[4]:m[5]]
		a := printedAmount{text: text[m[0]:m[1]]}

		for {
			digits := strings.Map(digit, whole)
			if d, err := parseDecimal(digits + "." + cents); err == nil {
				a.readings = append(a.readings, d.plain())
			}
			_, rest, ok := strings.Cut(whole, " ")
			if !ok {
				break
			}
			whole = rest
		}

		amounts = append(amounts, a)
	}
	return amounts
}

// followed reports whether a percent sign follows, or a date goes on.
func followed(rest string) bool {
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, "%") {
		return true
	}
	return len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && rest[1] >= '0' && rest[1] <= '9'
}

func digit(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}

// printedDate is a date in the text of a page, in all ways that it can be read.
type printedDate struct {
	text     string
	at       int
	readings []Date
}

func (p *printedDate) is(d Date) bool { return slices.Contains(p.readings, d) }

// monthNames are the names of the months in six languages, in full and shortened.
var monthNames = [12]string{
	"january januar janvier enero gennaio januari jan janv ene gen",
	"february februar février febrero febbraio februari feb févr fév",
	"march märz mars marzo maart mar mär mrz mrt", "april avril abril aprile apr avr abr",
	"may mai mayo maggio mei mag", "june juni juin junio giugno jun giu",
	"july juli juillet julio luglio jul juil lug", "august août agosto augustus aug ago",
	"september septembre septiembre settembre sep sept set",
	"october oktober octobre octubre ottobre oct okt ott", "november novembre noviembre nov",
	"december dezember décembre diciembre dicembre dec dez déc dic",
}

// monthOf returns the number of a month; 0 if the word is none.
func monthOf(word string) int {
	word = strings.TrimSuffix(strings.ToLower(word), ".")
	for i, names := range monthNames {
		if slices.Contains(strings.Fields(names), word) {
			return i + 1
		}
	}
	return 0
}

var (
	isoDatePattern  = regexp.MustCompile(`\b(\d{4})-(\d{1,2})-(\d{1,2})\b`)
	numericPattern  = regexp.MustCompile(`\b(\d{1,2})([./-]) ?(\d{1,2})([./-]) ?(\d{4}|\d{2})\b`)
	dayMonthPattern = regexp.MustCompile(
		`\b(\d{1,2})(?:\.|er|st|nd|rd|th)? (?:de )?(\p{L}{3,12}\.?),? (?:de )?(\d{4})\b`)
	monthDayPattern = regexp.MustCompile(`(\p{L}{3,12}\.?) (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`)
)

const fourDigitsOfYear = 4

// datesIn finds the dates of a line.
func datesIn(text string) (dates []printedDate) {
	add := func(m []int, readings ...[3]int) {
		p := printedDate{text: text[m[0]:m[1]], at: m[0]}
		for _, r := range readings {
			d := Date(fmt.Sprintf("%04d-%02d-%02d", r[0], r[1], r[2]))
			if d.valid() {
				p.readings = append(p.readings, d)
			}
		}
		if len(p.readings) > 0 {
			dates = append(dates, p)
		}
	}

	part := func(m []int, n int) int {
		number, _ := strconv.Atoi(text[m[2*n]:m[2*n+1]])
		return number
	}

	for _, m := range isoDatePattern.FindAllStringSubmatchIndex(text, -1) {
		add(m, [3]int{part(m, 1), part(m, 2), part(m, 3)})
	}

	for _, m := range numericPattern.FindAllStringSubmatchIndex(text, -1) {
		year := part(m, 5)
		if m[11]-m[10] < fourDigitsOfYear {
			year += 2000
		}
		if text[m[4]:m[5]] != text[m[8]:m[9]] {
			continue
		}

		readings := [][3]int{{year, part(m, 3), part(m, 1)}}
		if text[m[4]:m[5]] == "/" {
			readings = append(readings, [3]int{year, part(m, 1), part(m, 3)})
		}
		add(m, readings...)
	}

	for _, m := range dayMonthPattern.FindAllStringSubmatchIndex(text, -1) {
		if month := monthOf(text[m[4]:m[5]]); month > 0 {
			add(m, [3]int{part(m, 3), month, part(m, 1)})
		}
	}
	for _, m := range monthDayPattern.FindAllStringSubmatchIndex(text, -1) {
		if month := monthOf(text[m[2]:m[3]]); month > 0 {
			add(m, [3]int{part(m, 3), month, part(m, 2)})
		}
	}

	slices.SortStableFunc(dates, func(a, b printedDate) int { return a.at - b.at })
	return dates
}
