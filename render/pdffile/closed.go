package pdffile

// Closed reports whether readers end content where it ends, in the state in which it began: no string, text, path,
// marked content or saved state is open, and none was closed that the content had not opened. Readers disagree on the
// end of images in content, and stop after some number of unknown operators and names: content with these is not
// closed. Known reports whether readers know an operator and the name that it uses.
func Closed(content []byte, known func(operator, name string) bool) bool {
	p := &parser{data: content}
	var open opened
	operands := 0
	name := ""

	for !p.ended() {
		if value, ok := p.operand(0); ok {
			if operands == 0 {
				name, _ = value.(string)
			}
			operands++
			continue
		}

		operator := p.regular()
		if !known(operator, name) || !open.next(operator) {
			return false
		}
		operands = 0
		name = ""
	}

	return operands == 0 && open == (opened{}) // A string without an end has all that follows, and no operator.
}

// opened counts what content has opened.
type opened struct {
	states, texts, marks int
	path                 bool
}

// next counts an operator. It reports whether the content had opened what the operator closes.
func (o *opened) next(operator string) bool {
	switch operator {
	case "q":
		o.states++
	case "Q":
		o.states--
	case "BT":
		o.texts++
	case "ET":
		o.texts--
	case "BMC", "BDC":
		o.marks++
	case "EMC":
		o.marks--
	case "m", "l", "c", "v", "y", "h", "re":
		o.path = true
	case "S", "s", "f", "F", "f*", "B", "B*", "b", "b*", "n":
		o.path = false
	}

	return o.states >= 0 && o.texts >= 0 && o.marks >= 0
}
