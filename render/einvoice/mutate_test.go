package einvoice

import (
	"bytes"
	"encoding/xml"
	"math/rand/v2"
	"strings"
)

// element positions of a document: the bytes from the start to the end of an element, and those of its text.
type span struct {
	start, end         int
	textStart, textEnd int
	name               string
	leaf               bool
	parent             int
}

// spans returns the elements of a document.
func spans(document []byte) (all []span) {
	decoder := xml.NewDecoder(bytes.NewReader(document))
	stack := []int{-1}
	for {
		start := int(decoder.InputOffset())
		token, err := decoder.Token()
		if err != nil {
			return all
		}
		switch t := token.(type) {
		case xml.StartElement:
			top := stack[len(stack)-1]
			if top >= 0 {
				all[top].leaf = false
			}
			all = append(all, span{start: start, textStart: int(decoder.InputOffset()), name: t.Name.Local, leaf: true, parent: top})
			stack = append(stack, len(all)-1)
		case xml.EndElement:
			top := stack[len(stack)-1]
			all[top].textEnd, all[top].end = start, int(decoder.InputOffset())
			stack = stack[:len(stack)-1]
		}
	}
}

// mutations are the changes of an element. Each returns nil if it does not apply.
var mutations = map[string]func(document []byte, all []span, at span, r *rand.Rand) []byte{
	"remove": func(document []byte, _ []span, at span, _ *rand.Rand) []byte {
		return replaced(document, at.start, at.end, "")
	},
	"double": func(document []byte, _ []span, at span, _ *rand.Rand) []byte {
		return replaced(document, at.end, at.end, string(document[at.start:at.end]))
	},
	"empty": func(document []byte, _ []span, at span, _ *rand.Rand) []byte {
		if at.textStart >= at.textEnd {
			return nil
		}
		return replaced(document, at.textStart, at.textEnd, "")
	},
	"other": func(document []byte, _ []span, at span, r *rand.Rand) []byte {
		if !at.leaf || at.textStart >= at.textEnd {
			return nil
		}
		old := string(document[at.textStart:at.textEnd])
		choices := []string{"0", "1", "19", "-5.00", "12.345", "X", "DE", "S", "E", "AE", "K", "O", "L", "M", "Z", "G", "B", "58", "59", "30", "48", "384", "20260230", "2026-02-30", "20260101", "2026-12-31", "EUR", "USD", " " + old + " ", old + "1", "9" + old}
		return replaced(document, at.textStart, at.textEnd, choices[r.IntN(len(choices))])
	},
	"attribute": func(document []byte, _ []span, at span, r *rand.Rand) []byte {
		if !at.leaf {
			return nil
		}
		choices := []string{` schemeID="9999"`, ` currencyID="EUR"`, ` unitCode="XYZ"`, ` listID="X"`, ` name="x"`, ` schemeName="x"`, ` format="102"`, ` schemeID="0088"`, ` unknown="1"`}
		tag := document[at.start:at.textStart]
		added := choices[r.IntN(len(choices))]
		if name := strings.TrimSpace(added[:strings.IndexByte(added, '=')+1]); bytes.Contains(tag, []byte(" "+name)) || !bytes.HasSuffix(tag, []byte(">")) || bytes.HasSuffix(tag, []byte("/>")) {
			return nil
		}
		return replaced(document, at.textStart-1, at.textStart-1, added)
	},
	"no attribute": func(document []byte, _ []span, at span, _ *rand.Rand) []byte {
		tag := document[at.start:at.textStart]
		space, end := bytes.IndexByte(tag, ' '), bytes.LastIndexByte(tag, '"')
		if space < 0 || end < 0 || bytes.Contains(tag, []byte("xmlns")) {
			return nil
		}
		return replaced(document, at.start+space, at.start+end+1, "")
	},
	"move": func(document []byte, all []span, at span, r *rand.Rand) []byte {
		target := all[r.IntN(len(all))]
		if target.leaf || target.textStart >= at.start && target.textStart <= at.end || target.textStart >= target.textEnd {
			return nil
		}
		if target.textEnd < at.start {
			moved := replaced(document, at.start, at.end, "")
			return replaced(moved, target.textEnd, target.textEnd, string(document[at.start:at.end]))
		}
		if target.textEnd <= at.end {
			return nil
		}
		moved := replaced(document, target.textEnd, target.textEnd, string(document[at.start:at.end]))
		return replaced(moved, at.start, at.end, "")
	},
}

func replaced(document []byte, from, to int, text string) []byte {
	return append(append(bytes.Clone(document[:from]), text...), document[to:]...)
}
