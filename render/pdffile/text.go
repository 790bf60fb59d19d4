package pdffile

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a text string of a PDF, empty where v is none.
func Text(v any) string {
	s, _ := v.(string)
	if unicode, ok := strings.CutPrefix(s, "u:"); ok {
		return strings.TrimRight(unicode, "\x00")
	}
	digits, ok := strings.CutPrefix(s, "b:")
	if !ok {
		return ""
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return ""
	}
	switch {
	case bytes.HasPrefix(raw, []byte("\xFE\xFF")):
		return decodeUTF16(raw[2:], binary.BigEndian)
	case bytes.HasPrefix(raw, []byte("\xFF\xFE")): // not in the standard, but in files
		return decodeUTF16(raw[2:], binary.LittleEndian)
	case utf8.Valid(raw):
		return strings.TrimRight(strings.TrimPrefix(string(raw), "\uFEFF"), "\x00")
	}
	runes := make([]rune, len(raw))
	for i, b := range raw {
		runes[i] = rune(b)
		if at := int(b) - firstSpecial; at >= 0 && at < len(specials) {
			runes[i] = specials[at]
		}
	}
	return string(runes)
}

// firstSpecial is the first code at which PDFDocEncoding differs from Latin-1.
const firstSpecial = 0x80

var specials = []rune("•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\uFFFD€")

func decodeUTF16(raw []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00")
}
