package pdffile

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// Number is a number of content in its original spelling.
type Number string

// Operation is an operator of content with its operands: numbers, names, strings as bytes in
// hexadecimal digits, lists, and dictionaries. An image in the content is the operator BI,
// with its dictionary, and Image its data.
type Operation struct {
	Operator string
	Operands []any
	Image    []byte
}

// numberCharacters are the characters of numbers of content.
const numberCharacters = "0123456789+-."

// maxOperands is the maximum number of operands of an operator.
const maxOperands = 4096

// ReadContent passes the operations of content to f, in order. Comments and unreadable parts are left out; operands
// without an operator come last, with none.
func ReadContent(content []byte, f func(Operation)) {
	p := &parser{data: content}
	var operands []any
	for !p.ended() {
		if value, ok := p.operand(0); ok {
			if len(operands) < maxOperands {
				operands = append(operands, value)
			}
			continue
		}

		word := p.regular()
		switch word {
		case "":
			p.at++ // a bracket that was not opened
		case "BI":
			f(p.image())
			operands = nil
		default:
			f(Operation{Operator: word, Operands: operands})
			operands = nil
		}
	}

	if len(operands) > 0 {
		f(Operation{Operands: operands})
	}
}

// operand takes an operand, if that is next.
func (p *parser) operand(depth int) (any, bool) {
	p.space()
	if p.at >= len(p.data) || depth > maxNesting {
		return nil, false
	}

	before := p.at
	switch c := p.data[p.at]; {
	case c == '/':
		return p.name(), true
	case c == '(' || c == '<' && !bytes.HasPrefix(p.data[p.at:], []byte("<<")):
		value, ok := p.text()
		if !ok {
			p.at = before
		}
		return value, ok
	case c == '[' || c == '<':
		return p.group(depth)
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		word := p.regular()
		if strings.Trim(word, numberCharacters) == "" {
			return Number(word), true
		}
		p.at = before
		return nil, false
	}

	switch {
	case p.keyword("true"):
		return true, true
	case p.keyword("false"):
		return false, true
	}
	return nil, p.keyword("null")
}

// text takes a string. One without an end has all that follows.
func (p *parser) text() (value any, ok bool) {
	if p.data[p.at] == '(' {
		start := p.at
		if value, err := p.literal(); err == nil {
			return value, true
		}
		p.at = len(p.data)
		return "b:" + hex.EncodeToString(p.data[start+1:]), true
	}

	end := bytes.IndexByte(p.data[p.at:], '>')
	if end < 0 {
		return nil, false
	}
	var digits []byte
	for _, c := range p.data[p.at+1 : p.at+end] {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			digits = append(digits, c)
		}
	}

	p.at += end + 1
	if len(digits)%2 == 1 {
		digits = append(digits, '0')
	}
	return "b:" + strings.ToLower(string(digits)), true
}

// group reads a list or a dictionary. Unreadable items are left out.
func (p *parser) group(depth int) (any, bool) {
	end := "]"
	if p.data[p.at] == '<' {
		end = ">>"
	}
	p.at += len(end)

	items := []any{}
	for !p.ended() {
		if bytes.HasPrefix(p.data[p.at:], []byte(end)) {
			p.at += len(end)
			break
		}

		value, ok := p.operand(depth + 1)
		if !ok {
			if p.regular() == "" {
				p.at++
			}
			continue
		}
		items = append(items, value)
	}

	if end == "]" {
		return items, true
	}
	return pairs(items), true
}

// pairs makes a dictionary of keys and values.
func pairs(items []any) Dict {
	entries := Dict{}
	for i := 0; i+1 < len(items); i++ {
		if key, ok := items[i].(string); ok && strings.HasPrefix(key, "/") {
			if items[i+1] != nil {
				entries[key] = items[i+1]
			}
			i++
		}
	}
	return entries
}

// image takes an image in the content, behind its BI.
func (p *parser) image() Operation {
	var items []any
	for !p.ended() && !p.keyword("ID") {
		value, ok := p.operand(0)
		if ok {
			items = append(items, value)
		} else if p.regular() == "" {
			p.at++
		}
	}
	if p.at < len(p.data) && isSpace(p.data[p.at]) {
		p.at++
	}

	entries := pairs(items)
	start := p.at
	end := start + plainLength(entries)
	if end == start || !ends(p.data, end) {
		for end = start; end < len(p.data) && !ends(p.data, end); end++ {
			continue
		}
	}

	p.at = min(end, len(p.data))
	data := p.data[start:p.at]
	for p.at < len(p.data) && isSpace(p.data[p.at]) {
		p.at++
	}
	p.keyword("EI")
	return Operation{Operator: "BI", Operands: []any{entries}, Image: data}
}

// plainLength returns the number of bytes of the data of an image without a filter; 0 means unknown.
func plainLength(entries Dict) int {
	number := func(short, long string) int {
		for _, key := range []string{short, long} {
			if n, ok := entries[key].(Number); ok {
				value := 0
				for _, c := range n {
					if c < '0' || c > '9' || value > maxUnpacked {
						return 0
					}
					value = value*10 + int(c-'0')
				}
				return value
			}
		}
		return 0
	}

	if entries["/F"] != nil || entries["/Filter"] != nil {
		return 0
	}

	bits := number("/BPC", "/BitsPerComponent")
	space := entries["/CS"]
	if space == nil {
		space = entries["/ColorSpace"]
	}

	switch space {
	case "/G", "/DeviceGray":
	case "/RGB", "/DeviceRGB":
		bits *= 3
	case "/CMYK", "/DeviceCMYK":
		bits *= 4
	default:
		if entries["/IM"] != true && entries["/ImageMask"] != true {
			return 0
		}
		bits = 1
	}

	width := number("/W", "/Width")
	height := number("/H", "/Height")
	if width == 0 || height == 0 || bits == 0 || width > maxUnpacked/height {
		return 0
	}
	return (width*bits + 7) / 8 * height
}

// ends reports whether there is an EI at a position of content, after white space.
func ends(data []byte, at int) bool {
	const word = "EI"
	if at >= len(data) || !isSpace(data[at]) {
		return false
	}
	for at < len(data) && isSpace(data[at]) {
		at++
	}
	end := at + len(word)
	return bytes.HasPrefix(data[at:], []byte(word)) && (end >= len(data) || !isRegular(data[end]))
}

// AppendOperation writes an operation and a new line.
func AppendOperation(out []byte, op Operation) []byte {
	if op.Operator == "BI" {
		out = append(out, "BI"...)
		if entries, ok := op.Operands[0].(Dict); ok {
			text := appendContent(nil, entries)
			out = append(out, text[2:len(text)-2]...)
		}
		out = append(append(out, " ID "...), op.Image...)
		return append(out, "\nEI\n"...)
	}

	for _, v := range op.Operands {
		out = append(appendContent(out, v), ' ')
	}
	return append(append(out, op.Operator...), '\n')
}

// appendContent writes an operand: strings in parentheses, which is shorter.
func appendContent(out []byte, v any) []byte {
	switch v := v.(type) {
	case Number:
		return append(out, v...)
	case string:
		digits, ok := strings.CutPrefix(v, "b:")
		raw, err := hex.DecodeString(digits)
		if !ok || err != nil {
			return appendText(out, v)
		}
		return appendLiteral(out, raw)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ' ')
			}
			out = appendContent(out, item)
		}
		return append(out, ']')
	case Dict:
		out = append(out, "<<"...)
		for key, item := range v {
			out = append(appendContent(append(appendName(append(out, ' '), key), ' '), item), ' ')
		}
		return append(out, ">>"...)
	}

	return appendValue(out, v)
}
