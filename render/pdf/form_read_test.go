package pdf

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// stateNames are names of the states of buttons, as files spell them, and as the API shows them.
var stateNames = map[string]string{
	"Yes": "Yes", "1": "1", "J#e4": "Jä", "J#c3#a4": "Jä", "Ja#20nein": "Ja nein", "#d0#94#d0#b0": "Да", "Ausgew#e4hlt": "Ausgewählt",
	"a#2fb": "a/b", "M#3a": "M:", "Yes#23": "Yes#", "#80": "\u0080", "#ff#fe": "ÿþ",
}

// statesForm is a page with a checkbox and a radio button of each name. Those that are on are black squares.
func statesForm(flags int) (document []byte, names []string) {
	c := craft("")
	on := c.stream("/Type /XObject /Subtype /Form /BBox [0 0 10 10]", "0 g 0 0 10 10 re f")
	off := c.stream("/Type /XObject /Subtype /Form /BBox [0 0 10 10]", "")
	widgets, fields := "", ""
	look := func(name string) string {
		return fmt.Sprintf("/AS /Off /AP << /N << /%s %s /Off %s >> >>", name, on, off)
	}
	for name := range stateNames {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		box := func(x int) string {
			return fmt.Sprintf("/Type /Annot /Subtype /Widget /F %d /Rect [%d %d %d %d]", flags, x, 20+20*i, x+10, 30+20*i)
		}
		check := c.add(fmt.Sprintf("<< %s /FT /Btn /T (c%d) /V /Off %s >>", box(20), i, look(name)))
		radio := c.add(fmt.Sprintf("<< /FT /Btn /Ff 49152 /T (r%d) /V /Off >>", i))
		first := c.add(fmt.Sprintf("<< %s /Parent %s %s >>", box(60), radio, look(name)))
		second := c.add(fmt.Sprintf("<< %s /Parent %s %s >>", box(100), radio, look("Other")))
		number := strings.Fields(radio)[0]
		var n int
		_, _ = fmt.Sscan(number, &n)
		c.objects[n] = fmt.Sprintf("<< /FT /Btn /Ff 49152 /T (r%d) /V /Off /Kids [%s %s] >>", i, first, second)
		widgets += check + " " + first + " " + second + " "
		fields += check + " " + radio + " "
	}
	c.pages[0].entries = "/Annots [" + widgets + "]"
	c.catalog = "/AcroForm << /Fields [" + fields + "] >>"
	return c.write(), names
}

// TestButtonStates sets buttons with states of all spellings: the appearance shows what the value says, with and
// without flattening, whatever the flags of the widgets.
func TestButtonStates(t *testing.T) {
	t.Parallel()
	for _, flags := range []int{4, 0} {
		document, names := statesForm(flags)
		values := map[string]any{}
		for i, name := range names {
			values[fmt.Sprintf("c%d", i)], values[fmt.Sprintf("r%d", i)] = true, stateNames[name]
		}
		for _, flatten := range []bool{false, true} {
			got := fillForm(t, form.FillArgs{Input: input(""), Values: values, Flatten: flatten}, document)
			sound(t, got, "", 1)
			page := draw(t, got, 1)
			for i, name := range names {
				for x, want := range map[int]bool{25: true, 65: true, 105: false} {
					if black := color.GrayModel.Convert(page.At(x, 400-(25+20*i))).(color.Gray).Y < 100; black != want {
						t.Errorf("flags %d, flatten %t: /%s at %d is black: %t, want %t", flags, flatten, name, x, black, want)
					}
				}
			}
			fields := readFields(t, got, "")
			for i, name := range names {
				if flatten {
					break
				}
				if field := fields[fmt.Sprintf("r%d", i)]; field.Value != stateNames[name] || fields[fmt.Sprintf("c%d", i)].Value != true {
					t.Errorf("/%s: the radio button is %v, the checkbox %v", name, field.Value, fields[fmt.Sprintf("c%d", i)].Value)
				}
			}
		}
	}
}

// TestFlattenWithoutPrintFlag: readers show fields that are not printed, so flattening keeps their values.
func TestFlattenWithoutPrintFlag(t *testing.T) {
	t.Parallel()
	document := strings.ReplaceAll(string(formPDF(t)), "/F 4", "/F 0")
	got := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{"name": "Printless", "country": "Germany", "notes": "One\nTwo"}, Flatten: true}, []byte(document))
	text := pdftest.Tool(t, "pdftotext", pdftest.Save(t, got), "-")
	for _, word := range []string{"Printless", "Germany", "One", "Two"} {
		if !strings.Contains(text, word) {
			t.Errorf("lost %q; got %q", word, text)
		}
	}
}

// unlistedForm is a page with fields that the catalog's form does not list: one alone, and one below another field.
func unlistedForm(catalog string) []byte {
	c := craft("")
	widget := "<< /Type /Annot /Subtype /Widget /F 4 /Rect [20 %d 200 %d] /DA (/Helv 12 Tf 0 g) %s >>"
	listed := c.add(fmt.Sprintf(widget, 300, 320, "/FT /Tx /T (listed)"))
	alone := c.add(fmt.Sprintf(widget, 250, 270, "/FT /Tx /T (alone)"))
	c.objects[200] = fmt.Sprintf(widget, 200, 220, "/Parent 201 0 R /T (kid)")
	c.objects[201] = "<< /FT /Tx /T (above) /Kids [200 0 R] >>"
	c.pages[0].entries = "/Annots [" + listed + " " + alone + " 200 0 R]"
	c.catalog = strings.ReplaceAll(catalog, "LISTED", listed)
	return c.write()
}

// TestUnlistedFields lists, fills and flattens fields that are only on pages.
func TestUnlistedFields(t *testing.T) {
	t.Parallel()
	values := map[string]any{"listed": "Onevalue", "alone": "Twovalue", "above.kid": "Threevalue"}
	for name, catalog := range map[string]string{
		"no form":        "",
		"no list":        "/AcroForm << /DA (/Helv 12 Tf 0 g) >>",
		"some":           "/AcroForm << /Fields [LISTED] /DR << /Font << /Helv 3 0 R >> >> >>",
		"a list of null": "/AcroForm << /Fields [null 999 0 R] >>",
	} {
		document := unlistedForm(catalog)
		if fields := readFields(t, document, ""); len(fields) != len(values) || fields["above.kid"].Page == nil {
			t.Errorf("%s: fields %v", name, fields)
		}
		filled := fillForm(t, form.FillArgs{Input: input(""), Values: values}, document)
		sound(t, filled, "", 1)
		fields := readFields(t, filled, "")
		flat := pdftest.Tool(t, "pdftotext", pdftest.Save(t, fillForm(t, form.FillArgs{Input: input(""), Values: values, Flatten: true}, document)), "-")
		for field, value := range values {
			if fields[field].Value != value || !strings.Contains(flat, value.(string)) {
				t.Errorf("%s: %s is %v, flattened: %q", name, field, fields[field].Value, flat)
			}
		}
	}
}

// TestFlattenDrawsUndrawn: values without an appearance stay when a form is flattened, those of buttons too.
func TestFlattenDrawsUndrawn(t *testing.T) {
	t.Parallel()
	document, _ := undrawnForm("/NeedAppearances true")
	got := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{"plain": "Newvalue"}, Flatten: true}, document)
	text := strings.Join(strings.Fields(pdftest.Tool(t, "pdftotext", "-raw", pdftest.Save(t, got), "-")), "")
	for _, word := range []string{"Newvalue", "Secondline", "WXYZ", "Привет", "Greenlabel", "Twooption", "Pressme", "✔", "●"} {
		if !strings.Contains(text, word) {
			t.Errorf("lost %q; got %q", word, text)
		}
	}
}
