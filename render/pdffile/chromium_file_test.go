package pdffile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// printed is a document as Chromium writes it, of so many pages, whose catalog
// is padded to a length.
func printed(pages, padding int) []byte {
	objects := []string{
		"<</Title (A \\(b\\))\n/Creator (Chromium)>>",
		fmt.Sprintf("<</Type /Catalog\n/Pages 3 0 R\n/Padding (%s)>>", strings.Repeat("x", padding)),
		fmt.Sprintf("<</Type /Pages\n/Count %d\n/Kids [%s]>>", pages, strings.Repeat("4 0 R ", pages)),
		"<</Type /Page\n/Parent 3 0 R>>",
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var rows strings.Builder
	for i, object := range objects {
		fmt.Fprintf(&rows, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 5\n0000000000 65535 f \n%strailer\n<</Size 5\n/Root 2 0 R\n/Info 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", rows.String(), start)
	return b.Bytes()
}

// countPages counts the pages of a printed file, and how many bytes that reads.
func countPages(content []byte) (pages int, read int64, err error) {
	r := &countingReader{Reader: bytes.NewReader(content)}
	f, err := ReadChromium(r, int64(len(content)))
	if err != nil {
		return 0, r.read, err
	}
	pages, err = f.Pages()
	return pages, r.read, err
}

type countingReader struct {
	*bytes.Reader
	read int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	return n, err
}

func TestPrinted(t *testing.T) {
	for _, test := range []struct{ pages, padding, maximum int }{
		{1, 0, 10 << 10}, {600, 0, 16 << 10}, {3, 100 << 10, 512 << 10},
	} {
		got, read, err := countPages(printed(test.pages, test.padding))
		if err != nil || got != test.pages {
			t.Errorf("%d pages, %v; want %d", got, err, test.pages)
		}
		if read > int64(test.maximum) {
			t.Errorf("%d pages, padded by %d: %d bytes were read, want %d at most", test.pages, test.padding, read, test.maximum)
		}
	}
}

// TestPrintedIsBounded gives up objects that are longer than any that Chromium
// writes, and reads no more of them than that.
func TestPrintedIsBounded(t *testing.T) {
	_, read, err := countPages(printed(1, 64<<20))
	if !errors.Is(err, ErrUnread) || read > 2*maxObjectSize {
		t.Errorf("%v after %d bytes, want ErrUnread after %d at most", err, read, 2*maxObjectSize)
	}
}

func TestPrintedRefusesOtherFiles(t *testing.T) {
	good := string(printed(2, 0))
	for name, content := range map[string]string{
		"empty":             "",
		"no trailer":        strings.ReplaceAll(good, "trailer", "trayler"),
		"encrypted":         strings.Replace(good, "/Root", "/Encrypt 3 0 R\n/Root", 1),
		"no catalog":        strings.Replace(good, "/Root 2 0 R", "/Root 4 0 R", 1),
		"two sections":      strings.Replace(good, "xref\n0 5", "xref\n1 4", 1),
		"another size":      strings.Replace(good, "/Size 5", "/Size 9", 1),
		"an object is gone": strings.Replace(good, "00000 n", "00000 f", 2),
		"object elsewhere":  strings.Replace(good, "2 0 obj", "3 0 obj", 1),
		"no object":         strings.Replace(good, "/Pages 3 0 R", "/Pages 7 0 R", 1),
		"no count":          strings.Replace(good, "/Count 2", "/Count (2)", 1),
		"negative count":    strings.Replace(good, "/Count 2", "/Count -2", 1),
		"half a count":      strings.Replace(good, "/Count 2", "/Count 1.5", 1),
		"something after":   good + "more",
		"table at the end":  strings.Replace(good, "startxref\n", "startxref\n9", 1),
	} {
		if content == good {
			t.Errorf("%s: nothing was replaced", name)
		}
		if n, _, err := countPages([]byte(content)); !errors.Is(err, ErrUnread) {
			t.Errorf("%s: %d pages, %v; want ErrUnread", name, n, err)
		}
	}
}

// FuzzChromiumFile reads mutated files. Whatever is in them, reading them is bounded,
// and what is written behind them is found again where the file is sound.
func FuzzChromiumFile(f *testing.F) {
	f.Add(printed(1, 0))
	f.Add(printed(40, 5000))
	f.Fuzz(func(t *testing.T, content []byte) {
		n, read, err := countPages(content)
		if err == nil && n < 1 {
			t.Errorf("%d pages", n)
		}
		if maximum := int64(8 * maxObjectSize); read > maximum {
			t.Errorf("%d bytes were read, want %d at most", read, maximum)
		}
		p, err := ReadChromium(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		entries, err := p.Info()
		if err != nil {
			return
		}
		entries["/Title"] = "u:new"
		changed := append(bytes.Clone(content), p.setInfo(entries)...)
		o, err := Read(changed)
		if err != nil {
			return // the file had faults elsewhere
		}
		if title := Text(o.Entry(o.Trailer("/Info"))["/Title"]); title != "new" {
			t.Errorf("the title is %q after it was set", title)
		}
	})
}
