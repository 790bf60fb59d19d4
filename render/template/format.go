package template

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/go-playground/locales"
	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// formatter writes values as a locale and a zone have them.
type formatter struct {
	locale *locale
	zone   *time.Location
}

// newFormatter returns the formatter of a call.
func newFormatter(locale, zone string) (formatter, error) {
	if locale == "" {
		locale = defaultLocale
	}
	if zone == "" {
		zone = defaultZone
	}

	l, err := findLocale(locale)
	if err != nil {
		return formatter{}, err
	}
	z, err := loadZone(zone)
	return formatter{locale: l, zone: z}, err
}

// CheckZone returns an error if the name of a time zone is invalid.
func CheckZone(name string) error {
	_, err := loadZone(name)
	return err
}

func loadZone(name string) (*time.Location, error) {
	if name == "Local" || len(name) > 64 {
		name = ""
	}

	zone, err := time.LoadLocation(name)
	if err != nil || name == "" {
		return nil, fmt.Errorf("%.64q is not a time zone. Use a name such as Europe/Berlin or UTC", name)
	}
	return zone, nil
}

// with returns the formatter that the hash of one helper asks for.
func (f formatter) with(hash map[string]goja.Value) (formatter, error) {
	var err error
	if tag := hash["locale"]; !missing(tag) {
		if f.locale, err = findLocale(tag.String()); err != nil {
			return f, err
		}
	}
	if zone := hash["timeZone"]; !missing(zone) {
		if f.zone, err = loadZone(zone.String()); err != nil {
			return f, err
		}
	}
	return f, nil
}

// format runs one of the helpers that depend on locale and zone.
func (f formatter) format(name string, args []goja.Value, hash map[string]goja.Value) (string, error) {
	f, err := f.with(hash)
	if err != nil {
		return "", err
	}

	if len(args) == 0 || missing(args[0]) {
		return "", nil
	}

	rest := args[1:]
	switch name {
	case "formatDate":
		return f.date(args[0], rest, hash)
	case "formatNumber":
		return f.number(args[0], rest, hash)
	case "formatCurrency":
		return f.currency(args[0], rest, hash)
	case "ordinal":
		return f.ordinal(args[0])
	case "plural":
		return f.plural(args[0], rest, hash)
	}
	return "", fmt.Errorf("unknown format")
}

// digits reads a count of digits from the place or the hash of a helper.
func digits(rest []goja.Value, hash map[string]goja.Value, otherwise int) (n int, given bool, err error) {
	v := hash["decimals"]
	if len(rest) > 0 {
		v = rest[0]
	}
	if missing(v) {
		return otherwise, false, nil
	}

	d, err := decimal(v)
	if err == nil {
		var count int64
		if count, err = d.Int64(); err == nil && count >= 0 && count <= maxDigits {
			return int(count), true, nil
		}
	}
	return 0, false, fmt.Errorf("decimals must be a whole number from 0 to %d; got %s", maxDigits, describe(v))
}

func (f formatter) number(v goja.Value, rest []goja.Value, hash map[string]goja.Value) (string, error) {
	d, err := decimal(v)
	if err != nil {
		return "", err
	}

	percent := !missing(hash["style"]) && hash["style"].String() == "percent"
	if style := hash["style"]; !missing(style) && !percent && style.String() != "decimal" {
		return "", fmt.Errorf("style must be decimal or percent; got %s", describe(style))
	}

	maxFraction := 3
	if percent {
		maxFraction = 0
		d = scaled(d, 2)
	}
	n, fixed, err := digits(rest, hash, maxFraction)
	if err != nil {
		return "", err
	}

	minFraction := 0
	if fixed {
		minFraction = n
	}
	text, negative, err := f.locale.write(d, minFraction, n)
	if err != nil {
		return "", err
	}

	if percent {
		text = f.locale.percentB + text + f.locale.percentA
	}
	if negative {
		text = f.locale.minus + text
	}
	return text, nil
}

func (f formatter) currency(v goja.Value, rest []goja.Value, hash map[string]goja.Value) (string, error) {
	d, err := decimal(v)
	if err != nil {
		return "", err
	}

	code := "USD"
	for _, given := range []goja.Value{hash["currency"], at(rest, 0)} {
		if !missing(given) {
			code = strings.ToUpper(given.String())
		}
	}

	unit, err := currency.ParseISO(code)
	if err != nil {
		return "", fmt.Errorf("%.10q is not a currency. Use an ISO 4217 code such as EUR", code)
	}

	scale, _ := currency.Standard.Rounding(unit)
	n, _, err := digits(nil, hash, scale)
	if err != nil {
		return "", err
	}
	text, negative, err := f.locale.write(d, n, n)
	if err != nil {
		return "", err
	}

	symbol := code
	if display := hash["display"]; missing(display) || display.String() == "symbol" {
		symbol = message.NewPrinter(language.Make(f.locale.tag)).Sprint(currency.Symbol(unit))
	} else if display.String() != "code" {
		return "", fmt.Errorf("display must be symbol or code; got %s", describe(display))
	}

	text = f.locale.place(symbol, text)
	if negative {
		text = f.locale.minus + text
	}
	return text, nil
}

func at(values []goja.Value, i int) goja.Value {
	if i < len(values) {
		return values[i]
	}
	return nil
}

// place puts a currency's symbol in the locale's position, with a space if it is a word.
func (l *locale) place(symbol, amount string) string {
	const euro, space = "€", "\u00a0"
	if strings.Contains(l.before, euro) {
		before := strings.ReplaceAll(l.before, euro, symbol)
		if last, _ := utf8.DecodeLastRuneInString(before); unicode.IsLetter(last) {
			before += space
		}
		return before + amount + l.after
	}

	after := strings.ReplaceAll(l.after, euro, symbol)
	if after == l.after { // the locale writes the euro otherwise
		after = space + symbol
	}
	if first, _ := utf8.DecodeRuneInString(after); unicode.IsLetter(first) {
		after = space + after
	}
	return l.before + amount + after
}

// ordinalEnds holds the suffixes of ordinal numbers by plural rule.
var ordinalEnds = map[string]map[locales.PluralRule]string{
	"en": {
		locales.PluralRuleOne: "st", locales.PluralRuleTwo: "nd", locales.PluralRuleFew: "rd",
		locales.PluralRuleOther: "th",
	},
	"fr": {locales.PluralRuleOne: "er", locales.PluralRuleOther: "e"},
	"es": {locales.PluralRuleOther: ".º"}, "pt": {locales.PluralRuleOther: "º"},
	"it": {locales.PluralRuleOther: "º", locales.PluralRuleMany: "º"},
	"nl": {locales.PluralRuleOther: "e"},
	"ca": {
		locales.PluralRuleOther: "è", locales.PluralRuleOne: "r", locales.PluralRuleTwo: "n",
		locales.PluralRuleFew: "t",
	},
	"sv": {locales.PluralRuleOne: ":a", locales.PluralRuleOther: ":e"},
	"ja": {locales.PluralRuleOther: "番目"}, "zh": {locales.PluralRuleOther: ""}, "ko": {locales.PluralRuleOther: "번째"},
	"ru": {locales.PluralRuleOther: "-й"}, "uk": {locales.PluralRuleOther: "-й"}, "bg": {locales.PluralRuleOther: "-и"},
}

func (f formatter) ordinal(v goja.Value) (string, error) {
	d, err := decimal(v)
	if err != nil {
		return "", err
	}

	n, err := d.Int64()
	if err != nil {
		return "", fmt.Errorf("needs a whole number; got %s", describe(v))
	}
	text, negative, err := f.locale.write(d, 0, 0)
	if err != nil {
		return "", err
	}

	base, _, _ := strings.Cut(f.locale.tag, "-")
	ends, ok := ordinalEnds[base]
	if !ok {
		ends = map[locales.PluralRule]string{locales.PluralRuleOther: "."}
	}

	if n < 0 {
		n = -n
	}
	end, ok := ends[f.locale.OrdinalPluralRule(float64(n), 0)]
	if !ok {
		end = ends[locales.PluralRuleOther]
	}

	if base == "zh" {
		text = "第" + text
	}
	if negative {
		text = f.locale.minus + text
	}
	return text + end, nil
}

func (f formatter) plural(v goja.Value, rest []goja.Value, hash map[string]goja.Value) (string, error) {
	d, err := decimal(v)
	if err != nil {
		return "", err
	}

	text := plain(d)
	visible := uint64(0)
	if _, fraction, ok := strings.Cut(text, "."); ok {
		visible = uint64(len(fraction))
	}

	n, err := d.Float64()
	if err != nil {
		return "", err
	}
	if n < 0 {
		n = -n
	}

	rule := strings.ToLower(f.locale.CardinalPluralRule(n, visible).String())
	if n == 0 && !missing(hash["zero"]) {
		rule = "zero"
	}

	one := at(rest, 0)
	other := at(rest, 1)
	word := hash[rule]
	switch {
	case !missing(word):
	case rule == "one" && !missing(one):
		word = one
	case !missing(hash["other"]):
		word = hash["other"]
	case !missing(other):
		word = other
	default:
		return "", errors.New("needs the words: " +
			`{{plural count "item" "items"}} or {{plural count one="item" other="items"}}`)
	}

	count, negative, err := f.locale.write(d, 0, 3)
	if err != nil {
		return "", err
	}
	if negative {
		count = f.locale.minus + count
	}
	return strings.ReplaceAll(word.String(), "#", count), nil
}
