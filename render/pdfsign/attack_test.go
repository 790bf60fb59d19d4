package pdfsign

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// shadow is a document with content that an attacker can show or hide later: an overlay on the page, an unused page,
// a second catalog, a form, a stream among the annotations, and a field among the images.
func shadow() pdftest.Source {
	form := func(content string) string {
		return fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [0 0 200 50] /Resources << /Font << /F1 3 0 R >> >> /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	return pdftest.Source{
		Pages:     []string{"pay 100"},
		Catalog:   "/AcroForm << /Fields [101 0 R 108 0 R] /DA (/F1 12 Tf) /DR << /Font << /F1 3 0 R >> >> >>",
		Resources: "/XObject << /Over 100 0 R /Trick 103 0 R >>",
		Annots:    map[int]string{0: "101 0 R 103 0 R 108 0 R"},
		Objects: []string{
			form("1 g 0 0 200 50 re f"), // 100, the overlay
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (amount) /V (100) /DA (/F1 12 Tf) /Rect [0 0 100 20] /P 10 0 R /AP << /N 102 0 R >> >>",
			form("BT /F1 12 Tf (100) Tj ET"), // 102
			form("BT (a stream among the annotations) Tj ET"),
			"<< /Type /Catalog /Pages 105 0 R >>", // 104, a second document
			"<< /Type /Pages /Kids [106 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 105 0 R /MediaBox [0 0 300 400] /Contents 107 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
			"<< /Length 37 >>\nstream\nBT /F1 24 Tf 40 300 Td (pay 9) Tj ET \nendstream",
			"<< /Type /Annot /Subtype /Widget /FT /Btn /T (agree) /V /Off /AS /Off /Rect [0 50 20 70] /P 10 0 R >>", // 108
		},
	}
}

// revised appends an update to a document.
func revised(t testing.TB, content []byte, change func(u *editedFile)) []byte {
	t.Helper()
	d, err := open(PDF{Content: content})
	if err != nil {
		t.Fatal(err)
	}
	change(d)
	tail, err := d.Append()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(content, tail)
}

// entry sets an entry of an object.
func (d *editedFile) entry(ref, key string, value any) {
	entries := maps.Clone(d.Dict(ref))
	if value == nil {
		delete(entries, key)
	} else {
		entries[key] = value
	}
	d.Set(ref, entries)
}

func textStream(text string) pdffile.Stream {
	return pdffile.Stream{Entries: pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, 200, 50}}, Content: []byte(text)}
}

// attacks are changes of a signed document, by their published kinds.
func attacks() map[string]func(d *editedFile) {
	return map[string]func(d *editedFile){
		"hide: replace the overlay":           func(d *editedFile) { d.Set("100 0 R", textStream("")) },
		"hide: remove the overlay":            func(d *editedFile) { d.entry("10 0 R", "/Resources", pdffile.Dict{}) },
		"hide: other content":                 func(d *editedFile) { d.entry("10 0 R", "/Contents", "107 0 R") },
		"replace: the font":                   func(d *editedFile) { d.entry("3 0 R", "/BaseFont", "/Symbol") },
		"replace: the content in place":       func(d *editedFile) { d.Set("11 0 R", textStream("BT /F1 24 Tf (pay 9) Tj ET")) },
		"replace: the appearance of a field":  func(d *editedFile) { d.Set("102 0 R", textStream("BT (900) Tj ET")) },
		"replace: another appearance":         func(d *editedFile) { d.entry("101 0 R", "/AP", pdffile.Dict{"/N": "100 0 R"}) },
		"replace: the font of the form":       func(d *editedFile) { d.form("/DR", pdffile.Dict{"/Font": pdffile.Dict{"/F1": "4 0 R"}}) },
		"replace: the value of a field":       func(d *editedFile) { d.entry("101 0 R", "/V", "u:900") },
		"replace: the place of a field":       func(d *editedFile) { d.entry("101 0 R", "/Rect", []any{0, 0, 1, 1}) },
		"replace: a stream among annotations": func(d *editedFile) { d.Set("103 0 R", textStream("BT (pay 9) Tj ET")) },
		"hide and replace: another page tree": func(d *editedFile) { d.entry("1 0 R", "/Pages", "105 0 R") },
		"hide and replace: another page":      func(d *editedFile) { d.entry("2 0 R", "/Kids", []any{"106 0 R"}) },
		"hide and replace: the page in place": func(d *editedFile) { d.Set("10 0 R", d.Dict("106 0 R")) },
		"hide and replace: one page more":     func(d *editedFile) { d.entry("2 0 R", "/Kids", []any{"10 0 R", "106 0 R"}) },
		"saving: an annotation":               func(d *editedFile) { d.annotated("/FreeText") },
		"saving: a field without a signature": func(d *editedFile) { d.annotated("/Widget") },
		"saving: an action":                   func(d *editedFile) { d.entry("1 0 R", "/OpenAction", pdffile.Dict{"/S": "/JavaScript", "/JS": "u:1"}) },
		"saving: a permission": func(d *editedFile) {
			d.entry("1 0 R", "/Perms", pdffile.Dict{"/DocMDP": signatureFields(d.File)[0].value})
		},
		"saving: a removed field":              func(d *editedFile) { d.form("/Fields", []any{"101 0 R", signatureFields(d.File)[0].ref}) },
		"saving: layers":                       func(d *editedFile) { d.entry("1 0 R", "/OCProperties", pdffile.Dict{"/OCGs": []any{}}) },
		"forgery: no contents":                 func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/Contents", nil) },
		"forgery: empty contents":              func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/Contents", "b:") },
		"forgery: contents of zeros":           func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/Contents", "b:0000000000") },
		"forgery: contents of another type":    func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/Contents", "/Name") },
		"forgery: no byte range":               func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/ByteRange", nil) },
		"forgery: an empty byte range":         func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/ByteRange", []any{}) },
		"forgery: a byte range of nothing":     func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/ByteRange", []any{0, 0, 0, 0}) },
		"forgery: a negative byte range":       func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/ByteRange", []any{0, -1, 5, -6}) },
		"forgery: a huge byte range":           func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/ByteRange", []any{0, 10, 20, 1e18}) },
		"forgery: a byte range of other types": func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/ByteRange", "u:0 1 2 3") },
		"forgery: another filter":              func(d *editedFile) { d.entry(signatureFields(d.File)[0].value, "/SubFilter", "/x509") },
		"wrapping: a copy of the signature": func(d *editedFile) {
			f := signatureFields(d.File)[0]
			copied := d.Reserve()
			d.Set(copied, f.signature)
			d.entry(f.ref, "/V", copied)
		},
		"wrapping: the signature in the field": func(d *editedFile) {
			f := signatureFields(d.File)[0]
			d.entry(f.ref, "/V", f.signature)
		},
		"wrapping: the signature written again": func(d *editedFile) {
			f := signatureFields(d.File)[0]
			d.Set(f.value, f.signature)
		},
	}
}

func (d *editedFile) form(key string, value any) {
	form := maps.Clone(d.Entry(d.Catalog()["/AcroForm"]))
	form[key] = value
	d.entry(d.Root(), "/AcroForm", form)
}

func (d *editedFile) annotated(kind string) {
	ref := d.Reserve()
	d.Set(ref, pdffile.Dict{"/Type": "/Annot", "/Subtype": kind, "/Rect": []any{0, 0, 300, 400}, "/Contents": "u:pay 9"})
	list, _ := d.Dict("10 0 R")["/Annots"].([]any)
	d.entry("10 0 R", "/Annots", append(slices.Clone(list), ref))
}

// accepted returns whether the first signature of a document is accepted, and why.
func accepted(content []byte, trust Trust) (bool, string) {
	reports, err := Verify(PDF{Content: content}, trust)
	if err != nil {
		return false, err.Error()
	}
	if len(reports) == 0 {
		return false, "no signature"
	}
	return reports[0].Verdict == Valid, reports[0].Reason
}

// TestAttacks rebuilds the published attacks: shadow attacks, incremental saving, signature wrapping, and universal
// forgery. None is accepted, whatever the signer certifies, except that a form may be filled in where that is certified.
func TestAttacks(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	for _, certify := range []Permission{NotCertified, NoChanges, FormFilling, Annotations} {
		job := a.job(s, LevelB)
		job.Certify = certify
		signed := mustSign(t, shadow().Write(), job)
		if ok, reason := accepted(signed, a.trust()); !ok {
			t.Fatalf("%d: the original is not accepted: %s", certify, reason)
		}
		for name, attack := range attacks() {
			allowed := strings.HasSuffix(name, "the value of a field") && certify >= FormFilling ||
				strings.HasSuffix(name, "an annotation") && certify == Annotations ||
				strings.HasSuffix(name, "a permission") && certify != NotCertified // the same again
			ok, reason := accepted(revised(t, signed, attack), a.trust())
			if ok != allowed {
				t.Errorf("certify %d, %s: accepted %v, %s", certify, name, ok, reason)
			}
		}
		for name, content := range rawAttacks(t, signed) {
			if ok, reason := accepted(content, a.trust()); ok {
				t.Errorf("certify %d, %s: accepted, %s", certify, name, reason)
			}
		}
	}
}

// rawAttacks are changes of bytes.
func rawAttacks(t testing.TB, signed []byte) map[string][]byte {
	t.Helper()
	d, err := open(PDF{Content: signed})
	if err != nil {
		t.Fatal(err)
	}
	f := signatureFields(d.File)[0]
	p, err := d.placeOf(f)
	if err != nil {
		t.Fatal(err)
	}
	const object = "\n11 0 obj\n<< /Length 34 >>\nstream\nBT /F1 24 Tf 40 300 Td (9) Tj ET  \nendstream\nendobj\n"
	last := d.Tables()[0]
	trailer := fmt.Sprintf("trailer << /Root 1 0 R /Size %d /Prev %d >>\n", 200, last)
	other := fmt.Sprintf("trailer << /Root 104 0 R /Size 112 /Prev %d >>\n", last)
	end := len(signed)
	xref := func(body, trailer string) []byte {
		return fmt.Appendf(bytes.Clone(signed), "%sxref\n11 1\n%010d 00000 n \n%sstartxref\n%d\n%%%%EOF\n", body, end+1, trailer, end+len(body))
	}
	wrapped := func(gap string) []byte {
		return slices.Concat(signed[:p.after], []byte(gap), signed[p.after:])
	}
	second := fmt.Sprintf("/ByteRange [0 %d %d %d]", p.start, p.after+100, p.end-p.after)
	return map[string][]byte{
		"saving: an object only":              append(bytes.Clone(signed), object...),
		"saving: an object and a trailer":     append(bytes.Clone(signed), object+trailer...),
		"saving: the old table":               fmt.Appendf(bytes.Clone(signed), "%sstartxref\n%d\n%%%%EOF\n", object, last),
		"saving: a wrong size":                xref(object, trailer),
		"saving: a table":                     xref(object, strings.Replace(trailer, "200", "112", 1)),
		"saving: another root":                xref("\n", other),
		"saving: a table without a link":      xref(object, "trailer << /Root 1 0 R /Size 112 >>\n"),
		"saving: a comment":                   append(bytes.Clone(signed), "%% pay 9\n"...),
		"wrapping: objects in the gap":        wrapped(object),
		"wrapping: a second byte range":       wrapped(second + strings.Repeat(" ", 100-len(second))),
		"wrapping: spaces in the gap":         wrapped(strings.Repeat(" ", 100)),
		"wrapping: the end of the file twice": slices.Concat(signed, signed[p.after:]),
		"forgery: a digit of the byte range":  bytes.Replace(signed, []byte("/ByteRange [0 "), []byte("/ByteRange [1 "), 1),
		"forgery: another key":                bytes.Replace(signed, []byte("/ByteRange [0 "), []byte("/ByteRangX [0 "), 1),
		"forgery: another key for contents":   bytes.Replace(signed, []byte("/Contents <"), []byte("/ContentX <"), 1),
	}
}

// TestFlips changes single bytes that a signature covers.
func TestFlips(t *testing.T) {
	t.Parallel()
	flip(t, 150, sources(t))
}

// TestManyFlips changes 10,000 bytes of 20 documents.
func TestManyFlips(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	documents := sources(t)
	for path, content := range realDocuments(t) {
		if len(documents) < 20 && len(content) < 200_000 {
			documents[path] = content
		}
	}
	flip(t, 10_000, documents)
}

func flip(t *testing.T, flips int, documents map[string][]byte) {
	t.Helper()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	random := rand.New(rand.NewPCG(1, 2))
	for name, source := range documents {
		signed, err := Sign(t.Context(), PDF{Content: source}, a.job(s, LevelB))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := open(PDF{Content: signed})
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.placeOf(signatureFields(d.File)[len(signatureFields(d.File))-1])
		if err != nil {
			t.Fatal(err)
		}
		for range flips / len(documents) {
			at := random.IntN(p.end)
			if at >= p.start && at < p.after {
				continue
			}
			content := bytes.Clone(signed)
			content[at] ^= 1 << random.IntN(8)
			if ok, reason := accepted(content, a.trust()); ok {
				t.Errorf("%s: byte %d: %s", name, at, reason)
			}
		}
	}
}
