package pdf

import (
	"bytes"
	"encoding/binary"
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

// violations are changes of the conforming document, and the rules that they violate by standard.
var violations = []struct {
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
	for _, q := range violations {
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
	for _, q := range violations {
		files = append(files, pdftest.Save(t, changed(t, good, q.what, q.entries)))
	}
	for flavour, want := range map[string]func(i int) string{
		"ua1": func(i int) string { return violations[i].ua },
		"2a":  func(i int) string { return violations[i].a },
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
					t.Errorf("%s: veraPDF does not find %s of %s, but %q", violations[i].name, rule, flavour, rules)
				}
			}
			if want(i) == "" && len(rules) > 0 {
				t.Errorf("%s: veraPDF finds %q of %s", violations[i].name, rules, flavour)
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
	locked := makeOne(t, ProtectJob.Name, ProtectArgs{Input: input(""), UserPassword: "u", OwnerPassword: "o"}, conforming(t))
	runFailing(t, job.PasswordRequired, CheckJob.Name, args(""), locked)
	runFailing(t, job.WrongPassword, CheckJob.Name, args("x"), locked)
	runFailing(t, job.NotPDF, CheckJob.Name, args(""), []byte("hello"))
	runFailing(t, job.Damaged, CheckJob.Name, args(""), []byte("%PDF-1.7\n%%EOF"))
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

// contentCase is a change of the content of the conforming document, and the rules that it violates by standard.
type contentCase struct {
	name    string
	content any // operators, or a stream
	// resources returns the resources of the page and new entries of the catalog. add adds an object.
	resources  func(add func(v any) string) (resources, catalog pdffile.Dict)
	a1, a2, a3 string
}

// used are resources of one kind, under the name X.
func used(kind string, create func(add func(v any) string) any) func(func(any) string) (pdffile.Dict, pdffile.Dict) {
	return func(add func(v any) string) (pdffile.Dict, pdffile.Dict) {
		return pdffile.Dict{kind: pdffile.Dict{"/X": create(add)}}, nil
	}
}

// tint is a function from one color to four inks.
var tint = pdffile.Dict{"/FunctionType": 2, "/Domain": []any{0, 1}, "/C0": []any{0, 0, 0, 0}, "/C1": []any{1, 1, 1, 1}, "/N": 1}

// iccBased returns a color space whose profile has other bytes at some offsets.
func iccBased(components int, bytes map[int]string) func(add func(v any) string) any {
	return func(add func(v any) string) any {
		profile := slices.Clone(pdftag.Profile())
		for at, text := range bytes {
			copy(profile[at:], text)
		}
		return []any{"/ICCBased", add(pdffile.Deflated(pdffile.Dict{"/N": components}, profile))}
	}
}

// jp2Box returns a box of JPEG 2000.
func jp2Box(kind string, content string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(content)))) + kind + content
}

// jp2 returns an image in JPEG 2000 with boxes in its header.
func jp2(boxes ...string) func(add func(v any) string) any {
	const signature, codestream = "\r\n\x87\n", "\xff\x4f\xff\x51\x00\x29\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x07\x01\x01\xff\xd9"
	file := jp2Box("jP  ", signature) + jp2Box("ftyp", "jp2 \x00\x00\x00\x00jp2 ") + jp2Box("jp2h", strings.Join(boxes, "")) + jp2Box("jp2c", codestream)
	return jpxImage(file)
}

func jpxImage(content string) func(add func(v any) string) any {
	return func(add func(v any) string) any {
		return add(pdffile.Stream{
			Entries: pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Image", "/Width": 1, "/Height": 1, "/Filter": "/JPXDecode"},
			Content: []byte(content),
		})
	}
}

// jp2Header returns the first box of a header: channels, and bits per channel less 1.
func jp2Header(channels, bits byte) string {
	return jp2Box("ihdr", "\x00\x00\x00\x01\x00\x00\x00\x01\x00"+string([]byte{channels, bits})+"\x07\x00\x00")
}

// colorBox returns a color space of JPEG 2000 by its number.
func colorBox(method, approximation, number byte) string {
	return jp2Box("colr", string([]byte{method, 0, approximation, 0, 0, 0, number}))
}

// printing returns a graphics state for the overprint mode.
func printing(add func(v any) string) (pdffile.Dict, pdffile.Dict) {
	return pdffile.Dict{
		"/ExtGState":  pdffile.Dict{"/X": pdffile.Dict{"/OP": true, "/OPM": 1}},
		"/ColorSpace": pdffile.Dict{"/X": iccBased(4, map[int]string{16: "CMYK"})(add)},
	}, nil
}

// filed returns the conforming document's new entries with an attachment.
func filed(kind string, associated bool) func(add func(v any) string) (pdffile.Dict, pdffile.Dict) {
	return func(add func(v any) string) (pdffile.Dict, pdffile.Dict) {
		content := add(pdffile.Stream{Entries: pdffile.Dict{"/Type": "/EmbeddedFile", "/Subtype": kind}, Content: []byte("<a/>")})
		file := add(pdffile.Dict{
			"/Type": "/Filespec", "/F": "u:a.xml", "/UF": "u:a.xml", "/AFRelationship": "/Data", "/EF": pdffile.Dict{"/F": content},
		})
		catalog := pdffile.Dict{"/Names": pdffile.Dict{"/EmbeddedFiles": pdffile.Dict{"/Names": []any{"u:a.xml", file}}}}
		if associated {
			catalog["/AF"] = []any{file}
		}
		return pdffile.Dict{}, catalog
	}
}

var contentCases = []contentCase{
	{"a shading", "/X sh", used("/Shading", func(func(any) string) any {
		return pdffile.Dict{"/ShadingType": 2, "/ColorSpace": "/DeviceCMYK", "/Coords": []any{0, 0, 9, 9}, "/Function": tint}
	}), "6.2.3.3-2", "6.2.4.3-3", ""},
	{"a pattern of a shading", "/Pattern cs /X scn 0 0 9 9 re f", used("/Pattern", func(add func(any) string) any {
		return add(pdffile.Dict{"/PatternType": 2, "/Shading": pdffile.Dict{"/ShadingType": 2, "/ColorSpace": "/DeviceCMYK", "/Coords": []any{0, 0, 9, 9}, "/Function": tint}})
	}), "6.2.3.3-2", "6.2.4.3-3", ""},
	{"a spot color", "/X cs 1 scn 0 0 9 9 re f", used("/ColorSpace", func(func(any) string) any {
		return []any{"/Separation", "/Spot", "/DeviceCMYK", tint}
	}), "6.2.3.3-2", "6.2.4.3-3", ""},
	{"a group", "/X Do", used("/XObject", func(add func(any) string) any {
		return add(pdffile.Stream{Entries: pdffile.Dict{
			"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, 9, 9}, "/Resources": pdffile.Dict{},
			"/Group": pdffile.Dict{"/S": "/Transparency", "/CS": "/DeviceCMYK"},
		}, Content: []byte("0 0 9 9 re f")})
	}), "6.2.3.3-2 6.4-3", "6.2.4.3-3", ""},
	{"a profile", "/X cs 0 0 0 scn 0 0 9 9 re f", used("/ColorSpace", iccBased(3, nil)), "6.2.3.2-1", "", ""},
	{"a profile of a later version", "/X cs 0 0 0 scn 0 0 9 9 re f", used("/ColorSpace", iccBased(3, map[int]string{8: "\x05"})), "6.2.3.2-1", "6.2.4.2-1", ""},
	{"a profile of names", "/X cs 0 0 0 scn 0 0 9 9 re f", used("/ColorSpace", iccBased(3, map[int]string{12: "nmcl"})), "6.2.3.2-1", "6.2.4.2-1", ""},
	{"a profile of other components", "/X cs 0 scn 0 0 9 9 re f", used("/ColorSpace", iccBased(1, nil)), "6.2.3.2-1 6.2.3.2-2", "6.2.4.2-1", ""},
	{"a broken output profile", "0 g 0 0 9 9 re f", func(add func(any) string) (pdffile.Dict, pdffile.Dict) {
		return pdffile.Dict{}, pdffile.Dict{"/OutputIntents": []any{pdffile.Dict{
			"/Type": "/OutputIntent", "/S": "/GTS_PDFA1", "/OutputConditionIdentifier": "u:sRGB", "/DestOutputProfile": add(pdffile.Deflated(pdffile.Dict{"/N": 3}, []byte("profile"))),
		}}}
	}, "6.2.3.3-3", "6.2.3-1 6.2.4.3-4", ""},
	{"scripts", "", func(func(any) string) (pdffile.Dict, pdffile.Dict) {
		script := pdffile.Dict{"/S": "/JavaScript", "/JS": "u:1"}
		return pdffile.Dict{}, pdffile.Dict{"/Names": pdffile.Dict{"/JavaScript": pdffile.Dict{"/Names": []any{"u:a", script}}}}
	}, "6.6.1-1", "6.5.1-1", ""},
	{"an image in JPEG 2000", "/X Do", used("/XObject", jp2(jp2Header(1, 7), colorBox(1, 0, 17))), "6.1.10-1", "", ""},
	{"a stream of JPEG 2000", "/X Do", used("/XObject", jpxImage("\xff\x4f\xff\x51")), "6.1.10-1", "6.2.8.3-1 6.2.8.3-2 6.2.8.3-3 6.2.8.3-5", ""},
	{"two channels", "/X Do", used("/XObject", jp2(jp2Header(2, 7), colorBox(1, 0, 17))), "6.1.10-1", "6.2.8.3-1", ""},
	{"two spaces", "/X Do", used("/XObject", jp2(jp2Header(1, 7), colorBox(1, 0, 17), colorBox(1, 0, 16))), "6.1.10-1", "6.2.8.3-2", ""},
	{"two spaces, one exact", "/X Do", used("/XObject", jp2(jp2Header(1, 7), colorBox(1, 0, 17), colorBox(1, 1, 16))), "6.1.10-1", "", ""},
	{"an unknown method", "/X Do", used("/XObject", jp2(jp2Header(1, 7), colorBox(4, 0, 17))), "6.1.10-1", "6.2.8.3-3", ""},
	{"CIEJab", "/X Do", used("/XObject", jp2(jp2Header(3, 7), colorBox(1, 0, 19))), "6.1.10-1", "6.2.8.3-4", ""},
	{"many bits", "/X Do", used("/XObject", jp2(jp2Header(1, 38), colorBox(1, 0, 17))), "6.1.10-1", "6.2.8.3-5", ""},
	{"bits by channel", "/X Do", used("/XObject", jp2(jp2Header(1, 0xFF), jp2Box("bpcc", "\x07"), colorBox(1, 0, 17))), "6.1.10-1", "6.2.8.3-5", ""},
	{"an intent", "/X gs", used("/ExtGState", func(func(any) string) any { return pdffile.Dict{"/RI": "/Odd"} }), "6.2.9-1", "6.2.6-1", ""},
	{"overprinting", "/X gs /X cs 0 0 0 1 scn 0 0 9 9 re f", printing, "6.2.3.2-1", "6.2.4.2-2", ""},
	{"overprinting of lines only", "/X gs /X cs 0 0 0 1 scn 0 0 9 9 re S", printing, "6.2.3.2-1", "", ""},
	{"a large number", "40000.5 0 m 9 9 l S", used("/ExtGState", func(func(any) string) any { return pdffile.Dict{} }), "6.1.12-2", "", ""},
	{"a file", "", filed("/text/xml", true), "6.1.11-1 6.1.11-2", "6.8-5", ""},
	{"a file that is not associated", "", filed("/text/xml", false), "6.1.11-1 6.1.11-2", "6.8-5", "6.8-4"},
	{"a file of an unknown type", "", filed("/xml", true), "6.1.11-1 6.1.11-2", "6.8-5", "6.8-1"},
}

// withContent returns the conforming document with other content.
func withContent(t *testing.T, d contentCase) []byte {
	t.Helper()
	f, err := pdffile.Read(conforming(t))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := f.Pages(1)
	if err != nil {
		t.Fatal(err)
	}

	u := f.NewUpdate()
	add := func(v any) string {
		ref := u.Reserve()
		u.Set(ref, v)
		return ref
	}
	page, catalog := f.Dict(pages[0].Ref), f.Catalog()
	resources, entries := d.resources(add)
	maps.Copy(catalog, entries)
	page["/Resources"] = resources
	if operators, ok := d.content.(string); ok {
		d.content = pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(operators)}
	}
	page["/Contents"] = add(d.content)
	u.Set(pages[0].Ref, page)
	u.Set(f.Root(), catalog)
	made, err := u.Compact()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// levels are the levels of the contentCases' rules, and what the conforming document violates of each.
var levels = map[pdffile.Standard]struct {
	rules func(d contentCase) string
	own   []string
}{
	pdffile.A1B: {func(d contentCase) string { return d.a1 }, []string{"6.1.4-3", "6.2.2-1", "6.7.2-2", "6.7.11-2"}},
	pdffile.A2B: {func(d contentCase) string { return d.a2 }, nil},
	pdffile.A3B: {func(d contentCase) string { return d.a3 }, []string{"6.6.4-2"}},
}

func TestCheckContent(t *testing.T) {
	for _, d := range contentCases {
		src := pdfcheck.Source{Original: withContent(t, d)}
		var err error
		if src.File, err = pdffile.Read(src.Original); err != nil {
			t.Fatal(err)
		}
		for s, level := range levels {
			if s == pdffile.A3B && d.a2 != "6.8-5" {
				continue // the rules are those of PDF/A-2
			}
			got := slices.DeleteFunc(strings.Fields(ids(pdfcheck.Check(src, []pdffile.Standard{s}).Results[0])), func(rule string) bool {
				return slices.Contains(level.own, rule)
			})
			if want := strings.Fields(level.rules(d)); !slices.Equal(got, want) {
				t.Errorf("%s: %s violates %q, want %q", d.name, s, got, want)
			}
		}
	}
}

// ownRules are those that veraPDF lacks, by the name of the case. It also lacks that PDF/A-1 has no JPXDecode.
var ownRules = map[string][]string{
	"a profile of other components": {"6.2.4.2-1"},
	"scripts":                       {"6.6.1-1", "6.5.1-1"},
}

// TestCheckContentAgreesWithVeraPDF checks that veraPDF finds the violations, too, and none where there is none.
func TestCheckContentAgreesWithVeraPDF(t *testing.T) {
	sharedtest.Slow(t)
	var files []string
	for _, d := range contentCases {
		files = append(files, pdftest.Save(t, withContent(t, d)))
	}
	for s, level := range levels {
		found := pdftest.VeraPDF(t, strings.TrimPrefix(string(s), "a-"), files...)
		for i, file := range files {
			var rules []string
			for _, line := range found[file] {
				if rule, _, _ := strings.Cut(line, "\t"); !slices.Contains(level.own, rule) {
					rules = append(rules, rule)
				}
			}
			c := contentCases[i]
			if s == pdffile.A3B && c.a2 != "6.8-5" {
				continue
			}
			for _, rule := range strings.Fields(level.rules(c)) {
				if !slices.Contains(rules, rule) && !slices.Contains(ownRules[c.name], rule) && (s != pdffile.A1B || rule != "6.1.10-1") {
					t.Errorf("%s: veraPDF does not find %s of %s, but %q", c.name, rule, s, rules)
				}
			}
			if level.rules(c) == "" && len(rules) > 0 {
				t.Errorf("%s: veraPDF finds %q of %s", c.name, rules, s)
			}
		}
	}
}
