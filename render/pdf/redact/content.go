package redact

import (
	"bytes"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Operators maps the operators of content to their operands: n is a number, / a name, s a string, a a list, p a
// property list, * numbers and a name.
var Operators = func() map[string]string {
	all := map[string]string{
		"cm": "nnnnnn", "m": "nn", "l": "nn", "c": "nnnnnn", "v": "nnnn", "y": "nnnn", "re": "nnnn",
		"d": "an", "ri": "/", "gs": "/", "sh": "/", "Do": "/", "CS": "/", "cs": "/", "SC": "*", "sc": "*", "SCN": "*", "scn": "*",
		"RG": "nnn", "rg": "nnn", "K": "nnnn", "k": "nnnn", "Tf": "/n", "Td": "nn", "TD": "nn", "Tm": "nnnnnn",
		"Tj": "s", "TJ": "a", "'": "s", `"`: "nns", "d0": "nn", "d1": "nnnnnn",
		"MP": "/", "DP": "/p", "BMC": "/", "BDC": "/p",
	}
	for _, op := range strings.Fields("q Q h S s f F f* B B* b b* n W W* BT ET T* EMC BX EX") {
		all[op] = ""
	}
	for _, op := range strings.Fields("w J j M i G g Tc Tw Tz TL Tr Ts") {
		all[op] = "n"
	}
	return all
}()

// Categories are the parts of Resources that operators take names of.
var Categories = map[string]string{
	"Do": "/XObject", "Tf": "/Font", "gs": "/ExtGState", "cs": "/ColorSpace", "CS": "/ColorSpace",
	"scn": "/Pattern", "SCN": "/Pattern", "sh": "/Shading", "BDC": "/Properties", "DP": "/Properties",
}

// rewriting is the content of one stream while it is rewritten to contain only visible content.
type rewriting struct {
	s         *scrubber
	resources pdffile.Dict
	// used are the names that the content takes from its Resources, by category.
	used map[string]map[string]bool
	// codes are the codes of the visible glyphs, by the name of the font.
	codes map[string]map[byte]bool
	fonts []string // the font, and those that q has put aside
	out   []byte
	// dropsReplacement leaves out the replacement text in properties.
	dropsReplacement bool
	replacementText  strings.Builder
}

// rewrite returns content without comments, unknown operators and private properties.
func (s *scrubber) rewrite(content []byte, resources pdffile.Dict) *rewriting {
	var r *rewriting
	s.found = s.found || len(s.terms.binary(content, fewestRaw)) > 0 && bytes.ContainsRune(content, '%')
	for _, dropsReplacement := range []bool{false, true} {
		r = &rewriting{s: s, resources: resources, used: map[string]map[string]bool{}, codes: map[string]map[byte]bool{}, fonts: []string{""}, dropsReplacement: dropsReplacement}
		pdffile.ReadContent(content, r.operation)
		if !s.terms.in(r.replacementText.String()) || s.meanings {
			break // otherwise several properties together could contain a secret
		}
		s.found = true
	}
	return r
}

func (r *rewriting) use(category, name string) {
	if r.used[category] == nil {
		r.used[category] = map[string]bool{}
	}
	r.used[category][name] = true
}

// operation writes an operation that is known, with the operands that it takes.
func (r *rewriting) operation(op pdffile.Operation) {
	if op.Operator == "BI" {
		r.image(op)
		return
	}
	kinds, known := Operators[op.Operator]
	if !known || r.missing(op) {
		return
	}

	operands := op.Operands
	if kinds == "*" {
		kinds = strings.Repeat("n", len(operands))
		if n := len(operands); n > 0 && strings.HasSuffix(op.Operator, "n") || n > 0 && strings.HasSuffix(op.Operator, "N") {
			if name, ok := operands[n-1].(string); ok && strings.HasPrefix(name, "/") {
				kinds = kinds[:n-1] + "/"
			}
		}
	}

	if len(operands) > len(kinds) {
		operands = operands[len(operands)-len(kinds):]
	}
	kinds = kinds[len(kinds)-len(operands):]

	clean := make([]any, len(operands))
	for i, v := range operands {
		clean[i] = r.operand(op.Operator, rune(kinds[i]), v)
	}
	r.font(op.Operator, clean)
	r.out = pdffile.AppendOperation(r.out, pdffile.Operation{Operator: op.Operator, Operands: clean})
}

// missing reports whether an operation names a resource that does not exist: some readers show nothing of such a page.
func (r *rewriting) missing(op pdffile.Operation) bool {
	if op.Operator != "gs" && op.Operator != "Do" && op.Operator != "sh" || len(op.Operands) == 0 {
		return false
	}
	name, _ := op.Operands[len(op.Operands)-1].(string)
	return r.s.Target(r.s.Entry(r.resources[Categories[op.Operator]])[name]) == nil
}

// operand returns an operand of a kind, or the null value of that kind.
func (r *rewriting) operand(operator string, kind rune, v any) any {
	text, _ := v.(string)
	isName := strings.HasPrefix(text, "/")
	isString := strings.HasPrefix(text, "b:")

	switch kind {
	case '/':
		if isName {
			return r.name(operator, text)
		}
		return "/None"
	case 's':
		if isString {
			return v
		}
		return "b:"
	case 'a':
		list, _ := v.([]any)
		kept := []any{}
		for _, item := range list {
			text, _ := item.(string)
			if _, number := item.(pdffile.Number); number || operator == "TJ" && strings.HasPrefix(text, "b:") {
				kept = append(kept, item)
			}
		}

		return kept
	case 'p':
		if isName {
			return r.name(operator, text)
		}
		entries, _ := v.(pdffile.Dict)
		return r.properties(entries)
	}

	if number, ok := v.(pdffile.Number); ok {
		return number
	}
	return pdffile.Number("0")
}

// name returns a name as the result has it, and notes that it is used.
func (r *rewriting) name(operator, name string) string {
	if category := Categories[operator]; category != "" {
		r.use(category, name)
	}
	return r.s.name(name)
}

// properties returns the properties of marked content that readers know. Texts stay if they contain nothing to
// redact.
func (r *rewriting) properties(entries pdffile.Dict) pdffile.Dict {
	kept := pdffile.Dict{}

	for key, v := range entries {
		switch key {
		case "/MCID":
			if n, ok := v.(pdffile.Number); ok {
				kept[key] = n
			}
		case "/Type", "/Subtype":
			if name, ok := v.(string); ok && knownNames()[strings.TrimPrefix(name, "/")] {
				kept[key] = name
			}
		case "/ActualText", "/Alt", "/E", "/Lang":
			text, _ := v.(string)
			_, hit := r.s.terms.cleanString(text)
			r.s.found = r.s.found || hit

			if strings.HasPrefix(text, "b:") && (!hit || r.s.meanings) && !r.dropsReplacement {
				kept[key] = v
				if key != "/Lang" {
					r.replacementText.WriteString(pdffile.Text(text))
				}
			}
		}
	}

	return kept
}

// font records the glyphs that are shown of each font.
func (r *rewriting) font(operator string, operands []any) {
	top := len(r.fonts) - 1

	switch operator {
	case "q":
		r.fonts = append(r.fonts, r.fonts[top])
	case "Q":
		if top > 0 {
			r.fonts = r.fonts[:top]
		}
	case "Tf":
		if len(operands) > 1 {
			r.fonts[top], _ = operands[0].(string)
		}
	case "Tj", "'", `"`, "TJ":
		font := r.fonts[top]
		if r.codes[font] == nil {
			r.codes[font] = map[byte]bool{}
		}

		for _, v := range operands {
			list, ok := v.([]any)
			if !ok {
				list = []any{v}
			}
			for _, item := range list {
				if raw, ok := RawBytes(item); ok {
					for _, c := range raw {
						r.codes[font][c] = true
					}
				}
			}
		}
	}
}

// imageKeys are the entries of images in content.
var imageKeys = map[string]bool{
	"/W": true, "/H": true, "/BPC": true, "/CS": true, "/F": true, "/DP": true, "/D": true, "/IM": true, "/I": true, "/Width": true, "/Height": true,
	"/BitsPerComponent": true, "/ColorSpace": true, "/Filter": true, "/DecodeParms": true, "/Decode": true, "/ImageMask": true, "/Interpolate": true, "/Intent": true,
}

func (r *rewriting) image(op pdffile.Operation) {
	entries, _ := op.Operands[0].(pdffile.Dict)
	kept := pdffile.Dict{}

	for key, v := range entries {
		if !imageKeys[key] {
			continue
		}

		if name, ok := v.(string); ok && strings.HasPrefix(name, "/") {
			if key == "/CS" || key == "/ColorSpace" {
				r.use("/ColorSpace", name)
			}
			v = r.s.name(name)
		}
		kept[key] = v
	}

	r.out = pdffile.AppendOperation(r.out, pdffile.Operation{Operator: "BI", Operands: []any{kept}, Image: op.Image})
}
