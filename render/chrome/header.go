package chrome

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// emptyTemplate replaces a missing header or footer: Chromium prints a default (date, title, URL) instead of an
// empty string.
const emptyTemplate = "<span></span>"

// templateStyle makes a header or footer readable: Chromium's own defaults are tiny text over the whole paper's
// width and no colours. All styles are inherited or have no specificity, so that the template's own styles win. A
// template with its own margins gets none from here.
const templateStyle = `<style>
:where(#header, #footer) { padding: 0; }
:where(.relay-template *) { box-sizing: border-box; }
:where(.relay-template) {
  width: 100%%; box-sizing: border-box; padding: 0 %gin 0 %gin;
  font: 10px/1.3 sans-serif; color: #000;
  -webkit-print-color-adjust: exact; print-color-adjust: exact;
}
:where(.relay-template:has(> style, > [style*=margin], > [style*=padding])) { padding: 0; }
</style>`

// templates returns the header and footer as Chromium takes them, and whether
// there are any.
func (o PDF) templates() (header, footer string, shown bool) {
	if o.Header == "" && o.Footer == "" {
		return "", "", false
	}
	return o.template(o.Header), o.template(o.Footer), true
}

func (o PDF) template(template string) string {
	if template == "" {
		return emptyTemplate
	}
	style := fmt.Sprintf(templateStyle, o.MarginRight, o.MarginLeft)
	return style + `<div class="relay-template">` + withoutLoads(template) + `</div>`
}

var (
	cssImport  = regexp.MustCompile(`(?i)@import[^;]*;?`)
	cssAddress = regexp.MustCompile(`(?i)url\(\s*["']?\s*([^"')]*)["']?\s*\)`)
)

// withoutLoads removes links, imports and URLs from a template. Chromium loads nothing for headers and footers, and
// its renderer crashes on a style sheet or a font that it would have to load. This helps users and is not a
// protection: loads finds everything that it overlooks.
func withoutLoads(template string) string {
	var out strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(template))
	style := false

	for {
		kind := tokens.Next()
		raw := string(tokens.Raw()) // Token and TagName change the buffer.

		switch kind {
		case html.ErrorToken:
			return out.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := tokens.TagName()
			style = string(name) == "style"
			if string(name) != "link" {
				out.WriteString(withoutAddresses(raw))
			}
		case html.TextToken:
			if style {
				raw = withoutAddresses(cssImport.ReplaceAllString(raw, ""))
			}
			out.WriteString(raw)
		default:
			style = false
			out.WriteString(raw)
		}
	}
}

// withoutAddresses empties every CSS url() that is neither data nor a part of
// the template.
func withoutAddresses(css string) string {
	return cssAddress.ReplaceAllStringFunc(css, func(found string) string {
		address := cssAddress.FindStringSubmatch(found)[1]
		if strings.HasPrefix(address, "#") || local(strings.ToLower(address)) {
			return found
		}
		return "url(data:,)"
	})
}

// loads reports whether a template still loads something, in whatever spelling: the
// browser reads references in attributes, and escapes in CSS.
func loads(template string) bool {
	if !strings.Contains(template, `\`) && !strings.Contains(template, "&") {
		return false // withoutLoads reads it as the browser does
	}

	tokens := html.NewTokenizer(strings.NewReader(template))
	style := false
	for {
		kind := tokens.Next()
		switch kind {
		case html.ErrorToken:
			return false
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			style = token.Data == "style"
			for _, attribute := range token.Attr {
				if cssLoads(attribute.Val) {
					return true
				}
			}
		case html.TextToken:
			if style && cssLoads(string(tokens.Raw())) {
				return true
			}
		default:
			style = false
		}
	}
}

// cssLoads reports whether CSS imports something or has an address outside of it.
func cssLoads(css string) bool {
	css = cssEscape.ReplaceAllStringFunc(css, unescaped)
	return cssImport.MatchString(css) || css != withoutAddresses(css)
}

// cssEscape is a backslash with a code point, or with the character that it is for.
var cssEscape = regexp.MustCompile(`\\(?:([0-9A-Fa-f]{1,6})[ \t\r\n\f]?|([^\r\n\f]))`)

func unescaped(escape string) string {
	found := cssEscape.FindStringSubmatch(escape)
	if found[1] == "" {
		return found[2]
	}

	code, err := strconv.ParseUint(found[1], 16, 32)
	if err != nil || code > unicode.MaxRune {
		return string(unicode.ReplacementChar)
	}

	return string(rune(code))
}

// missingFontsIn returns the fonts and characters that a header or footer names and faces lacks.
// It does not check which styles are used: there are few. Of the template's own fonts, only
// local ones count: Chromium does not wait for others, not even in data: URIs, and draws
// without them.
func missingFontsIn(template string, faces FontSet) missingFonts {
	want := missingFonts{Apart: true}
	styles := template
	if !strings.Contains(template, "local(") {
		styles = strings.ReplaceAll(template, "@font-face", "")
	}

	own := describe(faces, styles)
	for list, readable := range faceLists(template) {
		names := missingFamilies(list, own)
		known := slices.ContainsFunc(want.Lists, func(other []string) bool { return slices.Equal(other, names) })
		if readable && len(names) > 0 && !known && len(want.Lists) < maxLists {
			want.Lists = append(want.Lists, names)
		}
	}

	var visible strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(template))
	hidden := false // between the tags of a hidden element
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		switch kind {
		case html.StartTagToken:
			name, _ := tokens.TagName()
			hidden = slices.Contains([]string{"style", "script", "title"}, string(name))
		case html.TextToken:
			if !hidden {
				visible.Write(tokens.Text())
			}
		case html.EndTagToken:
			hidden = false
		}
	}

	want.Characters = missingGlyphs(visible.String(), faces)
	return want
}
