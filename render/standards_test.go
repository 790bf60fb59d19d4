package render

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"

	"github.com/relaypdf/relaypdf/render/pdftag"
)

func TestStandards(t *testing.T) {
	t.Parallel()
	a := start(t, Config{}).For("standards")
	all := []pdffile.Standard{pdffile.UA1, pdffile.A2A}
	const good = "<!doctype html><html lang=en><title>A</title><h1>A</h1><p>Text</p>"
	doc, err := a.PDF(t.Context(), Source{HTML: good}, PageSettings{}, PDF{Standards: all, StandardsStrict: true, Metadata: pdffile.Info{Title: "Named"}})
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(doc.Body.Open())
	if err = errors.Join(err, doc.Body.Close()); err != nil || len(doc.Warnings) > 0 || doc.Pages != 1 {
		t.Errorf("%d pages, %v, %v", doc.Pages, doc.Warnings, err)
	}
	if again, err := pdftag.Conform(content, pdftag.Options{}); err != nil || len(again.Faults) > 0 {
		t.Errorf("the result is not tagged: %v, %v", again.Faults, err)
	}
	const bad = "<h1>A</h1><h3>B</h3>"
	doc, err = a.PDF(t.Context(), Source{HTML: bad}, PageSettings{}, PDF{Standards: all})
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Body.Close(); err != nil {
		t.Error(err)
	}
	if len(doc.Warnings) != 2 || doc.Warnings[0].Code != standardUnmet || !strings.Contains(doc.Warnings[1].Message, `page 1, H3 "B": A heading of level 3`) {
		t.Errorf("warnings %v", doc.Warnings)
	}
	_, err = a.PDF(t.Context(), Source{HTML: bad}, PageSettings{}, PDF{Standards: all, StandardsStrict: true})
	if strict := (*StandardError)(nil); !errors.As(err, &strict) || len(strict.Faults) != 2 {
		t.Errorf("error %v", err)
	}
}

// TestStandardsWithoutStructure: a page whose only text is drawn by the browser itself has no structure.
func TestStandardsWithoutStructure(t *testing.T) {
	t.Parallel()
	a := start(t, Config{}).For("standards")
	const html = `<!doctype html><html lang=en><title>A</title><img alt="Our logo" src="data:image/png;base64,AAAA">`
	doc, err := a.PDF(t.Context(), Source{HTML: html}, PageSettings{}, PDF{Standards: []pdffile.Standard{pdffile.UA1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Body.Close(); err != nil {
		t.Error(err)
	}

	var unmet int
	for _, w := range doc.Warnings {
		if w.Code == standardUnmet {
			unmet++
		}
	}
	if unmet != 2 {
		t.Errorf("warnings %v, want two of %s", doc.Warnings, standardUnmet)
	}
}
