package operation

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/service/schema"
)

// TestPrintsConform prints documents that are to conform to standards: the file claims those that it keeps.
func TestPrintsConform(t *testing.T) {
	deps := newDeps(t)
	document := func(html, options string) string {
		return `{"html":` + quoted(html) + `,"options":{"standards":["ua-1","a-2a"],"metadata":{"title":"Named"}` + options + `}}`
	}
	const good, bad = `<html lang=en><h1>A</h1><p>Text`, `<html lang=en><h1>A</h1><h3>B</h3>`
	for _, test := range []struct{ html, lack, warning string }{
		{good, "nothing", ""},
		{bad, "pdfuaid:part>", `page 1, H3 "B": A heading of level 3 follows one of level 1. Use h2, and set its size with CSS. The file cannot claim ua-1.`},
	} {
		result, err := run(t, deps, "pdf.create", document(test.html, ""))
		if err != nil {
			t.Fatal(err)
		}
		warning := ""
		for _, w := range result.Warnings {
			warning += w.Message
			parts := schema.Warning{
				Code: w.Code, Message: w.Message, Page: 1, Element: "H3", Text: "B",
				Problem: "A heading of level 3 follows one of level 1.", Remedy: "Use h2, and set its size with CSS.", Standards: []string{"ua-1"},
			}
			if !reflect.DeepEqual(w, parts) {
				t.Errorf("warning %+v, want %+v", w, parts)
			}
		}
		if warning != test.warning {
			t.Errorf("%s: warnings %q", test.html, warning)
		}
		content, err := io.ReadAll(result.Body.Open())
		if err = errors.Join(err, result.Body.Close()); err != nil {
			t.Fatal(err)
		}
		path := pdftest.Save(t, content)
		metadata := pdftest.Tool(t, "pdfinfo", "-meta", path)
		if !strings.Contains(metadata, "pdfaid:conformance>A<") || !strings.Contains(metadata, ">Named<") || strings.Contains(metadata, test.lack) {
			t.Errorf("%s: %s", test.html, metadata)
		}
		pdftest.Tool(t, "qpdf", "--check", path)
	}
	_, err := run(t, deps, "pdf.create", document(bad, `,"standardsStrict":true`))
	e := Failure(err)
	if e == nil || e.Code != wire.InvalidRequest || len(e.Details) != 1 || e.Details[0].Field != "options.standards" {
		t.Errorf("error %v, of %v", e, errors.Unwrap(err))
	}
}
