// Package batch joins documents of one template into one document, so that one print makes the pages of all: each
// has one page, which looks as if its document were printed alone.
//
// Each document becomes an element that contains what is in it (contain: strict), so that no content of a document
// can show on the page of another, and that has its own rules of pages. Documents that this would change are not
// joined: with scripts, references to other parts of a document, style sheets in the body, elements that change the
// parsing of what follows, forced breaks, fixed elements, and styles that differ in more than the texts of the margins.
// The renderer finds those that have more than one page, and others that only layout shows.
package batch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Joins reports whether two documents can be parts of one.
func (d *Document) Joins(other *Document) bool { return d.key == other.key }

// Rounds reports whether elements of the document may clip their content by round corners, which only layout shows.
func (d *Document) Rounds() bool {
	return (strings.Contains(d.style.shared, "radius") || strings.Contains(d.body, "radius")) &&
		(strings.Contains(d.body, "<img") || strings.Contains(d.body, "<svg") || clips.MatchString(d.style.shared) || clips.MatchString(d.body))
}

var clips = regexp.MustCompile(`(?i)overflow(-x|-y|-block|-inline)?\s*:`)

// Area returns the size of the area of a page inside its margins, in CSS pixels, and its distance from the top of the
// paper. The margins are those of the printer: top, right, bottom and left. A style sheet can replace them.
func (d *Document) Area(width, height float64, margins [4]float64) (areaWidth, areaHeight, top float64) {
	for i, margin := range d.style.margins {
		if margin >= 0 {
			margins[i] = margin
		}
	}
	return width - margins[1] - margins[3], height - margins[0] - margins[2], margins[0]
}

// protection is a selector that no rule of a document outweighs.
const protection = ":not(#a#a#a#a)"

// EndPrefix begins the names of the destinations at the ends of the documents, which are numbered from 1.
const EndPrefix = "rp-end-"

// Join joins documents, each of which joins with the first. It returns nothing if a browser might read the parts of
// the result in another way than it reads the documents.
func Join(documents []*Document) string {
	first := documents[0]
	var out strings.Builder
	out.WriteString("<!doctype html><html" + first.root + `><head><meta charset="utf-8"><title>` + html.EscapeString(first.Title) + "</title><style>")
	fmt.Fprintf(&out, ":where(%s){display:block;margin:8px}", bodyName)
	out.WriteString("</style><style>" + first.style.shared + "</style><style>")
	fmt.Fprintf(&out, "body%[1]s,%[2]s%[1]s,%[3]s%[1]s{all:unset!important;display:block!important}", protection, rootName, endName)
	fmt.Fprintf(&out, "%[2]s%[1]s{%[3]s}%[4]s%[1]s{display:none!important}", protection, rootName, first.style.tall, headName)
	fmt.Fprintf(&out, "%[2]s%[1]s{height:0!important;position:relative!important}", protection, endName)
	fmt.Fprintf(&out, "%[2]s%[1]s>a%[1]s{all:unset!important;position:absolute!important;left:0!important;bottom:0!important;width:1px!important;height:1px!important}", protection, endName)
	out.WriteString("@counter-style " + numberStyle + `{system:cyclic;symbols:"1"}`)
	for i, d := range documents {
		d.writeStyle(&out, i+1, i == len(documents)-1)
	}
	out.WriteString("</style></head><body>")
	bodies := make([]string, len(documents))
	for i, d := range documents {
		name := sheetName(i + 1)
		bodies[i] = fmt.Sprintf(`<%[1]s><%[2]s><%[3]s></%[3]s>%[4]s</%[2]s><%[5]s><a href="#%[6]s%[7]d" id="%[6]s%[7]d"></a></%[5]s></%[1]s>`,
			name, rootName, headName, d.body, endName, EndPrefix, i+1)
		out.WriteString(bodies[i])
	}
	out.WriteString("</body></html>")
	joined := out.String()
	if !unchanged(joined, bodies) {
		return ""
	}
	return joined
}

func sheetName(number int) string { return Prefix + strconv.Itoa(number) }

// writeStyle writes the rules of a document's element and of its page.
func (d *Document) writeStyle(out *strings.Builder, number int, last bool) {
	name := sheetName(number)
	variables := ""
	for _, v := range d.variables {
		variables += v.name + ":" + write(v.value) + ";"
	}
	writeAll := func(list []declaration) {
		for _, p := range list {
			out.WriteString(p.name + ":" + write(d.resolved(p.value)) + ";")
		}
	}
	for _, rules := range []pageRules{d.style.all, d.style.first} {
		fmt.Fprintf(out, "@page %s{", name)
		writeAll(rules.page)
		for _, b := range rules.boxes {
			out.WriteString("@" + b.name + "{")
			writeAll(b.list)
			out.WriteString("}")
		}
		out.WriteString("}")
	}
	after := "page"
	if last {
		after = "auto"
	}
	fmt.Fprintf(out, "%s%s{all:unset!important;display:block!important;position:relative!important;contain:layout paint style!important;height:100vh!important;page:%s!important;break-after:%s!important;%s}",
		name, protection, name, after, variables)
}

// resolved returns a value of a page's rules with the document's own variables, which such rules do not inherit.
func (d *Document) resolved(value []token) (resolved []token) {
	for len(value) > 0 {
		t := value[0]
		value = value[1:]
		if t.kind == call && strings.EqualFold(t.text, "var(") {
			argument, _, after := until(value, ")")
			name, _, _ := until(argument, ",")
			i := slices.IndexFunc(d.variables, func(v declaration) bool { return v.name == write(trim(name)) })
			if i >= 0 {
				resolved, value = append(resolved, d.variables[i].value...), after
				continue
			}
		}
		resolved = append(resolved, t)
	}
	return resolved
}

// unchanged reports whether the parts of a joined document are read as they were written.
func unchanged(joined string, bodies []string) bool {
	tree, err := html.Parse(strings.NewReader(joined))
	if err != nil {
		return false
	}
	body := tree.LastChild.LastChild
	for part := body.FirstChild; part != nil; part = part.NextSibling {
		var out strings.Builder
		if len(bodies) == 0 || html.Render(&out, part) != nil || out.String() != bodies[0] {
			return false
		}
		bodies = bodies[1:]
	}
	return len(bodies) == 0
}
