package pdfsign

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// realDocuments returns documents that others have made and that can be signed, by their names.
func realDocuments(t testing.TB) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(pdftest.Corpus(t), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.EqualFold(filepath.Ext(path), ".pdf") {
			content := pdftest.Load(t, path)
			if _, err := open(PDF{Content: content}); err == nil {
				found[filepath.Base(path)] = content
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// kinds are features of documents, with what their bytes or their objects have.
func kinds(content []byte) (found []string) {
	d, err := open(PDF{Content: content})
	if err != nil {
		return nil
	}
	catalog := d.Catalog()
	for kind, has := range map[string]bool{
		"form": catalog["/AcroForm"] != nil, "tagged": catalog["/StructTreeRoot"] != nil, "PDF/A": d.archival(),
		"2.0": bytes.HasPrefix(content, []byte("%PDF-2.")), "linearized": bytes.Contains(content[:min(len(content), 1024)], []byte("/Linearized")),
		"object streams": bytes.Contains(content, []byte("/ObjStm")),
	} {
		if has {
			found = append(found, kind)
		}
	}
	return found
}

// TestRealDocumentsAtAllLevels signs 40 documents from the wild, among them some of each kind, at each level. Poppler and
// ourselves accept all signatures.
func TestRealDocumentsAtAllLevels(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const documents, ofKind = 40, 4
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	all := realDocuments(t)
	for name, content := range sources(t) {
		all["made: "+name] = content
	}
	archive := filepath.Join(t.TempDir(), "archive.pdf")
	pdftest.Tool(t, "gs", "-q", "-dPDFA=2", "-dPDFACompatibilityPolicy=1", "-sDEVICE=pdfwrite", "-sColorConversionStrategy=RGB", "-o", archive, pdftest.Save(t, pdftest.Linked().Write()))
	all["made: PDF/A"] = pdftest.Load(t, archive)
	count, done := map[string]int{}, 0
	sign := func(name string, content []byte) bool {
		for _, level := range levels {
			signed, err := Sign(t.Context(), PDF{Content: content}, a.job(s, level))
			if err != nil {
				var failed *Error
				if !errors.As(err, &failed) || level != LevelB {
					t.Errorf("%s: %s: %v", name, level, err)
				}
				return false
			}
			if out := pdfsig(t, signed); !strings.Contains(out, "Signature is Valid") || strings.Contains(out, "Invalid") {
				t.Errorf("%s: %s: %s", name, level, out)
			}
			reports := mustVerify(t, signed, a.trust())
			for _, r := range reports[max(0, len(reports)-1):] {
				if r.Verdict != Valid {
					t.Errorf("%s: %s: %s %s", name, level, r.Verdict, r.Reason)
				}
			}
		}
		return true
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		content, own := all[name], kinds(all[name])
		rare := slices.ContainsFunc(own, func(kind string) bool { return count[kind] < ofKind })
		if len(content) > 300_000 || !rare && done >= documents || !sign(name, content) {
			continue
		}
		done++
		for _, kind := range own {
			count[kind]++
		}
	}
	if done < documents {
		t.Errorf("%d documents were signed, want %d", done, documents)
	}
	for _, kind := range []string{"form", "tagged", "PDF/A", "2.0", "linearized", "object streams"} {
		if count[kind] == 0 {
			t.Errorf("no document of the kind %s was signed", kind)
		}
	}
	t.Logf("%d documents: %v", done, count)
}

// TestRealDocuments signs documents from the wild, at one level each. Poppler and qpdf read the results.
func TestRealDocuments(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	signed := 0
	for name, content := range realDocuments(t) {
		if len(content) > 1<<20 {
			continue
		}
		level := levels[signed%len(levels)]
		result, err := Sign(t.Context(), PDF{Content: content}, a.job(s, level))
		var failed *Error
		if errors.As(err, &failed) {
			t.Logf("%s: %v", name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		signed++
		if out := pdfsig(t, result); !strings.Contains(out, "Signature is Valid") {
			t.Errorf("%s: %s", name, out)
		}
		reports := mustVerify(t, result, a.trust())
		ours := reports[len(reports)-1]
		if ours.Verdict != Valid {
			t.Errorf("%s: %s %s", name, ours.Verdict, ours.Reason)
		}
	}
	if signed < 40 {
		t.Errorf("%d documents were signed, want 40", signed)
	}
}
