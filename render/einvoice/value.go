package einvoice

import (
	"encoding/base64"
	"reflect"
	"regexp"
	"strings"
)

// AccountID is an IBAN or another account number.
type AccountID string

var ibanPattern = regexp.MustCompile(`^[A-Z]{2}\d{2}[A-Za-z0-9]{8,30}$`)

// compact is the identifier without spaces.
func (a AccountID) compact() string { return strings.Join(strings.Fields(string(a)), "") }

// looksLikeIBAN reports whether the identifier has the form of an IBAN, valid or not.
func (a AccountID) looksLikeIBAN() bool { return ibanPattern.MatchString(a.compact()) }

// TaxPointCode is an event by UNTDID 2005. CII writes it by UNTDID 2475.
type TaxPointCode string

var taxPointCodes = [][2]string{{"3", "5"}, {"35", "29"}, {"432", "72"}}

// format returns the text of a value in XML, empty if there is none.
func (d dialect) format(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case *Decimal:
		if value == nil {
			return ""
		}
		return value.String()
	case []byte:
		return base64.StdEncoding.EncodeToString(value)
	case Date:
		if d == crossIndustry {
			return value.compact()
		}
	case TaxPointCode:
		for _, pair := range taxPointCodes {
			if d == crossIndustry && pair[0] == string(value) {
				return pair[1]
			}
		}
	}

	return v.String()
}

// assign reads the text of an element. It reports whether the text is of the value's kind.
func (d dialect) assign(v reflect.Value, text string) bool {
	switch v.Interface().(type) {
	case *Decimal:
		number, err := parseDecimal(strings.TrimSpace(text))
		if err != nil {
			return false
		}
		v.Set(reflect.ValueOf(&number))
		return true
	case []byte:
		content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return false
		}
		v.SetBytes(content)
		return true
	case Date:
		text = strings.TrimSpace(text)
		if d == crossIndustry {
			text = string(dateOf(text))
		}
	case TaxPointCode:
		text = strings.TrimSpace(text)
		for _, pair := range taxPointCodes {
			if d == crossIndustry && pair[1] == text {
				text = pair[0]
				break
			}
		}
	}

	if v.Type() != reflect.TypeFor[FreeText]() {
		text = strings.TrimSpace(text)
	}
	v.SetString(text)
	return true
}

// place returns which of a field's places a value goes to.
func (b *binding) place(v reflect.Value) path {
	second := false
	switch value := v.Interface().(type) {
	case *Identifier:
		second = value.Scheme != ""
	case Identifier:
		second = value.Scheme != ""
	case AccountID:
		second = !value.looksLikeIBAN()
	}

	if second && len(b.paths) > 1 {
		return b.paths[1]
	}
	return b.paths[0]
}

// FreeText is a text whose white space counts.
type FreeText string
