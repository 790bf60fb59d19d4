package pdf

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// veraSample is a report of veraPDF 1.31, without its frame.
const veraSample = `Picked up JAVA_TOOL_OPTIONS
<?xml version="1.0" encoding="utf-8"?>
<report><buildInformation><releaseDetails id="core" version="1.31.22"></releaseDetails></buildInformation><jobs><job>
<item size="34282"><name>input.pdf</name></item>
<validationReport jobEndStatus="normal" profileName="PDF/UA-1 validation profile" isCompliant="false">
<details passedRules="104" failedRules="2" passedChecks="198" failedChecks="3">
<rule specification="ISO 14289-1:2014" clause="7.18.5" testNumber="2" status="failed" failedChecks="2" tags="annotation">
<description>Links shall contain
 an alternate description</description><object>PDLinkAnnot</object><test>Contents != null</test>
<check status="failed"><context>root/document[0]/pages[3](7 0 obj PDPage)/annots[0](14 0 obj PDLinkAnnot)</context></check>
</rule>
<rule specification="ISO 14289-1:2014" clause="7.99" testNumber="1" status="failed" failedChecks="1">
<description>A rule that
 is new</description><check status="failed"><context>root</context></check>
</rule>
</details></validationReport></job></jobs></report>`

func TestReadVeraPDF(t *testing.T) {
	r, ok := readVeraPDF([]byte(veraSample), pdffile.UA1)
	if !ok || r.Conforms == nil || *r.Conforms || len(r.Violations) != 2 {
		t.Fatalf("%v %+v", ok, r)
	}
	if v := r.Violations[0]; v.Clause != "7.18.5" || v.Test != 2 || v.Count != 2 || *v.Page != 4 || *v.Object != "14 0 R" || v.Message != "A link has no description (Contents)." || v.Fix == "" {
		t.Errorf("%+v", v)
	}
	if v := r.Violations[1]; v.Message != "A rule that is new" || v.Fix != "See clause 7.99 of ISO 14289-1." || v.Page != nil || v.Object != nil {
		t.Errorf("%+v", v)
	}
	for name, text := range map[string]string{
		"nothing": "", "no verdict": "<report><jobs><job><taskException/></job></jobs></report>",
		"a verdict without a reason": `<report><jobs><job><validationReport isCompliant="false"></validationReport></job></jobs></report>`,
		"an unfinished check":        `<report><jobs><job><validationReport jobEndStatus="timeout" isCompliant="true"></validationReport></job></jobs></report>`,
	} {
		if r, ok := readVeraPDF([]byte(text), pdffile.UA1); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r, ok := readVeraPDF([]byte(`<report><jobs><job><validationReport jobEndStatus="normal" isCompliant="true"></validationReport></job></jobs></report>`), pdffile.A2B); !ok || !*r.Conforms {
		t.Errorf("%v %+v", ok, r)
	}
}

// TestVeraPDFGivesTheVerdict checks documents with the program that the image has.
func TestVeraPDFGivesTheVerdict(t *testing.T) {
	check := func(document []byte, standard pdffile.Standard) pdfcheck.Result {
		t.Helper()
		program := exec.CommandContext(t.Context(), pdftest.VeraFolder+"/verapdf", veraArgs(standard, pdftest.Save(t, document))...)
		program.Env = append(os.Environ(), form.JavaEnv()...)
		out, err := program.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != veraFailed) {
			t.Fatal(err)
		}

		result, ok := readVeraPDF(out, standard)
		if !ok || (err == nil) != *result.Conforms {
			t.Fatalf("got %v and %q, want a verdict", err, out)
		}
		return result
	}

	good := conforming(t)
	for _, standard := range []pdffile.Standard{pdffile.UA1, pdffile.A2A} {
		if result := check(good, standard); !*result.Conforms {
			t.Errorf("%s: got %+v, want a file that conforms", standard, result)
		}
	}

	untitled := changed(t, good, "/Annot", pdffile.Dict{"/Contents": nil})
	result := check(untitled, pdffile.UA1)
	link := slices.IndexFunc(result.Violations, func(v pdfcheck.Violation) bool { return v.Clause == "7.18.5" })
	if *result.Conforms || link < 0 {
		t.Fatalf("got %+v, want a violation of clause 7.18.5", result)
	}
	if v := result.Violations[link]; v.Page == nil || *v.Page != 1 || v.Message == "" || v.Fix == "" {
		t.Errorf("got %+v, want a link without a description on page 1", v)
	}
}
