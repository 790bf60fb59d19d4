package pdfcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// loops returns a document in which everything refers to itself.
func loops() []byte {
	u, root := pdffile.NewDocument()
	pages, page, content, form, tree, element := u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve()
	action, field, outline, note := u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve()
	many := func(v any) []any { return slices.Repeat([]any{v}, 20_000) }
	u.Set(root, pdffile.Dict{
		"/Type": "/Catalog", "/Pages": pages, "/StructTreeRoot": tree, "/OpenAction": action, "/AcroForm": pdffile.Dict{"/Fields": many(field)},
		"/Outlines": pdffile.Dict{"/First": outline},
	})
	u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Count": 1, "/Kids": append(many(pages), page)})
	u.Set(page, pdffile.Dict{
		"/Type": "/Page", "/Parent": pages, "/MediaBox": []any{0, 0, 200, 200}, "/Contents": many(content), "/Annots": many(note),
		"/Resources": pdffile.Dict{"/XObject": pdffile.Dict{"/F": form}},
	})
	u.Set(content, pdffile.Deflated(pdffile.Dict{}, []byte(strings.Repeat("q /F Do ", 5000))))
	u.Set(form, pdffile.Stream{
		Entries: pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, 9, 9}, "/Resources": pdffile.Dict{"/XObject": pdffile.Dict{"/F": form}}},
		Content: []byte(strings.Repeat("/F Do ", 5000)),
	})
	roles := pdffile.Dict{}
	for i := range 2000 {
		roles[fmt.Sprintf("/R%d", i)] = fmt.Sprintf("/R%d", (i+1)%2000)
	}
	u.Set(tree, pdffile.Dict{"/Type": "/StructTreeRoot", "/K": many(element), "/RoleMap": roles})
	u.Set(element, pdffile.Dict{"/Type": "/StructElem", "/S": "/R1", "/P": tree, "/K": append(many(element), tree)})
	u.Set(action, pdffile.Dict{"/S": "/GoTo", "/Next": many(action)})
	u.Set(field, pdffile.Dict{"/Kids": many(field), "/Parent": field, "/AA": pdffile.Dict{"/K": action}})
	u.Set(outline, pdffile.Dict{"/Title": "u:x", "/First": outline, "/Next": outline, "/A": action})
	u.Set(note, pdffile.Dict{"/Type": "/Annot", "/Subtype": "/Widget", "/Rect": []any{0, 0, 9, 9}, "/Parent": note, "/AP": pdffile.Dict{"/N": form}})
	return u.Document(root)
}

// TestWorkIsLinear checks documents that would take hours if the work grew with the square of their size.
func TestWorkIsLinear(t *testing.T) {
	t.Parallel()
	const many = 200_000
	for name, content := range map[string]string{
		"marks in marks": strings.Repeat("/P BMC ", many) + strings.Repeat("f ", many),
		"long texts":     "[" + strings.Repeat("(a)", 5*many) + "] TJ",
	} {
		u, root := pdffile.NewDocument()
		pages, page, stream, tree := u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve()
		u.Set(stream, pdffile.Deflated(pdffile.Dict{}, []byte(content)))
		u.Set(page, pdffile.Dict{"/Type": "/Page", "/Parent": pages, "/MediaBox": []any{0, 0, 9, 9}, "/Contents": stream})
		u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Count": 1, "/Kids": []any{page}})
		element := func(kids []any) any {
			ref := u.Reserve()
			u.Set(ref, pdffile.Dict{"/S": "/Div", "/K": kids})
			return ref
		}
		var leaves []any
		for range 20_000 {
			leaves = append(leaves, pdffile.Dict{"/S": "/P"})
		}
		for range maxDepth / 2 { // each of them has all leaves
			leaves = []any{element(leaves)}
		}
		u.Set(tree, pdffile.Dict{"/K": leaves})
		u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": pages, "/StructTreeRoot": tree})
		report := Check(read(t, u.Document(root)), pdffile.Standards())
		if report.Conforms == nil || *report.Conforms {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

// TestExhausted checks a document whose pages all refer to one large object, of which too much would be read.
func TestExhausted(t *testing.T) {
	t.Parallel()
	src := read(t, loops())
	c := newChecker(src)
	c.Bound(100_000)
	c.visitAll()
	c.settle()
	if !c.Exhausted() || !c.unread || len(c.found) > 0 {
		t.Errorf("exhausted %v, unread %v, %d rules", c.Exhausted(), c.unread, len(c.found))
	}
}

func read(t testing.TB, content []byte) Source {
	t.Helper()
	f, err := pdffile.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	return Source{File: f, Original: content}
}

func TestLoops(t *testing.T) {
	report := Check(read(t, loops()), pdffile.Standards())
	if report.Conforms == nil || *report.Conforms || len(report.Results) != len(pdffile.Standards()) {
		t.Errorf("%+v", report)
	}
	for _, v := range report.Results[0].Violations {
		if v.Clause == "7.1" && v.Test == 6 && v.Count == 1 {
			return
		}
	}
	t.Error("the loop of roles is not found")
}

// TestRules checks that each rule has all its texts, and a number of its own.
func TestRules(t *testing.T) {
	for _, s := range pdffile.Standards() {
		seen := map[string]string{}
		for _, r := range allRules() {
			clause, test := r.id(s)
			if clause == "" {
				continue
			}
			if !strings.HasSuffix(r.message, ".") || !strings.HasSuffix(r.fix, ".") || test < 1 {
				t.Errorf("%s %s-%d: message %q, remedy %q", s, clause, test, r.message, r.fix)
			}
			seen[fmt.Sprintf("%s-%d", clause, test)] = r.message
			if message, fix := Describe(s, clause, test); message == "" || fix == "" {
				t.Errorf("%s %s-%d is not described", s, clause, test)
			}
		}
		if len(seen) < 40 {
			t.Errorf("%s has %d rules", s, len(seen))
		}
	}
}

// TestNeverConforms checks that a file without a violation is undetermined.
func TestNeverConforms(t *testing.T) {
	report := Report{Results: []Result{{Standard: pdffile.UA1}, {Standard: pdffile.A2B}}}
	if report.Sum(); report.Conforms != nil {
		t.Errorf("conforms: %v", *report.Conforms)
	}
	report.Results[1].Conforms = new(false)
	if report.Sum(); report.Conforms == nil || *report.Conforms {
		t.Errorf("conforms: %v", report.Conforms)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(loops())
	f.Add([]byte("%PDF-1.7\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := pdffile.Read(content)
		if err != nil {
			return
		}
		if report := Check(Source{File: file, Original: content}, pdffile.Standards()); report.Conforms != nil && *report.Conforms {
			t.Error("conforms")
		}
	})
}
