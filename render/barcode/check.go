package barcode

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// check finds the type and checks the fields that do not depend on it.
func (req *Request) check() (typeInfo, error) {
	if req.Format != PNG && req.Format != SVG {
		return typeInfo{}, fmt.Errorf("%w: %q", ErrFormat, req.Format)
	}
	if req.Scale < MinScale || req.Scale > MaxScale {
		return typeInfo{}, fmt.Errorf("%w: %d is not between %d and %d", ErrScale, req.Scale, MinScale, MaxScale)
	}

	for _, info := range types() {
		if info.Type != req.Type {
			continue
		}

		switch {
		case req.Text == "":
			return info, contentErrorf(req.Type, "must not be empty; %s accepts %s", req.Type, info.Content)
		case len(req.Text) > maxText:
			return info, contentErrorf(req.Type, "is too long: %s accepts %s; got %d bytes",
				req.Type, info.Content, len(req.Text))
		case !utf8.ValidString(req.Text):
			return info, contentErrorf(req.Type, "must be valid UTF-8")
		}
		return info, req.checkOptions()
	}

	return typeInfo{}, fmt.Errorf("%w: %q", ErrType, req.Type)
}

// checkOptions returns an error for options that the type does not support.
func (req *Request) checkOptions() error {
	var levels string
	switch req.Type {
	case QR:
		levels = qrLevels
	case PDF417:
		levels = "012345678"
	case Code128, Code39, EAN13, UPCA, DataMatrix:
	}

	switch {
	case req.GS1 && req.Type != Code128 && req.Type != DataMatrix:
		return &ContentError{Type: req.Type, Field: "gs1", Message: "requires type code128 or datamatrix"}
	case req.Level == "":
		return nil
	case levels == "":
		return &ContentError{Type: req.Type, Field: "eclevel", Message: "requires type qr or pdf417"}
	case len(req.Level) != 1 || !strings.Contains(levels, req.Level):
		return &ContentError{Type: req.Type, Field: "eclevel", Message: fmt.Sprintf(
			"must be one of %s for %s; got %q", strings.Join(strings.Split(levels, ""), ", "), req.Type, req.Level)}
	}
	return nil
}

// contentErrorf makes a ContentError.
func contentErrorf(t Type, format string, args ...any) *ContentError {
	return &ContentError{Type: t, Message: fmt.Sprintf(format, args...)}
}

// describe quotes a text for a message, and cuts a long one.
func describe(text string) string {
	const maximum = 24
	if runes := []rune(text); len(runes) > maximum {
		text = string(runes[:maximum]) + "…"
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
