package officefile

import (
	"path"
	"strings"
)

// KeepPPTX writes a presentation of PowerPoint as LibreOffice is to read it: dates and times with stored results become
// text. It writes no file if there is nothing to change.
func KeepPPTX(from, to string) (written bool, err error) {
	a, err := openArchive(from)
	if err != nil {
		return false, err
	}
	defer a.Close()

	changes := map[string]change{}
	for name := range a.parts {
		if !strings.HasPrefix(name, "ppt/slide") || path.Ext(name) != ".xml" {
			continue
		}
		content, err := a.read(name)
		if err != nil {
			return false, err
		}
		edits, err := slideEdits(content)
		if err != nil {
			return false, err
		}
		if len(edits) > 0 {
			changes[name] = replaceBy(apply(content, edits))
		}
	}

	if len(changes) == 0 {
		return false, nil
	}
	return true, a.rewrite(to, changes)
}

// slideEdits returns the edits that make text of the dates of a part: they become runs, which have no properties of
// paragraphs.
func slideEdits(content []byte) (map[int]edit, error) {
	all := map[int]edit{}
	field := map[int]edit{}
	open := false
	text := false
	filled := false
	properties := -1 // where those of the paragraph begin

	err := eachToken(content, func(at int, t token) {
		if !t.tag() {
			filled = filled || open && text
			return
		}

		prefix, _, found := strings.Cut(strings.TrimPrefix(string(t[1:]), "/"), ":")
		if !found {
			prefix = ""
		} else {
			prefix += ":"
		}

		place := edit{from: at, to: at + len(t)}
		switch name := string(t.name()); {
		case name == "fld" && !t.closes():
			open = !t.empty() && strings.HasPrefix(t.attribute("type"), "datetime")
			filled = false
			place.text = "<" + prefix + "r>"
			clear(field)
			field[at] = place
		case !open:
		case name == "t":
			text = !t.ends()
		case name == "pPr" && t.empty():
			field[at] = place
		case name == "pPr" && !t.closes():
			properties = at
		case name == "pPr":
			field[properties] = edit{from: properties, to: place.to}
		case name == "fld":
			if open = false; filled {
				place.text = "</" + prefix + "r>"
				field[at] = place
				for from, e := range field {
					all[from] = e
				}
			}
		}
	})
	return all, err
}
