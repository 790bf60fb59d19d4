package barcode

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// check finds the type and checks what does not depend on it.
func (req *Request) check() (TypeInfo, error) {
	if req.Format != PNG && req.Format != SVG {
		return TypeInfo{}, fmt.Errorf("%w: %q", ErrFormat, req.Format)
	}
	if req.Scale < MinScale || req.Scale > MaxScale {
		return TypeInfo{}, fmt.Errorf("%w: %d is not between %d and %d", ErrScale, req.Scale, MinScale, MaxScale)
	}
	for _, info := range Types() {
		if info.Type != req.Type {
			continue
		}
		switch {
		case req.Text == "":
			return info, contentErrorf(req.Type, "must not be empty; %s takes %s", req.Type, info.Content)
		case len(req.Text) > maxText:
			return info, contentErrorf(req.Type, "is too long: %s takes %s; got %d bytes", req.Type, info.Content, len(req.Text))
		case !utf8.ValidString(req.Text):
			return info, contentErrorf(req.Type, "must be valid UTF-8")
		}
		return info, nil
	}
	return TypeInfo{}, fmt.Errorf("%w: %q", ErrType, req.Type)
}

// contentErrorf makes a ContentError.
func contentErrorf(t Type, format string, args ...any) *ContentError {
	return &ContentError{Type: t, Message: fmt.Sprintf(format, args...)}
}

// describe shows a text in a message: quoted, and cut where it is long.
func describe(text string) string {
	const most = 24
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// firstRune returns the first character of a text.
func firstRune(text string) string {
	_, n := utf8.DecodeRuneInString(text)
	return text[:n]
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > 127 }) < 0
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
