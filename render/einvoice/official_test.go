package einvoice

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
		for _, f := range append(read.Findings, Check(read.Invoice, read.Syntax, read.Profile)...) {
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

// officialFile has the rules that the official Schematron of EN 16931, version 1.3.16, finds broken in each document of
// officialDocuments: syntax, name, the beginning of its SHA-256, and the IDs. The Schematron is under the EUPL, and no
// part of it is in the repository.
const officialFile = "testdata/official.txt"

// officialDocuments returns the 200 good invoices and those with planted faults, in both syntaxes.
func officialDocuments(t *testing.T) map[string][]byte {
	t.Helper()
	documents := map[string][]byte{}
	for _, syntax := range []Syntax{CII, UBL} {
		add := func(name string, invoice *Invoice, profile Profile) {
			document, err := Write(invoice, syntax, profile)
			if err != nil {
				t.Fatal(err)
			}
			documents[string(syntax)+" "+name] = document
		}
		for seed := range uint64(generated) {
			add(fmt.Sprintf("good-%03d", seed), generate(seed), EN16931)
		}
		for n, p := range plantedInvoices() {
			add(fmt.Sprintf("planted-%03d", n), p.invoice, p.profile)
		}
	}
	return documents
}

// otherwise are faults that the official rules of a syntax do not find, by the syntax and the ID, and the reason.
var otherwise = map[string]string{
	"cii BR-CO-18":   "is found as the empty group that our document has",
	"cii BR-S-01":    "is not evaluated without any VAT breakdown",
	"cii BR-O-01":    "is not evaluated without any VAT breakdown",
	"cii BR-AF-01":   "has no effect in CII",
	"cii BR-AF-08":   "has no effect in CII",
	"cii BR-AF-09":   "has no effect in CII",
	"cii BR-AG-01":   "has no effect in CII",
	"cii BR-AG-08":   "has no effect in CII",
	"cii BR-AG-09":   "has no effect in CII",
	"ubl BR-17":      "is found by the occurrence of elements",
	"ubl CII-SR-467": "is a rule of CII",
	"ubl BR-CL-18":   "is found as BR-CL-17",
}

// TestOfficialRules holds our rules to the official ones: these find nothing in the good invoices, and the rule of each
// planted fault, except those of XRechnung, which has official rules of its own.
//
// If the documents change, set EN16931 to a checkout of ConnectingEurope/eInvoicing-EN16931: the test writes the file
// again with Saxon (libsaxonhe-java).
func TestOfficialRules(t *testing.T) {
	t.Parallel()
	documents := officialDocuments(t)
	if checkout := os.Getenv("EN16931"); checkout != "" {
		writeOfficial(t, checkout, documents)
	}
	text, err := os.ReadFile(officialFile)
	if err != nil {
		t.Fatal(err)
	}
	official := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		name := words[0] + " " + words[1]
		if words[2] != digest(documents[name]) {
			t.Errorf("%s is another document than the official rules have checked; see the comment of this test", name)
		}
		official[name] = words[3:]
	}
	if len(official) != len(documents) {
		t.Fatalf("%d documents, %d results", len(documents), len(official))
	}
	planted := plantedInvoices()
	for name, found := range official {
		kind, number, _ := strings.Cut(name, "-")
		if strings.HasSuffix(kind, " good") {
			if len(found) > 0 {
				t.Errorf("%s breaks %v", name, found)
			}
			continue
		}
		syntax, _, _ := strings.Cut(kind, " ")
		var n int
		if _, err := fmt.Sscanf(number, "%d", &n); err != nil {
			t.Fatal(err)
		}
		p := planted[n]
		german := strings.HasPrefix(p.rule, "BR-DE") || strings.HasPrefix(p.rule, "BR-TMP")
		if !slices.Contains(found, p.rule) && !german && otherwise[syntax+" "+p.rule] == "" {
			t.Errorf("%s: %s is not among %v", name, p.rule, found)
		}
	}
}

func digest(document []byte) string { return fmt.Sprintf("%.6x", sha256.Sum256(document)) }

// failedAssert finds the ID of a broken rule in a report of Schematron.
var failedAssert = regexp.MustCompile(`<svrl:failed-assert\b[^>]*\bid="([^"]+)"`)

// writeOfficial checks documents with the official rules, and writes officialFile.
func writeOfficial(t *testing.T, checkout string, documents map[string][]byte) {
	t.Helper()
	in, out := t.TempDir(), t.TempDir()
	var lines []string
	for _, syntax := range []string{"cii", "ubl"} {
		for _, folder := range []string{in, out} {
			if err := os.Mkdir(filepath.Join(folder, syntax), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, document := range documents {
		if err := os.WriteFile(filepath.Join(in, strings.Replace(name, " ", "/", 1)+".xml"), document, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, syntax := range []string{"cii", "ubl"} {
		sheet := filepath.Join(checkout, syntax, "xslt", "EN16931-"+strings.ToUpper(syntax)+"-validation.xslt")
		saxon := exec.CommandContext(t.Context(), "java", "-cp", "/usr/share/java/Saxon-HE.jar", "net.sf.saxon.Transform",
			"-s:"+filepath.Join(in, syntax), "-xsl:"+sheet, "-o:"+filepath.Join(out, syntax))
		if text, err := saxon.CombinedOutput(); err != nil {
			t.Fatalf("%v: %.2000s", err, text)
		}
	}
	for name, document := range documents {
		report, err := os.ReadFile(filepath.Join(out, strings.Replace(name, " ", "/", 1)+".xml"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if !bytes.Contains(report, []byte("schematron-output")) {
			t.Fatalf("%s: no report: %.200s", name, report)
		}
		var ids []string
		for _, found := range failedAssert.FindAllSubmatch(report, -1) {
			ids = append(ids, string(found[1]))
		}
		slices.Sort(ids)
		lines = append(lines, strings.TrimSpace(name+" "+digest(document)+" "+strings.Join(slices.Compact(ids), " ")))
	}
	slices.SortFunc(lines, cmp.Compare)
	if err := os.WriteFile(officialFile, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
