package pdffile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/spool"
)

// printedDocument builds a one-page PDF in the form in which Chromium writes them,
// with padding bytes of comments to make it large.
func printedDocument(info string, padding int) []byte {
	objects := []string{
		"<<" + info + ">>",
		"<</Type /Catalog\n/Pages 3 0 R>>",
		"<</Type /Pages\n/Count 1\n/Kids [4 0 R]>>",
		"<</Type /Page\n/Parent 3 0 R\n/MediaBox [0 0 612 792]\n/Resources <<>>>>",
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	if padding > 0 {
		b.WriteString("%" + strings.Repeat("x", padding) + "\n")
	}
	var xref strings.Builder
	fmt.Fprintf(&xref, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, object := range objects {
		fmt.Fprintf(&xref, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "%strailer\n<</Size %d\n/Root 2 0 R\n/Info 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", xref.String(), len(objects)+1, start)
	return b.Bytes()
}

const chromiumInfo = "/Title (A \\(b\\) \\\\ (c))\n/Creator (Chromium)\n/Producer (Skia/PDF m156)\n/CreationDate (D:20261120083053+00'00')"

// inspect writes a document to disk, has qpdf check it and returns what
// pdfinfo says of it.
func inspect(t *testing.T, doc *spool.File) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "document.pdf")
	content, err := io.ReadAll(doc.Open())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "qpdf", "--check", path).CombinedOutput(); err != nil || bytes.Contains(out, []byte("WARNING")) {
		t.Errorf("qpdf --check: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "pdfinfo", "-enc", "UTF-8", path).CombinedOutput()
	if err != nil {
		t.Fatalf("pdfinfo: %v\n%s", err, out)
	}
	return string(out)
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	var squeezed []string
	for line := range strings.Lines(text) {
		squeezed = append(squeezed, strings.Join(strings.Fields(line), " "))
	}
	all := "\n" + strings.Join(squeezed, "\n") + "\n"
	for _, line := range lines {
		if !strings.Contains(all, "\n"+line+"\n") {
			t.Errorf("line %q is missing in:\n%s", line, text)
		}
	}
}

func TestSet(t *testing.T) {
	for name, padding := range map[string]int{"in memory": 0, "on disk": spool.MemoryLimit} {
		t.Run(name, func(t *testing.T) {
			doc := spool.New(t.TempDir(), 0)
			defer doc.Close()
			if _, err := doc.Write(printedDocument(chromiumInfo, padding)); err != nil {
				t.Fatal(err)
			}
			info := Info{Title: "Rechnung für 株式会社 😀", Author: "Ana (Ltd) \\ <x>", Subject: "Sub", Keywords: "a, b"}
			if err := DescribeChromium(doc, info); err != nil {
				t.Fatal(err)
			}
			wantLines(t, inspect(t, doc), "Title: Rechnung für 株式会社 😀", `Author: Ana (Ltd) \ <x>`, "Subject: Sub",
				"Keywords: a, b", "Creator: Chromium", "Producer: Skia/PDF m156", "Pages: 1")
		})
	}
}

func TestSetKeepsOtherEntries(t *testing.T) {
	doc := spool.FromBytes(printedDocument(chromiumInfo, 0))
	if err := DescribeChromium(doc, Info{Author: "Ana"}); err != nil {
		t.Fatal(err)
	}
	got := inspect(t, doc)
	wantLines(t, got, `Title: A (b) \ (c)`, "Author: Ana", "Creator: Chromium")
	if strings.Contains(got, "Keywords") {
		t.Errorf("keywords appeared:\n%s", got)
	}
}

func TestSetNothingChangesNothing(t *testing.T) {
	content := printedDocument(chromiumInfo, 0)
	doc := spool.FromBytes(bytes.Clone(content))
	if err := DescribeChromium(doc, Info{}); err != nil || doc.Size() != int64(len(content)) {
		t.Errorf("error %v, size %d; want none and %d", err, doc.Size(), len(content))
	}
}

func TestSetRefusesOtherDocuments(t *testing.T) {
	good := string(printedDocument(chromiumInfo, 0))
	for name, content := range map[string]string{
		"empty":                  "",
		"no trailer":             strings.ReplaceAll(good, "trailer", "trayler"),
		"encrypted":              strings.Replace(good, "/Root 2 0 R", "/Root 2 0 R\n/Encrypt 3 0 R", 1),
		"no information":         strings.Replace(good, "/Info 1 0 R", "", 1),
		"table elsewhere":        strings.Replace(good, "startxref\n", "startxref\n9", 1),
		"another kind of table":  strings.Replace(good, "xref\n0 5\n", "xref\n1 5\n", 1),
		"object elsewhere":       strings.Replace(good, "1 0 obj\n<<", "1 0 obj\n <", 1),
		"object beyond the end":  strings.Replace(good, "/Info 1 0 R", "/Info 900 0 R", 1),
		"value that is a name":   string(printedDocument("/Title /None", 0)),
		"value that is a dict":   string(printedDocument("/Title <</A (b)>>", 0)),
		"string without an end":  string(printedDocument("/Title (abc", 0)),
		"key without a value":    string(printedDocument("/Title", 0)),
		"not a key":              string(printedDocument("(Title) (x)", 0)),
		"already updated by Set": updated(good),
	} {
		doc := spool.FromBytes([]byte(content))
		if err := DescribeChromium(doc, Info{Title: "x"}); !errors.Is(err, errNotChromium) {
			t.Errorf("%s: error %v, want ErrUnsupported", name, err)
		}
		if doc.Size() != int64(len(content)) {
			t.Errorf("%s: %d bytes were appended", name, doc.Size()-int64(len(content)))
		}
	}
}

func updated(content string) string {
	doc := spool.FromBytes([]byte(content))
	if err := DescribeChromium(doc, Info{Title: "first"}); err != nil {
		return ""
	}
	out, _ := io.ReadAll(doc.Open())
	return string(out)
}

func TestSetHonoursTheSpoolsLimit(t *testing.T) {
	content := printedDocument(chromiumInfo, 0)
	doc := spool.New(t.TempDir(), int64(len(content))+10)
	defer doc.Close()
	if _, err := doc.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := DescribeChromium(doc, Info{Title: "x"}); !errors.Is(err, spool.ErrTooLarge) {
		t.Errorf("error %v, want spool.ErrTooLarge", err)
	}
}
