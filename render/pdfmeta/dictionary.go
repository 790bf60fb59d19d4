package pdfmeta

import "bytes"

// entry is one key of a dictionary with its value as it is written.
type entry struct {
	key   string
	value []byte
}

const space = " \t\r\n\f\x00"

// scanEntries reads the entries of a dictionary whose values are strings, from
// after its "<<" to its ">>".
func scanEntries(body []byte) ([]entry, error) {
	var entries []entry
	for {
		body = bytes.TrimLeft(body, space)
		if bytes.HasPrefix(body, []byte(">>")) {
			return entries, nil
		}
		if len(body) == 0 || body[0] != '/' {
			return nil, ErrUnsupported
		}
		end := bytes.IndexAny(body[1:], space+"/<>[]()%")
		if end < 0 {
			return nil, ErrUnsupported
		}
		key := string(body[1 : 1+end])
		body = bytes.TrimLeft(body[1+end:], space)
		n := stringLength(body)
		if n == 0 {
			return nil, ErrUnsupported
		}
		entries = append(entries, entry{key, body[:n]})
		body = body[n:]
	}
}

// stringLength returns how many bytes the string at the start of b takes, its
// delimiters included, or 0 when there is none. Literal strings nest
// parentheses and escape them with a backslash.
func stringLength(b []byte) int {
	switch {
	case len(b) > 1 && b[0] == '<' && b[1] != '<':
		return bytes.IndexByte(b, '>') + 1
	case len(b) == 0 || b[0] != '(':
		return 0
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
