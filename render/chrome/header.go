package chrome

import "fmt"

// emptyTemplate stands for a missing header or footer: Chromium prints one of
// its own (date, title, URL) in the place of an empty string.
const emptyTemplate = "<span></span>"

// templateStyle makes a header or footer readable: Chromium's own defaults are
// tiny text over the whole paper's width and no colours. Everything is
// inherited or of no specificity, so that the template's own styles win. A
// template that brings margins of its own gets none from here.
const templateStyle = `<style>
:where(#header, #footer) { padding: 0; }
:where(.relay-template) {
  width: 100%%; box-sizing: border-box; padding: 0 %gin 0 %gin;
  font: 10px/1.3 sans-serif; color: #000;
  -webkit-print-color-adjust: exact; print-color-adjust: exact;
}
:where(.relay-template:has(> style, > [style*=margin], > [style*=padding])) { padding: 0; }
</style>`

// templates returns the header and footer as Chromium takes them, and whether
// there are any.
func (o PDF) templates() (header, footer string, any bool) {
	if o.Header == "" && o.Footer == "" {
		return "", "", false
	}
	return o.template(o.Header), o.template(o.Footer), true
}

func (o PDF) template(html string) string {
	if html == "" {
		return emptyTemplate
	}
	return fmt.Sprintf(templateStyle, o.MarginRight, o.MarginLeft) + `<div class="relay-template">` + html + `</div>`
}
