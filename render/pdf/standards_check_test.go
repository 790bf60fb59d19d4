package pdf

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

// conforming returns a document that conforms to PDF/UA-1 and PDF/A-2A: a heading with a link, and a list.
func conforming(t *testing.T) []byte {
	t.Helper()
	u, root := pdffile.NewDocument()
	pages, page, content, tree, heading, link, note := u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve()
	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": pages, "/StructTreeRoot": tree, "/Lang": "u:en"})
	u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Count": 1, "/Kids": []any{page}})
	u.Set(page, pdffile.Dict{
		"/Type": "/Page", "/Parent": pages, "/MediaBox": []any{0, 0, 200, 200}, "/Contents": content, "/Annots": []any{note},
		"/Resources": pdffile.Dict{"/ExtGState": pdffile.Dict{"/G": pdffile.Dict{"/CA": 1}}},
	})
	u.Set(content, pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte("/G gs 0 g /H1 <</MCID 0>> BDC 9 9 50 50 re f EMC")})
	u.Set(tree, pdffile.Dict{"/Type": "/StructTreeRoot", "/K": heading})
	u.Set(heading, pdffile.Dict{"/Type": "/StructElem", "/S": "/H1", "/P": tree, "/Pg": page, "/K": []any{0, link}, "/Alt": "u:Test"})
	u.Set(link, pdffile.Dict{"/Type": "/StructElem", "/S": "/Link", "/P": heading, "/Pg": page, "/K": pdffile.Dict{"/Type": "/OBJR", "/Obj": note}})
	u.Set(note, pdffile.Dict{
		"/Type": "/Annot", "/Subtype": "/Link", "/Rect": []any{9, 9, 20, 20}, "/Contents": "u:Test", "/A": pdffile.Dict{"/S": "/URI", "/URI": "u:https://example.com"},
	})
	u.SetInfo(pdffile.Dict{"/Title": "u:Test"})
	r, err := pdftag.Conform(u.Document(root), pdftag.Options{Standards: []pdffile.Standard{pdffile.UA1, pdffile.A2A}})
	if err != nil || len(r.Claimed) != 2 {
		t.Fatalf("claims %v, faults %v: %v", r.Claimed, r.Faults, err)
	}
	return r.PDF
}

// changed returns a document with other entries in its first object of a type: the catalog, a page, and so on.
func changed(t *testing.T, doc []byte, what string, entries pdffile.Dict) []byte {
	t.Helper()
	f, err := pdffile.Read(doc)
	if err != nil {
		t.Fatal(err)
	}
	u := f.NewUpdate()
	for _, ref := range f.References() {
		found := f.Dict(ref)
		if found["/Type"] != what && found["/S"] != what {
			continue
		}
		maps.Copy(found, entries)
		maps.DeleteFunc(found, func(_ string, v any) bool { return v == nil })
		if s, ok := f.Stream(ref); ok {
			s.Entries = found
			u.Set(ref, s)
		} else {
			u.Set(ref, found)
		}
		made, err := u.Compact()
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	t.Fatalf("no %s", what)
	return nil
}

// broken are changes of the conforming document, and the rules that they violate by standard.
var broken = []struct {
	name, what string
	entries    pdffile.Dict
	ua, a      string
}{
	{"nothing", "/Catalog", pdffile.Dict{}, "", ""},
	{"metadata", "/Catalog", pdffile.Dict{"/Metadata": nil}, "7.1-8", "6.6.2.1-1"},
	{"title not displayed", "/Catalog", pdffile.Dict{"/ViewerPreferences": nil}, "7.1-10", ""},
	{"no tags", "/Catalog", pdffile.Dict{"/StructTreeRoot": nil, "/MarkInfo": nil}, "6.2-1 7.1-11 7.18.5-1", "6.7.2.2-1 6.7.3.3-1"},
	{"suspects", "/Catalog", pdffile.Dict{"/MarkInfo": pdffile.Dict{"/Marked": true, "/Suspects": true}}, "7.1-4", ""},
	{"language", "/Catalog", pdffile.Dict{"/Lang": "u:english please"}, "7.2-29", "6.7.4-1"},
	{"requirements", "/Catalog", pdffile.Dict{"/Requirements": []any{}}, "", "6.11-1"},
	{"actions", "/Catalog", pdffile.Dict{"/AA": pdffile.Dict{"/WC": pdffile.Dict{"/S": "/JavaScript", "/JS": "u:1"}}}, "", "6.5.1-1 6.5.2-1"},
	{"named action", "/Catalog", pdffile.Dict{"/OpenAction": pdffile.Dict{"/S": "/Named", "/N": "/Print"}}, "", "6.5.1-2"},
	{"profile", "/Catalog", pdffile.Dict{"/OutputIntents": nil}, "", "6.2.4.3-4"},
	{"form", "/Catalog", pdffile.Dict{"/AcroForm": pdffile.Dict{"/Fields": []any{}, "/NeedAppearances": true}}, "", "6.4.1-3"},
	{"tabs", "/Page", pdffile.Dict{"/Tabs": nil}, "7.18.3-1", ""},
	{"page size", "/Page", pdffile.Dict{"/MediaBox": []any{0, 0, 200, 2}}, "", "6.1.13-11"},
	{"steps", "/Page", pdffile.Dict{"/PresSteps": pdffile.Dict{"/Type": "/NavNode"}}, "", "6.10-2"},
	{"blend mode", "/Page", pdffile.Dict{"/Resources": pdffile.Dict{"/ExtGState": pdffile.Dict{"/G": pdffile.Dict{"/BM": "/Odd", "/TR": "/Identity"}}}}, "", "6.2.5-1 6.2.10-1"},
	{"link", "/Annot", pdffile.Dict{"/Contents": nil, "/F": 0}, "7.18.1-2 7.18.5-2", "6.3.2-2"},
	{"kind of annotation", "/Annot", pdffile.Dict{"/Subtype": "/Movie", "/A": nil}, "7.18.1-1", "6.3.1-1 6.3.3-1"},
	{"figure", "/H1", pdffile.Dict{"/S": "/Figure", "/Alt": nil}, "7.3-1", ""},
	{"heading", "/H1", pdffile.Dict{"/S": "/H3"}, "7.4.2-1", ""},
	{"type", "/H1", pdffile.Dict{"/S": "/Odd"}, "7.1-5", "6.7.3.4-1"},
	{"cell", "/H1", pdffile.Dict{"/S": "/TD"}, "7.2-9", ""},
	{"list", "/H1", pdffile.Dict{"/S": "/L"}, "7.2-19", ""},
	{"note", "/H1", pdffile.Dict{"/S": "/Note"}, "7.9-1", ""},
}

// ids returns the rules that a result lists.
func ids(r pdfcheck.Result) string {
	var list []string
	for _, v := range r.Violations {
		list = append(list, fmt.Sprintf("%s-%d", v.Clause, v.Test))
	}
	return strings.Join(list, " ")
}

func TestCheckStandards(t *testing.T) {
	good := conforming(t)
	for _, q := range broken {
		report := unmarshal[pdfcheck.Report](t, result(t, CheckJob.Name, CheckArgs{Input: input(""), Standards: []pdffile.Standard{pdffile.UA1, pdffile.A2A}}, changed(t, good, q.what, q.entries)))
		if len(report.Results) != 2 {
			t.Fatalf("%s: %+v", q.name, report)
		}
		for i, want := range []string{q.ua, q.a} {
			r := report.Results[i]
			if got := ids(r); got != want {
				t.Errorf("%s: %s violates %q, want %q", q.name, r.Standard, got, want)
			}
			if conforms := r.Conforms; want == "" && conforms != nil || want != "" && (conforms == nil || *conforms) {
				t.Errorf("%s: %s conforms: %v", q.name, r.Standard, conforms)
			}
			if len(r.Unchecked) == 0 {
				t.Errorf("%s: nothing is unchecked", q.name)
			}
			for _, v := range r.Violations {
				if v.Count < 1 || len(v.Places) == 0 || v.Message == "" || v.Fix == "" {
					t.Errorf("%s: %+v", q.name, v)
				}
			}
		}
	}
}

// TestCheckAgreesWithVeraPDF checks that what is found is right, as veraPDF sees it, and that a file without violations
// has none.
func TestCheckAgreesWithVeraPDF(t *testing.T) {
	sharedtest.Slow(t)
	good := conforming(t)
	var files []string
	for _, q := range broken {
		files = append(files, pdftest.Save(t, changed(t, good, q.what, q.entries)))
	}
	for flavour, want := range map[string]func(i int) string{
		"ua1": func(i int) string { return broken[i].ua },
		"2a":  func(i int) string { return broken[i].a },
	} {
		found := pdftest.VeraPDF(t, flavour, files...)
		for i, file := range files {
			var rules []string
			for _, line := range found[file] {
				rule, _, _ := strings.Cut(line, "\t")
				rules = append(rules, rule)
			}
			for _, rule := range strings.Fields(want(i)) {
				if !slices.Contains(rules, rule) {
					t.Errorf("%s: veraPDF does not find %s of %s, but %q", broken[i].name, rule, flavour, rules)
				}
			}
			if want(i) == "" && len(rules) > 0 {
				t.Errorf("%s: veraPDF finds %q of %s", broken[i].name, rules, flavour)
			}
		}
	}
}

// TestCheckPlaces checks where violations are, and that they are counted.
func TestCheckPlaces(t *testing.T) {
	args := CheckArgs{Input: input(""), Standards: []pdffile.Standard{pdffile.UA1}}
	doc := changed(t, conforming(t), "/Annot", pdffile.Dict{"/Contents": nil})
	f, err := pdffile.Read(doc)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := f.Pages(1)
	if err != nil {
		t.Fatal(err)
	}
	link := pdffile.Reference(pages[0].Entries["/Annots"].([]any)[0])
	for _, v := range unmarshal[pdfcheck.Report](t, result(t, CheckJob.Name, args, doc)).Results[0].Violations {
		if v.Page == nil || *v.Page != 1 || v.Object == nil || *v.Object != link || v.Count != 1 {
			t.Errorf("%+v, want page 1, object %s", v, link)
		}
	}
	untagged := unmarshal[pdfcheck.Report](t, result(t, CheckJob.Name, args, three().Write())).Results[0]
	for _, v := range untagged.Violations {
		if v.Clause == "7.1" && v.Test == 3 && v.Count != 3 {
			t.Errorf("%d of three pages are not marked", v.Count)
		}
	}
}

// TestCheckUnreadable checks files that are encrypted, damaged, or no PDFs.
func TestCheckUnreadable(t *testing.T) {
	args := func(password string) CheckArgs {
		return CheckArgs{Input: input(password), Standards: []pdffile.Standard{pdffile.A1B, pdffile.UA1}}
	}
	locked := make1(t, ProtectJob.Name, Protection{Input: input(""), UserPassword: "u", OwnerPassword: "o"}, conforming(t))
	fails(t, job.PasswordRequired, CheckJob.Name, args(""), locked)
	fails(t, job.WrongPassword, CheckJob.Name, args("x"), locked)
	fails(t, job.NotPDF, CheckJob.Name, args(""), []byte("hello"))
	fails(t, job.Damaged, CheckJob.Name, args(""), []byte("%PDF-1.7\n%%EOF"))
	opened := unmarshal[pdfcheck.Report](t, result(t, CheckJob.Name, args("u"), locked))
	if got := ids(opened.Results[0]); !strings.Contains(got, "6.1.3-2") || strings.Contains(ids(opened.Results[1]), "7.16-1") {
		t.Errorf("encrypted: %q, %q", got, ids(opened.Results[1]))
	}
	repaired := unmarshal[pdfcheck.Report](t, result(t, CheckJob.Name, args(""), bytes.Replace(three().Write(), []byte("startxref\n"), []byte("startxref\n1"), 1)))
	if c := repaired.Conforms; c == nil || *c {
		t.Errorf("damaged: %+v", repaired)
	}
}

// TestCheckManyPlaces checks that the places of a violation are bounded.
func TestCheckManyPlaces(t *testing.T) {
	doc := three()
	for i := range 3 {
		doc.Annots = map[int]string{i: strings.Repeat("<< /Type /Annot /Subtype /Movie /Rect [0 0 9 9] >> ", 500)}
	}
	for _, v := range unmarshal[pdfcheck.Report](t, result(t, CheckJob.Name, CheckArgs{Input: input(""), Standards: pdffile.Standards()}, doc.Write())).Results[1].Violations {
		if len(v.Places) > pdfcheck.MaxPlaces || v.Count < len(v.Places) {
			t.Errorf("%s has %d places, %d listed", v.Clause, v.Count, len(v.Places))
		}
	}
}
