package pdfcheck

import (
	"errors"
	"slices"
)

// treeRules are those about the structure.
func treeRules() []*rule {
	text := func(key string) func(*checker, object) bool {
		return func(c *checker, o object) bool { return c.filled(o.Dict, key) && !o.element.lang }
	}
	described := func(kind string) func(*checker, object) bool {
		return func(c *checker, o object) bool {
			return o.element.kind == kind && !c.filled(o.Dict, "/Alt") && o.Dict["/ActualText"] == nil
		}
	}
	mapped := func(fault error) func(*checker, object) bool {
		return func(_ *checker, o object) bool { return errors.Is(o.element.mapped, fault) }
	}
	const fixRole = "Map the type to a standard one in RoleMap."
	return []*rule{
		{ua: "7.1-5", a2: "6.7.3.4-1", only: "a", of: ofElement,
			message: "An element has a type that is not mapped to a standard type.", fix: fixRole,
			violates: mapped(unmapped)},
		{ua: "7.1-6", a2: "6.7.3.4-2", only: "a", of: ofElement,
			message: "The type of an element is mapped to itself.", fix: fixRole, violates: mapped(circular)},
		{ua: "7.1-7", a2: "6.7.3.4-3", only: "a", of: ofElement,
			message: "A standard type is mapped to another type.", fix: "Remove the type from RoleMap.",
			violates: mapped(remapped)},
		{ua: "7.1-12", of: ofElement,
			message: "An element does not name its parent.", fix: fixTag,
			violates: func(_ *checker, o object) bool { return o.Dict["/P"] == nil }},
		{ua: "7.2-21", of: ofElement,
			message: "The language of a replacement text is unknown.", fix: fixLanguage, violates: text("/ActualText")},
		{ua: "7.2-22", of: ofElement,
			message: "The language of an alternative text is unknown.", fix: fixLanguage, violates: text("/Alt")},
		{ua: "7.2-23", of: ofElement,
			message: "The language of an expanded abbreviation is unknown.", fix: fixLanguage, violates: text("/E")},
		{ua: "7.2-29", of: ofElement,
			message: "The language of an element is not a language tag, such as en-GB.", fix: fixLanguage,
			violates: wrongLanguage(true)},
		{a2: "6.7.4-1", only: "a", of: ofElement,
			message: "The language of an element is not a language tag, such as en-GB.", fix: fixLanguage,
			violates: wrongLanguage(false)},
		{ua: "7.3-1", of: ofElement,
			message:  "An image has no alternative text.",
			fix:      "Set alt, which is empty for decoration; for an SVG, role=\"img\" and aria-label.",
			violates: described("Figure")},
		{ua: "7.7-1", of: ofElement,
			message: "A formula has no alternative text.",
			fix:     "Set the text of the formula, such as its TeX source, as Alt.", violates: described("Formula")},
		{ua: "7.4.2-1", of: ofElement,
			message:  "A heading skips a level, or the first one is not of level 1.",
			fix:      "Use h1, then h2, then h3. Set sizes with CSS.",
			violates: func(_ *checker, o object) bool { return o.element.skips }},
		{ua: "7.4.4-1", of: ofElement,
			message: "An element has more than one heading (H).", fix: "Use H1 to H6, or one H per section.",
			violates: func(_ *checker, o object) bool {
				n := 0
				for _, k := range o.element.kids {
					if k.kind == "H" {
						n++
					}
				}
				return n > 1
			}},
		{ua: "7.4.4-2", of: ofElement,
			message: "The document has headings without levels (H), and others with levels.", fix: "Use H1 to H6 only.",
			violates: func(_ *checker, o object) bool {
				return o.element.kind == "H" && o.Dict["both"] == true
			}},
		{ua: "7.4.4-3", of: ofElement,
			message: "The document has headings with levels, and others without (H).", fix: "Use H1 to H6 only.",
			violates: func(_ *checker, o object) bool {
				return o.element.level() > 0 && o.Dict["both"] == true
			}},
		{ua: "7.9-1", of: ofElement,
			message: "A note has no ID.", fix: "Give each Note an ID of its own.",
			violates: func(c *checker, o object) bool { return o.element.kind == "Note" && !c.filled(o.Dict, "/ID") }},
		{ua: "7.9-2", of: ofElement,
			message: "Several notes have the same ID.", fix: "Give each Note an ID of its own.",
			violates: func(c *checker, o object) bool {
				return o.element.kind == "Note" && c.filled(o.Dict, "/ID") && o.Dict["twice"] == true
			}},
		{ua: "7.18.4-2", of: ofElement,
			message: "A Form element has other content than one form field.",
			fix:     "Put one form field in each Form element.",
			violates: func(c *checker, o object) bool {
				e := o.element
				return e.kind == "Form" && !c.hasRole(o) && (e.objects != 1 || len(e.kids) > 0 || e.contents > 0)
			}},
	}
}

// hasRole reports whether the attributes of an element give the role of a printed form field.
func (c *checker) hasRole(o object) bool {
	list := c.list(o.Dict["/A"])
	if list == nil {
		list = []any{o.Dict["/A"]}
	}
	return slices.ContainsFunc(list, func(v any) bool { return c.Entry(v)["/Role"] != nil })
}

// tableRules are those about the order of elements in tables and lists.
func tableRules() []*rule {
	out := func(kind string, parents ...string) func(*checker, object) bool {
		return func(_ *checker, o object) bool { return o.element.outside(kind, parents...) }
	}
	other := func(kind string, kinds ...string) func(*checker, object) bool {
		return func(_ *checker, o object) bool { return o.element.kind == kind && o.element.others(kinds...) }
	}
	count := func(f func(e *element) bool) func(*checker, object) bool {
		return func(_ *checker, o object) bool { return o.element.kind == "Table" && f(o.element) }
	}
	lateCaption := func(kind string) func(*checker, object) bool {
		return func(_ *checker, o object) bool {
			if o.element.kind != kind {
				return false
			}
			inner := o.element.inner()
			return len(inner) > 1 && slices.Contains(inner[1:], "Caption")
		}
	}
	const fixList = "Write lists of ul or ol, and li, without other elements between them."
	const fixContents = "Put only TOCI, TOC and a first Caption in a TOC."
	return []*rule{
		{ua: "7.2-3", of: ofElement,
			message: "A table has other elements than rows, groups of rows, and a caption.", fix: fixTable,
			violates: other("Table", "TR", "THead", "TBody", "TFoot", "Caption")},
		{ua: "7.2-4", of: ofElement,
			message: "A table row is not in a table.", fix: fixTable,
			violates: out("TR", "Table", "THead", "TBody", "TFoot")},
		{ua: "7.2-5", of: ofElement,
			message: "The head of a table is not in a table.", fix: fixTable, violates: out("THead", "Table")},
		{ua: "7.2-6", of: ofElement,
			message: "The body of a table is not in a table.", fix: fixTable, violates: out("TBody", "Table")},
		{ua: "7.2-7", of: ofElement,
			message: "The foot of a table is not in a table.", fix: fixTable, violates: out("TFoot", "Table")},
		{ua: "7.2-8", of: ofElement, message: "A header cell is not in a row.", fix: fixTable, violates: out("TH", "TR")},
		{ua: "7.2-9", of: ofElement, message: "A cell is not in a row.", fix: fixTable, violates: out("TD", "TR")},
		{ua: "7.2-10", of: ofElement,
			message: "A row has other elements than cells.", fix: fixTable, violates: other("TR", "TH", "TD")},
		{ua: "7.2-11", of: ofElement,
			message: "A table has several heads.", fix: fixTable,
			violates: count(func(e *element) bool { return e.count("THead") > 1 })},
		{ua: "7.2-12", of: ofElement,
			message: "A table has several feet.", fix: fixTable,
			violates: count(func(e *element) bool { return e.count("TFoot") > 1 })},
		{ua: "7.2-13", of: ofElement,
			message: "A table has a foot, but no body.", fix: fixTable,
			violates: count(func(e *element) bool { return e.count("TFoot") > 0 && e.count("TBody") == 0 })},
		{ua: "7.2-14", of: ofElement,
			message: "A table has a head, but no body.", fix: fixTable,
			violates: count(func(e *element) bool { return e.count("THead") > 0 && e.count("TBody") == 0 })},
		{ua: "7.2-16", of: ofElement,
			message: "The caption of a table is neither first nor last.", fix: fixTable,
			violates: count(func(e *element) bool {
				inner := e.inner()
				return len(inner) > 2 && slices.Contains(inner[1:len(inner)-1], "Caption")
			})},
		{ua: "7.2-36", of: ofElement,
			message: "The head of a table has other elements than rows.", fix: fixTable, violates: other("THead", "TR")},
		{ua: "7.2-37", of: ofElement,
			message: "The body of a table has other elements than rows.", fix: fixTable, violates: other("TBody", "TR")},
		{ua: "7.2-38", of: ofElement,
			message: "The foot of a table has other elements than rows.", fix: fixTable, violates: other("TFoot", "TR")},
		{ua: "7.2-39", of: ofElement,
			message: "A table has several captions.", fix: fixTable,
			violates: count(func(e *element) bool { return e.count("Caption") > 1 })},
		{ua: "7.2-17", of: ofElement, message: "A list item is not in a list.", fix: fixList, violates: out("LI", "L")},
		{ua: "7.2-18", of: ofElement,
			message: "The body of a list item is not in a list item.", fix: fixList, violates: out("LBody", "LI")},
		{ua: "7.2-19", of: ofElement,
			message: "A list has other elements than items, lists, and a caption.", fix: fixList,
			violates: other("L", "L", "LI", "Caption")},
		{ua: "7.2-20", of: ofElement,
			message: "A list item has other elements than its label and its body.", fix: fixList,
			violates: other("LI", "Lbl", "LBody")},
		{ua: "7.2-40", of: ofElement,
			message: "The caption of a list is not first.", fix: fixList, violates: lateCaption("L")},
		{ua: "7.2-26", of: ofElement,
			message: "An item of a table of contents is not in one.", fix: fixContents, violates: out("TOCI", "TOC")},
		{ua: "7.2-27", of: ofElement,
			message: "A table of contents has other elements than its items.", fix: fixContents,
			violates: other("TOC", "TOC", "TOCI", "Caption")},
		{ua: "7.2-28", of: ofElement,
			message: "The caption of a table of contents is not first.", fix: fixContents, violates: lateCaption("TOC")},
	}
}
