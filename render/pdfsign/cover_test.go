package pdfsign

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// TestCoveredContent: the box of a later signature that hides something of the page is named in the changes, with its signer.
func TestCoveredContent(t *testing.T) {
	t.Parallel()
	plain := pdftest.Source{
		Pages: []string{"pay 100", "next"}, Annots: map[int]string{0: "100 0 R"}, Catalog: "/AcroForm << /Fields [100 0 R 102 0 R] >>",
		Objects: []string{
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (amount) /V (100) /Rect [10 10 110 30] /P 10 0 R /AP << /N 101 0 R >> >>",
			"<< /Type /XObject /Subtype /Form /BBox [0 0 100 20] /Resources << >> /Length 1 >>\nstream\nq\nendstream",
			"<< /FT /Sig /T (none) >>",
		},
	}
	turned := func(by string) pdftest.Source {
		s := plain
		s.Page = func(int) string { return "/Rotate " + by }
		return s
	}
	cropped := plain
	cropped.Page = func(int) string { return "/CropBox [0 200 300 400]" }
	large := plain
	large.Annots = map[int]string{0: "100 0 R 102 0 R"}
	large.Objects = slices.Concat(plain.Objects[:2], []string{"<< /Type /Annot /Subtype /Widget /FT /Sig /T (large) /Rect [0 100 300 400] /P 10 0 R >>"})
	small := plain
	small.Annots = large.Annots
	small.Objects = slices.Concat(plain.Objects[:2], []string{"<< /Type /Annot /Subtype /Widget /FT /Sig /T (small) /Rect [30 290 150 330] /P 10 0 R >>"})
	// The word is at 40, 300 of the page as stored, which has 300 × 400 points.
	words := func([]byte, int) ([]Word, error) {
		return []Word{NewWord("_____", 200, 80, 50, 20), NewWord("pay", 40, 80, 40, 20), NewWord("100", 85, 80, 40, 20)}, nil
	}
	for name, c := range map[string]struct {
		source pdftest.Source
		field  string // that exists
		box    Visible
		change func(widget pdffile.Dict)
		words  func([]byte, int) ([]Word, error)
		want   string // what is covered
	}{
		"nothing":                   {source: plain, box: Visible{Page: 1, X: 150, Y: 200, Width: 120, Height: 50}},
		"a page":                    {source: plain, box: Visible{Page: 1, Width: 300, Height: 400}, want: `100 % of page 1|the field "amount"|the field "Signature1"`},
		"a part of a page":          {source: plain, box: Visible{Page: 2, Y: 100, Width: 301, Height: 300}, want: "75 % of page 2"},
		"a page with a crop":        {source: cropped, box: Visible{Page: 1, Width: 300, Height: 100}, want: "50 % of page 1"},
		"a page on its side":        {source: turned("90"), box: Visible{Page: 1, Width: 400, Height: 200}, want: "67 % of page 1|the field \"amount\""},
		"an amount":                 {source: plain, box: Visible{Page: 1, X: 80, Y: 75, Width: 50, Height: 30}, want: `text of page 1: "100"`},
		"a text":                    {source: plain, box: Visible{Page: 1, X: 30, Y: 75, Width: 120, Height: 30}, want: `text of page 1: "pay 100"`},
		"a line for the signature":  {source: plain, box: Visible{Page: 1, X: 180, Y: 60, Width: 100, Height: 30}},
		"the edge of a text":        {source: plain, box: Visible{Page: 1, X: 30, Y: 95, Width: 120, Height: 30}},
		"a text that is unreadable": {source: plain, box: Visible{Page: 1, X: 30, Y: 75, Width: 120, Height: 30}, words: func([]byte, int) ([]Word, error) { return nil, errors.New("no") }, want: "a part of page 1 whose text cannot be read"},
		"a field":                   {source: plain, box: Visible{Page: 1, X: 0, Y: 365, Width: 60, Height: 35}, want: `the field "amount"`},
		"the edge of a field":       {source: plain, box: Visible{Page: 1, X: 100, Y: 350, Width: 60, Height: 35}},
		"an earlier signature":      {source: plain, box: Visible{Page: 1, X: 160, Y: 250, Width: 100, Height: 50}, want: `the field "Signature1"`},
		"beside a page": {source: plain, box: Visible{Page: 1, X: 200, Y: 0, Width: 10, Height: 10}, change: func(widget pdffile.Dict) {
			widget["/Rect"] = []any{400, 500, 800, 900}
		}},
		"a hidden box": {source: plain, box: Visible{Page: 1, Width: 300, Height: 400}, change: func(widget pdffile.Dict) { widget["/F"] = 130 }},
		"a box of one size in all views": {source: plain, box: Visible{Page: 1, X: 150, Y: 200, Width: 120, Height: 50}, change: func(widget pdffile.Dict) {
			widget["/F"] = 4 + pdffile.FlagNoZoom
		}, want: "another part of page 1 in each view"},
		"a box that does not turn": {source: turned("180"), box: Visible{Page: 1, X: 150, Y: 200, Width: 120, Height: 50}, change: func(widget pdffile.Dict) {
			widget["/F"] = 4 + pdffile.FlagNoRotate
		}, want: "another part of page 1 in each view"},
		"a large field that was there":          {source: large, field: "large", want: "75 % of page 1"},
		"the text in the box of an older field": {source: small, field: "small"},
	} {
		a := newAuthority(t)
		first, second := a.signer("First", "P-256"), a.signer("Second", "P-384")
		for certify, want := range map[Permission]Verdict{NotCertified: Undecided, FormFilling: Undecided, Annotations: Valid} {
			job := a.job(first, LevelB)
			job.Certify = certify
			job.Visible = &Visible{Page: 1, X: 170, Y: 260, Width: 80, Height: 30, Lines: []string{"First"}}
			if strings.Contains(name, "crop") || strings.Contains(name, "turn") || strings.Contains(name, "side") || c.field != "" {
				job.Visible = nil
			}
			signed := mustSign(t, c.source.Write(), job)
			trust := a.trust()
			if trust.Words = c.words; c.words == nil {
				trust.Words = words
			}
			r := mustVerify(t, boxed(t, signed, second, c.field, c.box, c.change), trust)[0]

			var found []string
			for _, change := range r.Changes {
				if part, ok := strings.CutPrefix(change.Text, "the box of the signature \""); ok && change.Kind == ChangeCover {
					field, part, _ := strings.Cut(part, `" by "Second" covers `)
					if found = append(found, part); field == "" || part == "" {
						t.Errorf("%s: %q", name, change.Text)
					}
				}
			}
			if c.want == "" {
				want = Valid
			}
			if got := strings.Join(found, "|"); got != c.want || r.Verdict != want {
				t.Errorf("%s, certify %d: covers %q, want %q: %s %s %+v", name, certify, got, c.want, r.Verdict, r.Reason, r.Changes)
			}
		}
	}
}

// boxed returns a document with another signature: in a field, or in a box whose widget is changed before it is signed.
func boxed(t testing.TB, content []byte, s *Signer, field string, box Visible, change func(widget pdffile.Dict)) []byte {
	t.Helper()
	d, err := open(PDF{Content: content})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Size: size(0, true), Field: field}
	if field == "" {
		box.Lines = []string{"Second"}
		o.Visible = &box
	}
	ref := d.Reserve()
	value := pdffile.Dict{"/Type": "/Sig", "/Filter": "/Adobe.PPKLite", "/SubFilter": subFilterPAdES, "/ByteRange": []any{0, maxOffset, maxOffset, maxOffset}, "/Contents": "b:" + strings.Repeat("00", o.Size)}
	if field != "" {
		fields := signatureFields(d.File)
		if err := d.useField(fields, field, ref, value); err != nil {
			t.Fatal(err)
		}
	} else if err := d.addField(ref, o); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		list, _ := d.Value("10 0 R").(pdffile.Dict)["/Annots"].([]any)
		widget, _ := list[len(list)-1].(string)
		entries, _ := d.Value(widget).(pdffile.Dict)
		change(entries)
		d.Set(widget, entries)
	}
	d.Set(ref, value)
	prepared, err := d.finish(ref)
	if err != nil {
		t.Fatal(err)
	}
	cms, err := s.Sign(prepared.digest(s.Hash))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := prepared.complete(cms)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}
