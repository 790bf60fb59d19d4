package markup

import "bytes"

// cssLoads reports whether a style sheet, a style attribute or a value can
// make a browser load something. It reads CSS tokens, so the texts of strings
// and comments do not count. Escapes and comments that could spell a name
// another way count as loading.
func cssLoads(css []byte) bool {
	s := cssScanner{b: css}
	for s.i < len(s.b) {
		if s.token() {
			return true
		}
	}
	return false
}

// cssScanner walks CSS tokens.
type cssScanner struct {
	b []byte
	i int
}

// token steps over one token and reports whether it loads something.
func (s *cssScanner) token() bool {
	c := s.b[s.i]
	switch {
	case c == '"' || c == '\'':
		s.quoted(c)
	case c == '/' && s.at(1) == '*':
		return s.comment()
	case c == '@':
		s.i++
		return hasPrefixFold(s.b[s.i:], "import")
	case isName(c) || c == '\\':
		return s.name()
	default:
		s.i++
	}

	return false
}

// at returns the byte n places on, or 0 at the end.
func (s *cssScanner) at(n int) byte {
	if s.i+n < len(s.b) {
		return s.b[s.i+n]
	}
	return 0
}

// quoted steps over a string: up to its quote, or up to the end of the line,
// where CSS gives up on it.
func (s *cssScanner) quoted(quote byte) {
	for s.i++; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case quote:
			s.i++
			return
		case '\n', '\r', '\f':
			return
		case '\\':
			if s.at(1) == '\r' && s.at(2) == '\n' {
				s.i++
			}
			s.i++
		}
	}

	// A backslash at the very end would step past the end.
	s.i = min(s.i, len(s.b))
}

// comment steps over a comment. One in the middle of a word is a trick.
func (s *cssScanner) comment() bool {
	glued := s.i > 0 && isLetter(s.b[s.i-1])
	end := bytes.Index(s.b[s.i+2:], []byte("*/"))
	if end < 0 {
		s.i = len(s.b)
		return false
	}
	s.i += 2 + end + 2
	return glued && (isLetter(s.at(0)) || s.at(0) == '(')
}

// name steps over an identifier and, if it is a function, judges that.
func (s *cssScanner) name() bool {
	start := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c == '\\' {
			if s.escape() {
				return true
			}
			continue
		}
		if !isName(c) {
			break
		}
		s.i++
	}

	if s.at(0) != '(' {
		return false
	}

	name := s.b[start:s.i]
	s.i++
	switch {
	case hasSuffixFold(name, "url"):
		return s.url()
	case hasSuffixFold(name, "src"), hasSuffixFold(name, "image"), hasSuffixFold(name, "image-set"),
		hasSuffixFold(name, "cross-fade"), hasSuffixFold(name, "url-prefix"):
		return true
	}
	return false
}

// escape steps over a backslash and the escaped character, and reports whether it is a character that occurs in the
// names above.
func (s *cssScanner) escape() bool {
	s.i++
	value := 0
	digits := 0
	for digits < 6 {
		d := hexDigit(s.at(0))
		if d < 0 || s.i >= len(s.b) {
			break
		}
		value = value*16 + d
		digits++
		s.i++
	}

	if digits == 0 {
		c := s.at(0)
		if s.i < len(s.b) {
			s.i++
		}
		return isLetter(c) || c == '-'
	}

	switch s.at(0) {
	case ' ', '\t', '\n', '\r', '\f':
		s.i++
	}
	return value < 0x80 && (isLetter(byte(value)) || value == '-')
}

// url judges the text after "url(". Only references into the document and data: URLs are harmless.
func (s *cssScanner) url() bool {
	for s.i < len(s.b) && s.b[s.i] <= ' ' {
		s.i++
	}

	quote := s.at(0)
	if quote == '"' || quote == '\'' {
		start := s.i + 1
		s.quoted(quote)
		return !localURL(s.b[start:s.i])
	}

	end := bytes.IndexByte(s.b[s.i:], ')')
	if end < 0 {
		end = len(s.b) - s.i
	}
	arg := s.b[s.i : s.i+end]
	s.i += end
	return !localURL(arg) || bytes.IndexByte(arg, '\\') >= 0
}

// localURL reports whether a URL in CSS loads nothing.
func localURL(url []byte) bool {
	return len(url) > 0 && url[0] == '#' || isData(url)
}

// isName reports whether c can be part of a CSS identifier.
func isName(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '-' || c == '_' || c >= 0x80
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// hasSuffixFold compares ASCII without regard to case; suffix is lower case.
func hasSuffixFold(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && hasPrefixFold(b[len(b)-len(suffix):], suffix)
}
