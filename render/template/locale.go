package template

import (
	"fmt"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
	"github.com/cockroachdb/apd/v3"
	"github.com/go-playground/locales"
	"github.com/go-playground/locales/currency"
	"golang.org/x/text/language"
)

// defaultLocale and defaultZone apply to a call that names none.
const (
	defaultLocale = "en-US"
	defaultZone   = "UTC"
)

// locale holds a locale's formats of numbers, money and dates.
type locale struct {
	locales.Translator

	tag                string
	group, point       string
	first, next        int // digits of the group before the point, and of those before it
	minGroupingDigits  int // digits before a group for there to be one
	minus              string
	before, after      string // the symbol's place in a sum of money: one of them holds it
	percentB, percentA string
}

var (
	localesMu sync.Mutex
	known     = map[string]*locale{}
)

// CheckLocale returns an error if the tag of a locale is invalid.
func CheckLocale(tag string) error {
	_, err := findLocale(tag)
	return err
}

// findLocale returns the locale of a BCP 47 tag, or the locale of its language.
func findLocale(tag string) (*locale, error) {
	parsed, err := language.Parse(strings.ReplaceAll(tag, "_", "-"))
	if err != nil {
		return nil, fmt.Errorf("%.40q is not a locale. Use a language tag such as en-US, de or pt-BR", tag)
	}

	base, script, region := parsed.Raw()
	for _, candidate := range []string{
		fmt.Sprintf("%s-%s-%s", base, script, region),
		fmt.Sprintf("%s-%s", base, region),
		hant(base.String(), region.String()),
		fmt.Sprintf("%s-%s", base, script),
		latinAmerica(base.String(), region.String()),
		alias(base.String()),
		base.String(),
	} {
		if found, ok := translators[candidate]; ok {
			return loadLocale(candidate, found), nil
		}
	}
	return nil, fmt.Errorf("%.40q is an unsupported locale. Format its numbers and dates in the data", tag)
}

func alias(base string) string {
	switch base {
	case "no":
		return "nb"
	case "tl":
		return "fil"
	case "iw":
		return "he"
	}
	return base
}

func hant(base, region string) string {
	if base != "zh" {
		return ""
	}
	switch region {
	case "HK", "MO":
		return "zh-Hant-HK"
	case "TW":
		return "zh-Hant"
	}
	return ""
}

func latinAmerica(base, region string) string {
	if base == "es" && region != "ZZ" && region != "ES" {
		return "es-419"
	}
	return ""
}

// twoGroupingDigits are the locales that write 1234 without a separator.
var twoGroupingDigits = map[string]bool{
	"es": true, "es-AR": false, "pt-PT": true, "pl": true, "bg": true,
	"ka": true, "et": true, "lv": true, "hu": true, "it": false,
}

func loadLocale(tag string, translator func() locales.Translator) *locale {
	localesMu.Lock()
	defer localesMu.Unlock()
	if found := known[tag]; found != nil {
		return found
	}

	l := &locale{Translator: translator(), tag: tag, group: ",", point: ".", first: 3, next: 3, minGroupingDigits: 1, minus: "-"}
	// The library has no way to ask for the signs, but writes them.
	if parts := splitDigits(l.FmtNumber(1234567.5, 1)); len(parts) >= 3 {
		l.point = parts[len(parts)-1].sign
		l.group = parts[1].sign
		l.first = len(parts[len(parts)-2].digits)
		l.next = len(parts[1].digits)
	}
	sign, _, ok := strings.Cut(l.FmtNumber(-1, 0), "1")
	if ok && sign != "" && sign[0] < 0x80 || strings.HasPrefix(sign, "−") {
		l.minus = sign
	}
	if twoGroupingDigits[tag] {
		l.minGroupingDigits = 2
	}

	l.before, l.after = around(strings.ReplaceAll(l.FmtCurrency(1, 2, currency.EUR), "EUR", "€"), "1"+l.point+"00")
	l.percentB, l.percentA = around(l.FmtPercent(1, 0), "1")
	known[tag] = l
	return l
}

func around(s, middle string) (before, after string) {
	before, after, _ = strings.Cut(s, middle)
	return before, after
}

type run struct{ sign, digits string }

// splitDigits splits a number into runs of digits and the text before each.
func splitDigits(s string) []run {
	var runs []run
	var now run
	for _, r := range s {
		if r >= '0' && r <= '9' {
			now.digits += string(r)
			continue
		}
		if now.digits != "" {
			runs = append(runs, now)
			now = run{}
		}
		now.sign += string(r)
	}

	if now.digits != "" {
		runs = append(runs, now)
	}
	return runs
}

// write formats a number with a minimum and a maximum number of decimals.
func (l *locale) write(d *apd.Decimal, minFraction, maxFraction int) (text string, negative bool, err error) {
	rounded, err := roundTo(d, maxFraction)
	if err != nil {
		return "", false, fmt.Errorf("the number has too many digits")
	}

	whole, fraction, _ := strings.Cut(rounded.Text('f'), ".")
	whole, negative = strings.CutPrefix(whole, "-")
	for len(fraction) > minFraction && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if strings.Trim(whole+fraction, "0") == "" {
		negative = false
	}

	text = l.grouped(whole)
	if fraction != "" {
		text += l.point + fraction
	}
	return text, negative, nil
}

func (l *locale) grouped(digits string) string {
	if len(digits) < l.first+l.minGroupingDigits {
		return digits
	}

	tail := digits[len(digits)-l.first:]
	head := digits[:len(digits)-l.first]
	for len(head) > l.next {
		tail = head[len(head)-l.next:] + l.group + tail
		head = head[:len(head)-l.next]
	}
	return head + l.group + tail
}

// nearest returns the name that is most like another, or "".
func nearest(name string, names []string) string {
	best := ""
	distance := 3
	if len(name) < 4 {
		distance = 2
	}

	for _, candidate := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(candidate)); d < distance {
			best = candidate
			distance = d
		}
	}
	return best
}
