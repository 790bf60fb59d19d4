package pdftag

import "slices"

// list is a list, of items only. Text between them is an item without a label.
func (s *shaper) list(e *element, kids []*kid) []*kid {
	if len(kids) == 0 {
		return nil
	}

	items := make([]*kid, 0, len(kids))
	for _, k := range kids {
		if !k.is("/LI") {
			k = newElement("/LI", []*kid{newElement("/LBody", s.flow([]*kid{k}))})
		}
		items = append(items, k)
	}

	e.kids = items
	if e.numbering == "" {
		e.numbering = s.numberingOf(items)
	}
	return []*kid{{element: e}}
}

// item is an item of a list: labels, and all else in a body.
func (s *shaper) item(e *element, kids []*kid) []*kid {
	var parts, body []*kid
	if len(kids) > 0 && isLine(kids[0]) && kids[0].element.kids[0].is("/Lbl") {
		kids = append(slices.Clone(kids[0].element.kids), kids[1:]...)
	}

	for _, k := range kids {
		switch {
		case k.is("/Lbl") && len(body) == 0 && len(parts) == 0:
			parts = append(parts, k)
		case k.is("/LBody", "/Lbl"):
			body = append(body, k.element.kids...)
		default:
			body = append(body, k)
		}
	}

	if len(kids) == 0 {
		return nil
	}
	if len(body) > 0 {
		parts = append(parts, newElement("/LBody", s.flow(body)))
	}

	e.kids = parts
	return []*kid{{element: e}}
}

// numberingOf returns the kind of labels that the first item has; empty if it has none.
func (s *shaper) numberingOf(items []*kid) string {
	first := items[0].element
	if len(first.kids) == 0 || !first.kids[0].is("/Lbl") {
		return ""
	}

	label := []rune(s.textOf(first.kids[0].element))
	if len(label) == 0 {
		return "/Disc"
	}

	switch c := label[0]; {
	case c >= '0' && c <= '9':
		return "/Decimal"
	case slices.Contains([]rune("iv"), c):
		return "/LowerRoman"
	case slices.Contains([]rune("IV"), c):
		return "/UpperRoman"
	case c >= 'a' && c <= 'z':
		return "/LowerAlpha"
	case c >= 'A' && c <= 'Z':
		return "/UpperAlpha"
	}

	return "/Disc"
}

// orphans puts items, cells and rows that have no list, row or table around them into one, and shapes that.
func orphans(kids []*kid, kind, parent string, shape func(*element, []*kid) []*kid) []*kid {
	if !slices.ContainsFunc(kids, func(k *kid) bool { return k.is(kind) }) {
		return kids
	}

	var out, run []*kid
	end := func() {
		if len(run) > 0 {
			out = append(out, shape(newElement(parent, nil).element, run)...)
			run = nil
		}
	}

	for _, k := range kids {
		if k.is(kind) {
			run = append(run, k)
			continue
		}
		end()
		out = append(out, k)
	}

	end()
	return out
}
