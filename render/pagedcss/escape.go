package pagedcss

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// plain returns a name in lower case, without escapes.
func plain(raw string) string { return strings.ToLower(unescape(raw)) }

// unquote returns the content of a string, which may lack its end at the end of the sheet.
func unquote(raw string) string { return unescape(strings.TrimSuffix(raw[1:], raw[:1])) }

// unescape resolves the escapes of a name or of the content of a string (CSS Syntax 3, 4.3.7).
func unescape(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}

	var out strings.Builder
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out.WriteByte(raw[i])
			i++
			continue
		}

		i++
		digits := i
		for digits < len(raw) && digits < i+6 && strings.IndexByte("0123456789abcdefABCDEF", raw[digits]) >= 0 {
			digits++
		}

		switch {
		case digits > i:
			n, err := strconv.ParseUint(raw[i:digits], 16, 32)
			if err != nil || n == 0 || n > utf8.MaxRune || n >= 0xd800 && n < 0xe000 {
				n = utf8.RuneError
			}
			out.WriteRune(rune(n))
			i = digits
			if strings.HasPrefix(raw[i:], "\r\n") {
				i++
			}
			if i < len(raw) && strings.IndexByte(" \t\r\n\f", raw[i]) >= 0 {
				i++
			}
		case i < len(raw) && raw[i] == '\n': // a string that continues on the next line
			i++
		case i < len(raw):
			_, size := utf8.DecodeRuneInString(raw[i:])
			out.WriteString(raw[i : i+size])
			i += size
		}
	}

	return out.String()
}
