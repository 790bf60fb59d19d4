package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os/exec"
	"strings"
	"testing"
)

// batchDocument is a record's document: its words are a canary, and its picture has a width that others do not have.
func batchDocument(t *testing.T, index int, attribute, content string) string {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 20+index, 7))); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`<!doctype html><html lang="en" style='--who: "%[1]s"'><head><meta charset="utf-8"><title>%[1]s</title><style>
@page { margin: 20mm; @top-left { content: var(--who) } @bottom-right { content: "%[1]s " counter(page) "/" counter(pages) } }
* { margin: 0 } * + * { margin-top: 1mm } p:first-child { font-weight: bold } body { padding: 2mm } .low { position: absolute; bottom: 0 }
</style></head><body><p>%[1]s %[2]c</p><img src="data:image/png;base64,%[3]s" alt=""><p %[4]s>%[5]s</p><p class="low">%[1]s</p></body></html>`,
		batchCanary(index), 'А'+rune(index), base64.StdEncoding.EncodeToString(picture.Bytes()), attribute, content)
}

func batchCanary(index int) string { return fmt.Sprintf("CANARY%02dX", index) }

// hostileRecords are contents of records that try to reach others.
var hostileRecords = []struct{ attribute, content string }{
	{"", "plain"},
	{`style="position:absolute;top:300mm"`, "ESCAPE"},
	{`style="position:absolute;top:-100mm"`, "ESCAPE"},
	{`style="margin-top:400mm"`, "ESCAPE"},
	{`style="margin-top:-300mm"`, "ESCAPE"},
	{`style="transform:translateY(300mm)"`, "ESCAPE"},
	{`style="position:relative;top:280mm"`, "ESCAPE"},
	{`style="position:fixed;top:0"`, "ESCAPE"},
	{`style="height:1mm"`, strings.Repeat("<br>ESCAPE", 120)},
	{"", strings.Repeat("long<br>", 80)},
	{"", strings.Repeat("longer<br>", 140)},
	{"", "</p></body></html><p>ESCAPE"},
	{"", "</rp-body></rp-root></rp-2></div><div>ESCAPE"},
	{"", "<style>body > * {display:none} * {color:red}</style>"},
	{"", `<base href="https://example.com/"><meta http-equiv="refresh" content="0;url=about:blank">`},
	{"", "<b><i><table><tr><td><div>unclosed"},
	{"", "<plaintext>ESCAPE"}, {"", "<svg><style>*{display:none}</style></svg>"}, {"", "<!-- open"},
	{"", `<a id="rp-end-1" href="#rp-end-1">x</a>`}, {"", `<a href="https://example.com/">a link</a>`},
	{`style="break-before:page"`, "second"}, {`style="page:rp-1"`, "x"}, {`style="white-space:nowrap"`, strings.Repeat("wide", 200)},
	{`dir="rtl"`, "שלום עולם"}, {"", strings.Repeat("x", 300)}, {"", ""}, {"", "plain"},
}

// TestBatchKeepsRecordsApart prints records that try to reach others in one batch. Each file has the pages of a print of
// its own, and nothing of others: no text, no picture, and no letter of a font.
func TestBatchKeepsRecordsApart(t *testing.T) {
	t.Parallel()
	account := start(t, Config{}).For("acc")
	var documents []string
	for i, hostile := range hostileRecords {
		documents = append(documents, batchDocument(t, 2*i, "", "plain"), batchDocument(t, 2*i+1, hostile.attribute, hostile.content))
	}
	opt := PDF{Width: 8.27, Height: 11.69}
	results, err := account.Batch(Page{}, opt, false).Print(t.Context(), documents)
	if err != nil || len(results) != len(documents) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	together := 0
	for i, result := range results {
		if result == nil {
			continue
		}
		together++
		alone, err := account.PDF(t.Context(), Source{HTML: documents[i]}, Page{}, opt)
		if err != nil {
			t.Fatal(err)
		}
		path, want := save(t, result.Body), save(t, alone.Body)
		if alone.Pages != 1 || !bytes.Equal(output(t, "pdftoppm", "-r", "60", path), output(t, "pdftoppm", "-r", "60", want)) {
			t.Errorf("record %d: the pages differ from those of a print of its own", i)
		}
		if got, want := string(output(t, "pdftotext", path, "-")), string(output(t, "pdftotext", want, "-")); got != want {
			t.Errorf("record %d: text %q, want %q", i, got, want)
		}
		checkApart(t, i, path)
	}
	if together < len(documents)/2 || together > len(documents)-8 {
		t.Errorf("%d of %d records were printed together", together, len(documents))
	}
	t.Logf("%d of %d records were printed together", together, len(documents))
}

// checkApart searches a record's file for parts of others.
func checkApart(t *testing.T, index int, path string) {
	t.Helper()
	raw := string(output(t, "qpdf", "--qdf", "--object-streams=disable", "--decode-level=all", path, "-"))
	for other := range 2 * len(hostileRecords) {
		if other == index {
			continue
		}
		if strings.Contains(raw, batchCanary(other)) {
			t.Errorf("record %d contains the canary of %d", index, other)
		}
		if letter := fmt.Sprintf("<%04X>\n", 'А'+rune(other)); strings.Contains(raw, letter) {
			t.Errorf("record %d has a letter of %d: %s", index, other, letter)
		}
		if width := fmt.Sprintf("/Width %d\n", 20+other); strings.Contains(raw, width) {
			t.Errorf("record %d has the picture of %d", index, other)
		}
	}
}

// TestBatchLeavesDocumentsJoined prints records of which one has more pages into as few files as possible.
func TestBatchLeavesDocumentsJoined(t *testing.T) {
	t.Parallel()
	account := start(t, Config{}).For("acc")
	var documents []string
	for i := range 6 {
		documents = append(documents, batchDocument(t, i, "", "plain"))
	}
	documents[4] = batchDocument(t, 4, `style="break-before:page"`, "second")
	results, err := account.Batch(Page{}, PDF{}, true).Print(t.Context(), documents)
	if err != nil {
		t.Fatal(err)
	}
	path := save(t, results[0].Body)
	if raw := output(t, "qpdf", "--qdf", path, "-"); bytes.Contains(raw, []byte("rp-end")) {
		t.Error("the file has marks of the batch")
	}
	if results[0].Pages != 4 {
		t.Errorf("the first file has %d pages, want 4", results[0].Pages)
	}
	for i, result := range results[1:] {
		if inFirst := result != nil && result.Body == nil; inFirst != (i+1 < 4) {
			t.Errorf("record %d is %+v", i+1, result)
		}
	}
}

func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}
