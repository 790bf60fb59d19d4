package pdf

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// formPDF is a form written by hand, with a field of every type on two pages.
func formPDF(t testing.TB) []byte {
	t.Helper()
	return pdftest.Load(t, "testdata/form.pdf")
}

func readFields(t testing.TB, document []byte, password string) map[string]form.Field {
	t.Helper()
	result, err := runJob(t, form.FieldsJob.Name, form.FieldsArgs{Input: input(password)}, document)
	if err != nil {
		t.Fatal(err)
	}
	fields := make(map[string]form.Field)
	for _, f := range unmarshal[form.Form](t, result.Body).Fields {
		if _, twice := fields[f.Name]; twice {
			t.Errorf("field %s is listed twice", f.Name)
		}
		fields[f.Name] = f
	}
	return fields
}

func TestFormFields(t *testing.T) {
	result, err := runJob(t, form.FieldsJob.Name, form.FieldsArgs{Input: input("")}, formPDF(t))
	if err != nil {
		t.Fatal(err)
	}
	none := []string{}
	want := []form.Field{
		{Name: "name", Type: "text", Value: "Ada", DefaultValue: "Ada", Options: none, Required: true, Page: new(1), Rect: []float64{150, 735, 400, 755}},
		{Name: "address.street", Type: "text", Value: "", DefaultValue: "", Options: none, Page: new(1), Rect: []float64{150, 695, 400, 715}},
		{Name: "address.second", Type: "text", Value: "", DefaultValue: "", Options: none, Page: new(2), Rect: []float64{50, 500, 300, 520}},
		{Name: "notes", Type: "text", Value: "", DefaultValue: "", Options: none, Multiline: true, Page: new(1), Rect: []float64{150, 610, 400, 680}},
		{Name: "code", Type: "text", Value: "", DefaultValue: "", Options: none, MaxLength: new(5), Page: new(1), Rect: []float64{150, 575, 400, 595}},
		{Name: "agree", Type: "checkbox", Value: false, DefaultValue: false, Options: []string{"Yes"}, Page: new(1), Rect: []float64{150, 538, 166, 554}},
		{Name: "news", Type: "checkbox", Value: true, DefaultValue: true, Options: []string{"On"}, Page: new(1), Rect: []float64{150, 508, 166, 524}},
		{Name: "colour", Type: "radio", Options: []string{"red", "green", "blue"}, Page: new(1), Rect: []float64{150, 468, 166, 484}},
		{Name: "country", Type: "choice", Value: "fr", Options: []string{"de", "fr", "jp"}, Labels: []string{"Germany", "France", "Japan"}, Page: new(1), Rect: []float64{150, 415, 400, 435}},
		{Name: "size", Type: "list", Options: []string{"S", "M", "L"}, Page: new(1), Rect: []float64{150, 345, 400, 405}},
		{Name: "languages", Type: "list", Value: []any{}, DefaultValue: []any{}, Options: []string{"English", "German", "French"}, Multiple: true, Page: new(1), Rect: []float64{150, 270, 400, 330}},
		{Name: "send", Type: "button", Options: none, Page: new(1), Rect: []float64{150, 230, 230, 255}},
		{Name: "signature", Type: "signature", Value: false, Options: none, Page: new(2), Rect: []float64{50, 600, 300, 660}},
		{Name: "number", Type: "text", Value: "A-17", DefaultValue: "", Options: none, ReadOnly: true, Page: new(2), Rect: []float64{50, 700, 200, 720}},
		{Name: "city", Type: "choice", Options: []string{"Paris", "Rome"}, Editable: true, Page: new(2), Rect: []float64{50, 550, 300, 570}},
	}
	got := unmarshal[form.Form](t, result.Body).Fields
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("field %d of %d:\ngot  %+v\nwant %+v", i, len(want), got[min(i, len(got)-1)], want[min(i, len(want)-1)])
		}
	}
}

func TestFormFieldsOfNoForm(t *testing.T) {
	result, err := runJob(t, form.FieldsJob.Name, form.FieldsArgs{Input: input("")}, three().Write())
	if err != nil || string(result.Body) != `{"fields":[]}` {
		t.Errorf("%s, %v; want no fields", result.Body, err)
	}
}

// everyValue is a value for each field that takes one.
func everyValue() map[string]any {
	return map[string]any{
		"name": "Zoë Müller–Łukasz", "address.street": "Улица Ленина 5, Ελλάδα", "address.second": "東京 Tower 한국어 简体 ώς",
		"notes": "Première ligne: é à ü\nВторая строка & <b>\nthe third, which is so long that it has to be broken in two", "code": "AB12é",
		"agree": true, "news": false, "colour": "green", "country": "Germany", "size": "M", "languages": []string{"English", "French"},
		"city": "Łódź", "number": 42,
	}
}

// afterFilling returns the expected values of the fields after filling.
func afterFilling() map[string]any {
	want := everyValue()
	want["country"], want["languages"], want["number"] = "de", []any{"English", "French"}, "42"
	return want
}

func fillForm(t testing.TB, args form.FillArgs, document []byte) []byte {
	t.Helper()
	result, err := runJob(t, form.FillJob.Name, args, document)
	if err != nil {
		t.Fatal(err)
	}
	if faults := unmarshal[form.FillErrors](t, result.Body); len(faults) > 0 {
		t.Fatalf("faults: %v", faults)
	}
	return content(t, result)
}

func TestFormFill(t *testing.T) {
	filled := fillForm(t, form.FillArgs{Input: input(""), Values: everyValue()}, formPDF(t))
	keep(t, "filled.pdf", filled)
	sound(t, filled, "", 2)
	got := readFields(t, filled, "")
	for name, want := range afterFilling() {
		if !reflect.DeepEqual(got[name].Value, want) {
			t.Errorf("%s is %#v, want %#v", name, got[name].Value, want)
		}
	}
	if want := slices.Sorted(maps.Keys(readFields(t, formPDF(t), ""))); !reflect.DeepEqual(slices.Sorted(maps.Keys(got)), want) {
		t.Errorf("the fields are %v, want %v", slices.Sorted(maps.Keys(got)), want)
	}
	shows(t, filled)

	// A filled form can be filled again, and cleared.
	again := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{
		"name": nil, "agree": nil, "colour": nil, "country": "jp", "notes": "next",
	}}, filled)
	got = readFields(t, again, "")
	for name, want := range map[string]any{"name": "", "agree": false, "colour": nil, "country": "jp", "notes": "next", "city": "Łódź"} {
		if !reflect.DeepEqual(got[name].Value, want) {
			t.Errorf("filled again, %s is %#v, want %#v", name, got[name].Value, want)
		}
	}
}

// shows fails the test unless poppler and MuPDF both show the values.
func shows(t testing.TB, document []byte) {
	t.Helper()
	path := pdftest.Save(t, document)
	for viewer, text := range map[string]string{
		"poppler": pdftest.Tool(t, "pdftotext", "-layout", path, "-"), "MuPDF": pdftest.Tool(t, "mutool", "draw", "-q", "-F", "text", path),
	} {
		for _, want := range []string{"Zoë Müller–Łukasz", "Улица Ленина 5, Ελλάδα", "東京 Tower 한국어 简体 ώς", "Première ligne: é à ü", "Вторая строка & <b>", "Germany", "Łódź", "42"} {
			if !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), want) {
				t.Errorf("%s does not show %q:\n%s", viewer, want, text)
			}
		}
	}
}

func TestFormFlatten(t *testing.T) {
	sharedtest.Slow(t)
	filled := fillForm(t, form.FillArgs{Input: input(""), Values: everyValue()}, formPDF(t))
	flat := fillForm(t, form.FillArgs{Input: input(""), Values: everyValue(), Flatten: true}, formPDF(t))
	keep(t, "flat.pdf", flat)
	sound(t, flat, "", 2)
	if left := readFields(t, flat, ""); len(left) != 0 {
		t.Errorf("fields are left: %v", left)
	}
	if catalog := pdftest.Tool(t, "mutool", "show", pdftest.Save(t, flat), "trailer/Root"); strings.Contains(catalog, "/AcroForm") {
		t.Errorf("an empty form is left in the catalog: %s", catalog)
	}
	shows(t, flat)
	for page := 1; page <= 2; page++ {
		if share := differing(t, draw(t, filled, page), draw(t, flat, page)); share > 0.01 {
			t.Errorf("page %d: %.1f %% of the pixels differ from the form's in poppler", page, 100*share)
		}
		if share := differing(t, draw(t, flat, page), drawMuPDF(t, flat, page)); share > 0.02 {
			t.Errorf("page %d: %.1f %% of the pixels differ between poppler and MuPDF", page, 100*share)
		}
		if share := differing(t, draw(t, flat, page), drawPDFium(t, flat, page)); share > 0.02 {
			t.Errorf("page %d: %.1f %% of the pixels differ between poppler and PDFium", page, 100*share)
		}
	}
}

// TestFormFlattenKeepsOtherValues has values that nothing draws but a viewer.
func TestFormFlattenKeepsOtherValues(t *testing.T) {
	flat := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{"code": "1"}, Flatten: true}, formPDF(t))
	text := pdftest.Tool(t, "pdftotext", pdftest.Save(t, flat), "-")
	for _, want := range []string{"Ada", "A-17", "France"} {
		if !strings.Contains(text, want) {
			t.Errorf("the value %s is gone:\n%s", want, text)
		}
	}
}

func TestFormFillFaults(t *testing.T) {
	for name, test := range map[string]struct {
		values map[string]any
		want   form.FillErrors
	}{
		"every fault at once": {
			map[string]any{
				"fullname": "x", "code": "123456", "name": "two\nlines", "agree": "Perhaps", "colour": "pink", "country": "es",
				"size": []string{"S", "M"}, "languages": []string{"English", "Latin"}, "send": "x", "signature": "x",
				"notes": "a\x01b", "city": "x\U000f0000", "address.street": []string{"x"},
			},
			form.FillErrors{
				"fullname": `is not a field of this form. Fields: "name", "address.street", "address.second", "notes", "code", "agree", "news", ` +
					`"colour", "country", "size", "languages", "number", "city"`,
				"code": "must be at most 5 characters; got 6", "name": "must be a single line", "agree": `must be true, false or "Yes"; got "Perhaps"`,
				"colour": `must be one of "red", "green", "blue"; got "pink"`, "country": `must be one of "de", "fr", "jp"; got "es"`,
				"size": "must be exactly one of its options", "languages": `must be one or more of "English", "German", "French"; got "Latin"`,
				"send": "is a button, which has no value", "signature": "is a signature, which cannot be filled",
				"notes": "must not contain control characters", "address.street": "must be text",
				"city": `has characters that no font for form fields contains: "\U000f0000"`,
			},
		},
		"no fault": {map[string]any{"agree": "Yes", "news": "Off", "size": nil, "languages": "German", "code": ""}, nil},
	} {
		result, err := runJob(t, form.FillJob.Name, form.FillArgs{Input: input(""), Values: test.values}, formPDF(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := unmarshal[form.FillErrors](t, result.Body); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, test.want)
		}
	}
	result, err := runJob(t, form.FillJob.Name, form.FillArgs{Input: input(""), Values: map[string]any{"name": "x"}}, three().Write())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := unmarshal[form.FillErrors](t, result.Body), (form.FillErrors{"": "requires a PDF with a form; the PDF has none"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFormFillKeepsEncryption(t *testing.T) {
	document := pdftest.Transform(t, formPDF(t), "--encrypt", "user", "owner", "256", "--modify=form", "--")
	for _, password := range []string{"user", "owner"} {
		filled := fillForm(t, form.FillArgs{Input: input(password), Values: everyValue()}, document)
		for _, password := range []string{"user", "owner"} {
			sound(t, filled, password, 2)
			if got := readFields(t, filled, password)["city"].Value; got != "Łódź" {
				t.Errorf("city is %v, want Łódź", got)
			}
		}
		runFailing(t, job.PasswordRequired, form.FieldsJob.Name, form.FieldsArgs{Input: input("")}, filled)
	}
	runFailing(t, job.WrongPassword, form.FillJob.Name, form.FillArgs{Input: input("no"), Values: everyValue()}, document)
}

// TestFormFillJoinsArabic finds the letters in their joined forms, from right to left.
func TestFormFillJoinsArabic(t *testing.T) {
	filled := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{"name": "سلام", "address.street": "שלום"}, Flatten: true}, formPDF(t))
	keep(t, "arabic.pdf", filled)
	text := pdftest.Tool(t, "mutool", "draw", "-q", "-F", "text", pdftest.Save(t, filled))
	// Seen at first, joined on both sides with alef, and at the end.
	for _, want := range []string{"\ufeb3", "\ufefc", "\ufee1"} {
		if !strings.Contains(text, want) && !strings.Contains(text, "سلام") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestFormFillNames has fields with names in other scripts and with what XML
// takes for its own.
func TestFormFillNames(t *testing.T) {
	document := source{
		Pages: []string{"x"}, Annots: map[int]string{0: "100 0 R 101 0 R"},
		Catalog: "/AcroForm << /Fields [100 0 R 101 0 R] /DA (/Helv 12 Tf 0 g) /DR << /Font << /Helv 3 0 R >> >> >>",
		Objects: []string{
			"<< /Type /Annot /Subtype /Widget /F 4 /Rect [10 10 200 30] /FT /Tx /T <FEFF00470072006F00DF00656771> /DA (/Helv 12 Tf 0 g) >>",
			"<< /Type /Annot /Subtype /Widget /F 4 /Rect [10 50 200 70] /FT /Tx /T (a<b>&\"c\") /DA (/Helv 12 Tf 0 g) >>",
		},
	}.Write()
	values := map[string]any{"Große東": "eins", `a<b>&"c"`: "two"}
	got := readFields(t, fillForm(t, form.FillArgs{Input: input(""), Values: values}, document), "")
	for name, want := range values {
		if got[name].Value != want {
			t.Errorf("%s is %v, want %v", name, got[name].Value, want)
		}
	}
}

// TestFormOfNumberedStates has a radio button as some applications write it: its states are
// numbers, and its texts are in a separate list.
func TestFormOfNumberedStates(t *testing.T) {
	widget := func(left, state string) string {
		return "<< /Type /Annot /Subtype /Widget /F 4 /Rect [" + left + " 10.125 578.872 30] /Parent 100 0 R /AS /Off /AP << /N << /" + state + " 103 0 R /Off 103 0 R >> >> >>"
	}
	document := source{
		Pages: []string{"x"}, Annots: map[int]string{0: "101 0 R 102 0 R"},
		Catalog: "/AcroForm << /Fields [100 0 R] /DA (/Helv 12 Tf 0 g) /DR << /Font << /Helv 3 0 R >> >> >>",
		Objects: []string{
			"<< /FT /Btn /Ff 49152 /T (colour) /V /Off /Opt [(Gr\374n) (Rot)] /Kids [101 0 R 102 0 R] >>", widget("10", "0"), widget("50", "1"),
			"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 1 >>\nstream\nn\nendstream",
		},
	}.Write()
	field := readFields(t, document, "")["colour"]
	want := form.Field{
		Name: "colour", Type: "radio", Options: []string{"0", "1"}, Labels: []string{"Grün", "Rot"}, Page: new(1), Rect: []float64{10, 10.125, 578.872, 30},
	}
	if !reflect.DeepEqual(field, want) {
		t.Errorf("got %+v, want %+v", field, want)
	}
	for _, value := range []string{"1", "Rot"} {
		filled := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{"colour": value}}, document)
		if got := readFields(t, filled, "")["colour"].Value; got != "1" {
			t.Errorf("%s: it is %v", value, got)
		}
	}
}

// TestFormFillDropsUsageRights fills a form with the signature of Adobe's that a
// change breaks, and keeps what else there is.
func TestFormFillDropsUsageRights(t *testing.T) {
	document := source{
		Pages: []string{"x"}, Annots: map[int]string{0: "100 0 R"},
		Catalog: "/AcroForm << /Fields [100 0 R] /DA (/Helv 12 Tf 0 g) /DR << /Font << /Helv 3 0 R >> >> >> /Perms << /UR3 101 0 R /DocMDP 102 0 R >>",
		Objects: []string{
			"<< /Type /Annot /Subtype /Widget /F 4 /Rect [10 10 200 30] /FT /Tx /T (name) /DA (/Helv 12 Tf 0 g) >>",
			"<< /Type /Sig /Filter /Adobe.PPKLite >>", "<< /Type /Sig /Filter /Other >>",
		},
	}.Write()
	for name, variant := range map[string][]byte{"plain": document, "object streams": pdftest.Transform(t, document, "--object-streams=generate")} {
		filled := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{"name": "Ada"}}, variant)
		sound(t, filled, "", 1)
		if got := readFields(t, filled, "")["name"].Value; got != "Ada" {
			t.Errorf("%s: the field is %v", name, got)
		}
		permissions := pdftest.Tool(t, "mutool", "show", pdftest.Save(t, filled), "trailer/Root/Perms")
		if strings.Contains(permissions, "/UR3") || !strings.Contains(permissions, "/DocMDP") {
			t.Errorf("%s: permissions %s", name, permissions)
		}
	}
}
