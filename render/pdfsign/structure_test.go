package pdfsign

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// structures are sound documents with tables as many programs write them.
func structures(t testing.TB) map[string][]byte {
	t.Helper()
	plain := pdftest.Linked().Write()
	packed := pdftest.Transform(t, plain, "--object-streams=generate", "--deterministic-id")
	replaced := func(content []byte, pattern, to string) []byte {
		out := regexp.MustCompile(pattern).ReplaceAll(content, []byte(to))
		if bytes.Equal(out, content) {
			t.Fatalf("%s is not in the document", pattern)
		}
		return out
	}
	head, table, _ := bytes.Cut(plain, []byte("\nxref\n"))
	return map[string][]byte{
		"a stream with a generation": replaced(packed, `0 obj\n<< /Type /XRef`, "1 obj\n<< /Type /XRef"),
		"a size too large":           replaced(plain, `/Size \d+`, "/Size 500"),
		"a size too small":           replaced(plain, `/Size \d+`, "/Size 9"),
		"bytes before the header":    append([]byte("From: a@example.com\r\n\r\n"), plain...),
		"before streams":             append([]byte("\n\n"), packed...),
		"zeros at the end":           append(bytes.Clone(plain), make([]byte, 4000)...),
		"numbers from 1":             bytes.Join([][]byte{head, replaced(table, `^0 `, "1 ")}, []byte("\nxref\n")),
		"entries of 19 bytes":        bytes.Join([][]byte{head, replaced(table, ` \n`, "\n")}, []byte("\nxref\n")),
		"lines that end with CR":     bytes.Join([][]byte{head, replaced(replaced(table, ` \n`, "\n"), `\n`, "\r")}, []byte("\nxref\n")),
		"an offset on the line":      replaced(plain, `startxref\n`, "startxref "),
		"an earlier table at 0":      replaced(plain, `/Info 4 0 R`, "/Info 4 0 R /Prev 0"),
		"no ends of objects":         replaced(plain, `endobj`, "      "),
		"an object without a place":  bytes.Replace(plain, []byte("0000000000 00000 f"), []byte("0000000000 00000 n"), 1),
	}
}

// TestStructures signs documents of all structures twice. Poppler and ourselves accept the signatures.
func TestStructures(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	first, second := a.signer("First", "P-256"), a.signer("Second", "P-384")
	for name, content := range structures(t) {
		visible := a.job(second, LevelB)
		visible.Visible = &Visible{Page: 2, X: 10, Y: 10, Width: 100, Height: 40, Lines: []string{"Second"}}
		signed := mustSign(t, mustSign(t, content, a.job(first, LevelLT)), visible)
		reports := mustVerify(t, signed, a.trust())
		if len(reports) != 2 {
			t.Errorf("%s: %d signatures", name, len(reports))
		}
		for _, r := range reports {
			if r.Verdict != Valid {
				t.Errorf("%s: %s: %s %s", name, r.Field, r.Verdict, r.Reason)
			}
		}
		if out := pdfsig(t, signed); strings.Count(out, "Signature is Valid") != 2 {
			t.Errorf("%s: %s", name, out)
		}

		// A change of the content is found in all of them.
		changed := revised(t, signed, func(d *editedFile) {
			pages, err := d.Pages(maxPages)
			if err != nil {
				t.Fatal(err)
			}
			d.entry(pages[0].Ref, "/Rotate", 90)
		})
		for _, r := range mustVerify(t, changed, a.trust()) {
			if r.Verdict != Invalid {
				t.Errorf("%s, changed: %s: %s %s", name, r.Field, r.Verdict, r.Reason)
			}
		}
	}
}
