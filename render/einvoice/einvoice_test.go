package einvoice

import (
	"bytes"
	"encoding/json"
	"testing"
)

// generated is the number of invoices of the property tests.
const generated = 200

func jsonOf(tb testing.TB, invoice *Invoice) string {
	tb.Helper()
	text, err := json.MarshalIndent(invoice, "", " ")
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// TestInvoicesAreReadAsTheyWereWritten writes generated invoices in both syntaxes, as JSON too, and reads them.
func TestInvoicesAreReadAsTheyWereWritten(t *testing.T) {
	for seed := range uint64(generated) {
		invoice := generate(seed)
		want := jsonOf(t, invoice)
		for _, syntax := range []Syntax{CII, UBL} {
			document, err := Write(invoice, syntax, EN16931)
			if err != nil {
				t.Fatal(err)
			}
			read, err := Read(document)
			if err != nil {
				t.Fatalf("%d %s: %v", seed, syntax, err)
			}
			if got := jsonOf(t, read.Invoice); got != want {
				t.Fatalf("%d %s: %s", seed, syntax, firstDifference(got, want))
			}
			if read.Profile != EN16931 || read.Syntax != syntax || len(read.Findings) > 0 {
				t.Fatalf("%d %s: %s %s %+v", seed, syntax, read.Profile, read.Syntax, read.Findings)
			}
			again, err := Write(read.Invoice, syntax, EN16931)
			if err != nil || !bytes.Equal(document, again) {
				t.Fatalf("%d %s: the second document differs (%v)", seed, syntax, err)
			}
		}
		var parsed Invoice
		if err := json.Unmarshal([]byte(want), &parsed); err != nil {
			t.Fatal(err)
		}
		if got := jsonOf(t, &parsed); got != want {
			t.Fatalf("%d JSON: %s", seed, firstDifference(got, want))
		}
	}
}

func firstDifference(got, want string) string {
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	from := max(0, at-120)
	return "got " + got[from:min(len(got), at+120)] + "\nwant " + want[from:min(len(want), at+120)]
}
