package pdfsign

import (
	"maps"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// formed is a document with a text field. Its form has further entries, and its field may have an appearance.
func formed(form, field string) pdftest.Source {
	return pdftest.Source{
		Pages: []string{"pay 100"}, Annots: map[int]string{0: "100 0 R"}, Info: "/Title (Contract) /ModDate (D:20260101)",
		Catalog: "/AcroForm << /Fields [100 0 R] " + form + " >> /Metadata 102 0 R",
		Objects: []string{
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (amount) /V (100) /Rect [0 0 100 20] /P 10 0 R " + field + " >>",
			"<< /Type /XObject /Subtype /Form /BBox [0 0 100 20] /Resources << >> /Length 1 >>\nstream\nq\nendstream",
			"<< /Type /Metadata /Subtype /XML /Length 97 >>\nstream\n<x:xmpmeta><xmp:ModifyDate>2026-01-01</xmp:ModifyDate><dc:title>Contract</dc:title></x:xmpmeta>  \nendstream",
		},
	}
}

const shownField = "/AP << /N 101 0 R >>"

// emptyField adds a field for a signature.
func emptyField(d *editedFile, entries pdffile.Dict) {
	ref := d.Reserve()
	field := pdffile.Dict{"/Type": "/Annot", "/Subtype": "/Widget", "/FT": "/Sig", "/T": "u:Later", "/Rect": []any{0, 0, 100, 50}, "/P": "10 0 R"}
	maps.Copy(field, entries)
	d.Set(ref, field)
	fields, _ := d.Target(d.Entry(d.Catalog()["/AcroForm"])["/Fields"]).([]any)
	d.form("/Fields", append(fields[:len(fields):len(fields)], ref))
	annotations, _ := d.Target(d.Dict("10 0 R")["/Annots"]).([]any)
	d.entry("10 0 R", "/Annots", append(annotations[:len(annotations):len(annotations)], ref))
}

// metadataOf replaces the metadata.
func metadataOf(text string) func(d *editedFile) {
	return func(d *editedFile) {
		ref := d.Reserve()
		d.Set(ref, pdffile.Stream{Entries: pdffile.Dict{"/Type": "/Metadata", "/Subtype": "/XML"}, Content: []byte(text)})
		d.entry(d.Root(), "/Metadata", ref)
	}
}

// TestAdditions: what programs add with a later signature or with validation data is no change of the content. What can
// change what a reader sees is named, and counts.
func TestAdditions(t *testing.T) {
	t.Parallel()
	fonts := pdffile.Dict{"/Font": pdffile.Dict{"/Helv": "3 0 R", "/ZaDb": pdffile.Dict{"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/ZapfDingbats"}}}
	set := func(key string, value any) func(d *editedFile) {
		return func(d *editedFile) { d.form(key, value) }
	}
	shown, generated := formed("", shownField), formed("/NeedAppearances true", shownField)
	// The verdicts after no certification, and after those for no changes, for form filling and for annotations.
	type verdicts = [4]Verdict
	nothing := verdicts{Valid, Valid, Valid, Valid}
	filling := verdicts{Undecided, Invalid, Valid, Valid}
	signing := verdicts{Valid, Invalid, Valid, Valid}
	annotating := verdicts{Undecided, Invalid, Invalid, Valid}
	never := verdicts{Invalid, Invalid, Invalid, Invalid}
	for name, c := range map[string]struct {
		source pdftest.Source
		change func(d *editedFile)
		want   verdicts
		text   string // of the change
	}{
		"the default appearance":              {shown, set("/DA", "u:/Helv 0 Tf 0 g"), nothing, ""},
		"a default appearance that was empty": {formed("/DA ()", shownField), set("/DA", "u:/Helv 0 Tf 0 g"), nothing, ""},
		"an empty default appearance":         {shown, set("/DA", "u:"), nothing, ""},
		"the default alignment":               {shown, set("/Q", 1), nothing, ""},
		"resources":                           {shown, set("/DR", fonts), nothing, ""},
		"fonts in resources":                  {formed("/DR << /Font << /Helv 3 0 R >> >>", shownField), set("/DR", fonts), nothing, ""},
		"resources, which were empty":         {formed("/DR << >>", shownField), set("/DR", fonts), nothing, ""},
		"an empty order of calculations":      {shown, set("/CO", []any{}), nothing, ""},
		"no generated appearances":            {shown, set("/NeedAppearances", false), nothing, ""},
		"flags of signatures":                 {shown, set("/SigFlags", 3), nothing, ""},
		"a version and extensions": {shown, func(d *editedFile) {
			d.entry(d.Root(), "/Version", "/2.0")
			d.entry(d.Root(), "/Extensions", pdffile.Dict{"/ESIC": pdffile.Dict{"/BaseVersion": "/1.7", "/ExtensionLevel": 5}})
		}, nothing, ""},
		"validation data": {shown, func(d *editedFile) {
			d.entry(d.Root(), "/DSS", pdffile.Dict{"/Certs": []any{}, "/VRI": pdffile.Dict{"/AA": pdffile.Dict{"/TU": "u:D:20260101"}}})
		}, nothing, "validation data"},
		"the date and the program": {shown, func(d *editedFile) {
			d.entry("4 0 R", "/ModDate", "u:D:20270101")
			d.entry("4 0 R", "/Producer", "u:Signer")
		}, nothing, dates.Text},
		"the dates in the metadata": {shown, metadataOf("<x:xmpmeta><xmp:ModifyDate>2027-01-01</xmp:ModifyDate><pdf:Producer>Signer</pdf:Producer><dc:title>Contract</dc:title></x:xmpmeta>"), nothing, dates.Text},
		"the title in the metadata": {shown, metadataOf("<x:xmpmeta><xmp:ModifyDate>2027-01-01</xmp:ModifyDate><dc:title>Other</dc:title></x:xmpmeta>"), signing, metadata},
		"a field for a signature":   {shown, func(d *editedFile) { emptyField(d, nil) }, signing, `the field "Later" for a signature`},
		"a field for a signature, with a lock": {shown, func(d *editedFile) {
			emptyField(d, pdffile.Dict{"/Lock": pdffile.Dict{"/Type": "/SigFieldLock", "/Action": "/All"}})
		}, signing, `the field "Later" for a signature`},
		"a field for a signature that shows a form": {shown, func(d *editedFile) { emptyField(d, pdffile.Dict{"/AP": pdffile.Dict{"/N": "101 0 R"}}) }, annotating, `the visible field "Later" for a signature`},
		"a field for a signature with a background": {shown, func(d *editedFile) { emptyField(d, pdffile.Dict{"/MK": pdffile.Dict{"/BG": []any{1}}}) }, annotating, `the visible field "Later" for a signature`},
		"a field for a signature with an action":    {shown, func(d *editedFile) { emptyField(d, pdffile.Dict{"/AA": pdffile.Dict{}}) }, never, ""},
		"a field for text":                          {shown, func(d *editedFile) { emptyField(d, pdffile.Dict{"/FT": "/Tx"}) }, never, ""},
		"another default appearance":                {formed("/DA (/F1 9 Tf)", shownField), set("/DA", "u:/F1 9 Tf 1 g"), filling, "the appearances of the form"},
		"the default of generated appearances":      {generated, set("/DA", "u:/F1 9 Tf 1 g"), filling, "the appearances of the form"},
		"the resources of generated appearances":    {generated, set("/DR", fonts), filling, "the resources of the form"},
		"the default of a field without appearance": {formed("", ""), set("/DA", "u:/F1 9 Tf 1 g"), filling, "the appearances of the form"},
		"the fonts of a field without appearance":   {formed("", ""), set("/DR", fonts), filling, "the resources of the form"},
		"generated appearances":                     {shown, set("/NeedAppearances", true), filling, "the appearances of the form"},
		"appearances that are no longer generated":  {generated, set("/NeedAppearances", false), filling, "the appearances of the form"},
		"another font in resources":                 {formed("/DR << /Font << /Helv << /Type /Font /Subtype /Type1 /BaseFont /Courier >> >> >>", shownField), set("/DR", fonts), never, "the resources of the form"},
		"no resources":                              {formed("/DR << /Font << /Helv 3 0 R >> >>", shownField), set("/DR", nil), never, "the resources of the form"},
		"a form of XFA":                             {shown, set("/XFA", []any{}), nothing, ""},
		"a filled form of XFA":                      {shown, set("/XFA", "101 0 R"), never, "the entry XFA of the form"},
		"an order of calculations":                  {shown, set("/CO", []any{"100 0 R"}), never, "the entry CO of the form"},
	} {
		a := newAuthority(t)
		s := a.signer("Signer", "P-256")
		for i, certify := range []Permission{NotCertified, NoChanges, FormFilling, Annotations} {
			job := a.job(s, LevelB)
			job.Certify = certify
			signed := mustSign(t, c.source.Write(), job)
			r := mustVerify(t, revised(t, signed, c.change), a.trust())[0]
			if r.Verdict != c.want[i] {
				t.Errorf("%s, certify %d: %s, want %s: %s %+v", name, certify, r.Verdict, c.want[i], r.Reason, r.Changes)
			}
			var texts []string
			for _, change := range r.Changes {
				texts = append(texts, change.Text)
			}
			if got := strings.Join(texts, "\n"); c.text != "" && got != c.text || c.text == "" && c.want == nothing && got != "" {
				t.Errorf("%s, certify %d: changes %q, want %q", name, certify, got, c.text)
			}
		}
	}
}

// TestSignedByOthers adds a signature of PDFBox to ours, and ours to that. PDFBox completes forms. All remain valid.
func TestSignedByOthers(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]pdftest.Source{
		"a form":                     formed("", shownField),
		"a form with resources":      formed("/DR << /Font << /F1 3 0 R >> >> /DA (/F1 9 Tf)", shownField),
		"a form for signatures only": {Pages: []string{"pay 100"}, Catalog: "/AcroForm << /Fields [100 0 R] >>", Annots: map[int]string{0: "100 0 R"}, Objects: []string{"<< /Type /Annot /Subtype /Widget /FT /Sig /T (a) /Rect [0 0 0 0] /P 10 0 R >>"}},
	} {
		a := newAuthority(t)
		s := a.signer("Signer", "P-256")
		other := a.Identity("Other", pdftest.NewKey(t, "RSA"), &a.Issuer, pdftest.Years, a.Answered)
		job := a.job(s, LevelLT)
		job.Certify = FormFilling
		content := mustSign(t, a.SignWithPDFBox(mustSign(t, source.Write(), job), other), a.job(s, LevelB))
		reports := mustVerify(t, content, a.trust())
		if len(reports) != 3 {
			t.Errorf("%s: %d signatures", name, len(reports))
		}
		for _, r := range reports {
			if r.Verdict != Valid {
				t.Errorf("%s: %s: %s %s", name, r.Field, r.Verdict, r.Reason)
			}
		}
		if out := pdfsig(t, content); strings.Count(out, "Signature is Valid") != 3 {
			t.Errorf("%s: %s", name, out)
		}
	}
}
