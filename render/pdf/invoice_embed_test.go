package pdf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

const printedPage = `<!doctype html><html lang="de"><meta charset="utf-8"><title>Rechnung R-1</title><h1>Rechnung R-1</h1><p>Summe 11,90 €</p>`

// printedInvoice returns a page as a PDF that claims standards.
func printedInvoice(t *testing.T, standards ...pdffile.Standard) []byte {
	t.Helper()
	source, out := filepath.Join(t.TempDir(), "page.html"), filepath.Join(t.TempDir(), "page.pdf")
	if err := os.WriteFile(source, []byte(printedPage), 0o600); err != nil {
		t.Fatal(err)
	}
	pdftest.Tool(t, "chromium-headless-shell", "--no-sandbox", "--no-pdf-header-footer", "--print-to-pdf="+out, source)
	r, err := pdftag.Conform(pdftest.Load(t, out), pdftag.Options{Standards: standards})
	if err != nil || len(r.Claimed) != len(standards) {
		t.Fatal(r.Claimed, r.Faults, err)
	}
	return r.PDF
}

var minimalInvoice = []byte(`<?xml version="1.0" encoding="UTF-8"?><rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"/>`)

// TestEmbeddedInvoicesConform attaches an e-invoice in all profiles to prints that claim PDF/A and PDF/UA. The result
// claims PDF/A-3, keeps it as veraPDF sees it, and has the e-invoice.
func TestEmbeddedInvoicesConform(t *testing.T) {
	sharedtest.Slow(t)
	dir := t.TempDir()
	files := map[string][]string{}
	for _, test := range []struct {
		standard string
		claims   []pdffile.Standard
	}{
		{"3a", []pdffile.Standard{pdffile.UA1, pdffile.A2A}},
		{"3a", []pdffile.Standard{pdffile.A3A}},
		{"3b", []pdffile.Standard{pdffile.A2B}},
	} {
		archival := printedInvoice(t, test.claims...)
		for _, profile := range einvoice.Profiles() {
			made, err := embedInvoice(archival, embeddedInvoice{XML: minimalInvoice, Profile: profile, Modified: time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, string(profile)+string(test.claims[0])+".pdf")
			if err := os.WriteFile(file, made, 0o600); err != nil {
				t.Fatal(err)
			}
			pdftest.Tool(t, "qpdf", "--check", file)
			files[test.standard] = append(files[test.standard], file)
			if slices.Contains(test.claims, pdffile.UA1) {
				files["ua1"] = append(files["ua1"], file)
			}
			f, err := pdffile.Read(made)
			if err != nil {
				t.Fatal(err)
			}
			content, name, err := findInvoice(f)
			if err != nil || !bytes.Equal(content, minimalInvoice) || name != invoiceFilename(profile) {
				t.Fatalf("%s: found %q %.60q, %v", profile, name, content, err)
			}
			if listed := pdftest.Tool(t, "pdfdetach", "-list", file); !strings.Contains(listed, name) {
				t.Errorf("pdfdetach: %s", listed)
			}
			if _, err := embedInvoice(made, embeddedInvoice{XML: minimalInvoice, Profile: profile}); !errors.Is(err, errHasInvoice) {
				t.Errorf("a second e-invoice: %v", err)
			}
		}
	}
	for standard, list := range files {
		for file, broken := range pdftest.VeraPDF(t, standard, list...) {
			t.Errorf("%s %s: %v", standard, filepath.Base(file), broken)
		}
	}
}

// TestOtherFilesAreRefused gives Embed and Find files that they are not for.
func TestOtherFilesAreRefused(t *testing.T) {
	plain, root := pdffile.NewDocument()
	pages := plain.Reserve()
	plain.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Kids": []any{}, "/Count": 0})
	plain.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": pages})
	file := plain.Document(root)
	if _, err := embedInvoice(file, embeddedInvoice{XML: minimalInvoice, Profile: einvoice.EN16931}); !errors.Is(err, errNotArchival) {
		t.Errorf("Embed: %v", err)
	}
	f, err := pdffile.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := findInvoice(f); !errors.Is(err, errNoInvoice) {
		t.Errorf("Find: %v", err)
	}
}
