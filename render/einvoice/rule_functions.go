package einvoice

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/einvoice/xpath"
)

type bigRat = big.Rat

// The specification identifiers of XRechnung: the standard, its extension, and that of clean vehicles.
const (
	xrechnungSpecification = "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"
	xrechnungExtension     = xrechnungSpecification + "#conformant#urn:xeinkauf.de:kosit:extension:xrechnung_3.0"
	xrechnungCVD           = xrechnungSpecification + "#compliant#urn:xeinkauf.de:kosit:xrechnung:cvd_0.9"
)

// ruleConstants are the variables of all tables.
var ruleConstants = map[string]string{
	"xrechnung":          "('" + xrechnungSpecification + "', '" + xrechnungExtension + "', '" + xrechnungCVD + "')",
	"xrechnungExtension": "'" + xrechnungExtension + "'",
	"xrechnungCVD":       "'" + xrechnungCVD + "'",
}

// ruleFunctions are the functions of the tables besides those of XPath.
var ruleFunctions = map[string]xpath.Function{
	// has reports whether an optional text has more than white space.
	"has": onText(func(text string) bool { return text != "" }),
	// code reports whether a text is in a list of codes.txt.
	"code": func(args [][]xpath.Item) ([]xpath.Item, error) {
		list, value, err := texts(args)
		return []xpath.Item{codes()[list][value]}, err
	},
	// extended is code for the lists with the codes of digital health applications.
	"extended": func(args [][]xpath.Item) ([]xpath.Item, error) {
		list, value, err := texts(args)
		return []xpath.Item{codes()[list][value] || slices.Contains([]string{"XR01", "XR02", "XR03"}, value)}, err
	},
	"mime": func(args [][]xpath.Item) ([]xpath.Item, error) {
		value, err := xpath.Text(args[0])
		return []xpath.Item{slices.Contains(attachmentTypes, value)}, err
	},
	// cents rounds a number to two decimals.
	"cents": func(args [][]xpath.Item) ([]xpath.Item, error) { return centsExpression.Call(args) },
	// decimals counts the digits after the point.
	"decimals": func(args [][]xpath.Item) ([]xpath.Item, error) {
		value, err := xpath.Text(args[0])
		_, after, _ := strings.Cut(value, ".")
		return []xpath.Item{new(big.Rat).SetInt64(int64(len([]rune(after))))}, err
	},
	"iban":  onText(validIBAN),
	"phone": onText(func(text string) bool { return len(digits.FindAllString(text, 3)) == 3 }),
	"email": onText(emailPattern.MatchString),
	// unique reports whether all values differ.
	"unique": func(args [][]xpath.Item) ([]xpath.Item, error) {
		seen := map[string]bool{}
		for _, item := range args[0] {
			value, err := xpath.Text([]xpath.Item{item})
			if err != nil || seen[value] {
				return []xpath.Item{false}, err
			}
			seen[value] = true
		}
		return []xpath.Item{true}, nil
	},
	"discounts": discounts,
	"groups":    groups,
}

var (
	digits          = regexp.MustCompile(`\d`)
	emailPattern    = regexp.MustCompile(`^[^@\s]+@([^@.\s]+\.)+[^@.\s]+$`)
	discountPattern = regexp.MustCompile(
		`^#SKONTO#TAGE=[0-9]+#PROZENT=[0-9]+\.[0-9]{2}(#BASISBETRAG=-?[0-9]+\.[0-9]{2})?#$`)
	betweenHashes   = regexp.MustCompile(`#.+#`)
	lineBreak       = regexp.MustCompile(`^\s*\n`)
	centsExpression = compiled("round($1 * 100) div 100")
)

// onText makes a function of an optional single text, without white space around it.
func onText(f func(text string) bool) xpath.Function {
	return func(args [][]xpath.Item) ([]xpath.Item, error) {
		value, err := xpath.Text(args[0])
		return []xpath.Item{f(strings.Join(strings.Fields(value), " "))}, err
	}
}

// texts returns the name of a list and a code.
func texts(args [][]xpath.Item) (list, value string, err error) {
	list, err = xpath.Text(args[0])
	if err != nil {
		return "", "", err
	}
	value, err = xpath.Text(args[1])
	return list, strings.Join(strings.Fields(value), " "), err
}

// discounts checks payment terms: each line that begins with "#" states a cash discount for programs, and a line break
// follows the last one.
func discounts(args [][]xpath.Item) ([]xpath.Item, error) {
	var lines []string
	terms := ""
	for _, item := range args[0] {
		text, err := xpath.Text([]xpath.Item{item})
		if err != nil {
			return nil, err
		}
		terms = text
		lines = append(lines, strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")...)
	}

	stated := false
	for _, line := range lines {
		if line = strings.Join(strings.Fields(line), " "); strings.HasPrefix(line, "#") {
			stated = true
			if !discountPattern.MatchString(line) {
				return []xpath.Item{false}, nil
			}
		}
	}

	parts := betweenHashes.Split(terms, -1)
	return []xpath.Item{!stated || len(args[0]) == 1 && lineBreak.MatchString(parts[len(parts)-1])}, nil
}

// groups reports whether the amount of each group of lines is the sum of its lines and groups.
func groups(args [][]xpath.Item) ([]xpath.Item, error) {
	type line struct {
		id, parent, kind string
		amount           float64
		given            bool
	}
	var lines []line
	sums := map[string]float64{}

	for _, item := range args[0] {
		n, _ := item.(*xpath.Node) // Lines are elements.
		l := line{}
		about := n.Child("AssociatedDocumentLineDocument")
		settlement := n.Child("SpecifiedLineTradeSettlement")
		amount := settlement.Child("SpecifiedTradeSettlementLineMonetarySummation").Child("LineTotalAmount")
		l.id = about.Child("LineID").Trimmed()
		l.parent = about.Child("ParentLineID").Trimmed()
		l.kind = about.Child("LineStatusReasonCode").Trimmed()

		var err error
		l.amount, err = strconv.ParseFloat(amount.Trimmed(), 64)
		l.given = amount.Trimmed() != ""
		if err != nil {
			l.amount = math.NaN()
		}
		if l.kind == "DETAIL" || l.kind == "GROUP" {
			sums[l.parent] += l.amount
		}
		lines = append(lines, l)
	}

	for _, l := range lines {
		if l.kind == "GROUP" && l.given && l.amount != math.Floor(sums[l.id]*100+0.5)/100 {
			return []xpath.Item{false}, nil
		}
	}
	return []xpath.Item{true}, nil
}
