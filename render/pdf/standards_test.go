package pdf

import (
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

// tagged returns a document with a heading of level 2, and a structure.
func tagged() []byte {
	u, root := pdffile.NewDocument()
	pages, page, content, tree, heading := u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve(), u.Reserve()
	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": pages, "/StructTreeRoot": tree, "/Lang": "u:en"})
	u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Count": 1, "/Kids": []any{page}})
	u.Set(page, pdffile.Dict{"/Type": "/Page", "/Parent": pages, "/MediaBox": []any{0, 0, 200, 200}, "/Contents": content, "/Resources": pdffile.Dict{}})
	u.Set(content, pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte("/H2 <</MCID 0>> BDC BT () Tj ET EMC")})
	u.Set(tree, pdffile.Dict{"/Type": "/StructTreeRoot", "/K": heading})
	u.Set(heading, pdffile.Dict{"/Type": "/StructElem", "/S": "/H2", "/P": tree, "/Pg": page, "/K": 0})
	u.SetInfo(pdffile.Dict{"/Title": "u:Test"})
	return u.Document(root)
}

func TestStandards(t *testing.T) {
	args := jobsOnOne()[StandardsJob.Name]
	got, err := runJob(t, StandardsJob.Name, args, tagged())
	if err != nil {
		t.Fatal(err)
	}
	about := unmarshal[StandardsResult](t, got.Body)
	if !slices.Equal(about.Claimed, []pdffile.Standard{pdffile.A2B}) || len(about.Faults) != 1 || about.Faults[0].Rule != pdftag.HeadingOrder {
		t.Errorf("%+v", about)
	}

	if got, err = runJob(t, StandardsJob.Name, args, three().Write()); err != nil {
		t.Fatal(err)
	}
	about = unmarshal[StandardsResult](t, got.Body)
	if slices.Contains(about.Claimed, pdffile.UA1) || !slices.ContainsFunc(about.Faults, func(f pdftag.Violation) bool { return f.Rule == pdftag.UntaggedText }) {
		t.Errorf("a document without structure: %+v", about)
	}
}
