package einvoice

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sameTerm matches values that a written document has elsewhere, or once, though it has every business term: the base
// quantity of the gross price is that of the net price, the remittance information of all payments is one term, the
// person and the department of a contact are one, and an account is an IBAN or not by its check digits. The names of
// the tax scheme and the card network are fixed.
var sameTerm = regexp.MustCompile(`/(GrossPriceProductTradePrice|NetPriceProductTradePrice)/BasisQuantity(/@unitCode)? |` +
	`/PaymentMeans/(PaymentID|CardAccount/NetworkID) |/DefinedTradeContact/(PersonName|DepartmentName) |` +
	`/PayeePartyCreditorFinancialAccount/(IBANID|ProprietaryID) |/PartyTaxScheme/TaxScheme/ID |/@schemaLocation `)

// TestOfficialExamples reads the examples of XRechnung's test suite, finds no error, and writes them with equal values.
func TestOfficialExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/xrechnung-testsuite/*.xml")
	if err != nil || len(files) < 40 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		example, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		read, err := Read(example)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		lost := map[string]bool{}
		for _, f := range append(read.Findings, read.Check()...) {
			if f.Severity == Error {
				t.Errorf("%s: %+v", file, f)
			}
			lost[f.XMLPath] = true
		}
		written, err := Write(read.Invoice, read.Syntax, read.Profile)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		differences := 0
		for value, n := range subtract(leaves(t, example), leaves(t, written)) {
			if n != 0 && !sameTerm.MatchString(value) {
				if differences++; n < 0 || len(lost) == 0 {
					t.Errorf("%s: %+d %s", file, -n, value)
				}
			}
		}
		if differences > len(lost) {
			t.Errorf("%s: %d values differ, and %d are reported as unread", file, differences, len(lost))
		}
		again, err := Read(written)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := jsonOf(t, again.Invoice), jsonOf(t, read.Invoice); got != want {
			t.Errorf("%s: %s", file, firstDifference(got, want))
		}
	}
}

// leaves counts the values of a document by their path.
func leaves(t *testing.T, document []byte) map[string]int {
	t.Helper()
	root, err := parseXML(document)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]int{}
	var add func(n *node, at string)
	add = func(n *node, at string) {
		at += "/" + n.local()
		if len(n.children) == 0 {
			values[at+" "+strings.Join(strings.Fields(n.text), " ")]++
		}
		for _, a := range n.attrs {
			values[at+"/@"+a.name+" "+a.value]++
		}
		for _, child := range n.children {
			add(child, at)
		}
	}
	add(root, "")
	return values
}

func subtract(a, b map[string]int) map[string]int {
	rest := maps.Clone(a)
	for value, n := range b {
		rest[value] -= n
	}
	return rest
}
