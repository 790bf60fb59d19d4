package pdfsign

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"relaypdf/internal/slow"
	"relaypdf/render/pdf/pdftest"
)

// realDocuments returns documents that others have made and that can be signed, by their names.
func realDocuments(t testing.TB) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(pdftest.Corpus(t), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.EqualFold(filepath.Ext(path), ".pdf") {
			content := pdftest.Load(t, path)
			if _, err := open(content); err == nil {
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

// TestRealDocuments signs documents from the wild at all levels. Poppler and qpdf read the results.
func TestRealDocuments(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	signed := 0
	for name, content := range realDocuments(t) {
		if len(content) > 1<<20 {
			continue
		}
		level := Levels()[signed%len(Levels())]
		result, err := Sign(t.Context(), content, a.job(s, level))
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
