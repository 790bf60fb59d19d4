package einvoice

import "testing"

// FuzzRead reads, checks and writes mutated documents.
func FuzzRead(f *testing.F) {
	for seed := range uint64(3) {
		for _, syntax := range []Syntax{CII, UBL} {
			document, err := Write(generate(seed), syntax, EN16931)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(document)
		}
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		read, err := Read(document)
		if err != nil {
			return
		}
		for _, profile := range Profiles() {
			Check(read.Invoice, read.Syntax, profile)
		}
		again, err := Write(read.Invoice, read.Syntax, EN16931)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(again); err != nil {
			t.Fatalf("%v in %s", err, again)
		}
		Compare(read.Invoice, []string{string(document)})
	})
}
