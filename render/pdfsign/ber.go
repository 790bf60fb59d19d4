package pdfsign

import (
	"errors"
	"slices"
)

// errBER is the error of bytes that are not a value of BER.
var errBER = errors.New("pdfsign: not BER")

const (
	// maxCMS is the maximum number of bytes of a CMS. The lists of revoked certificates in it are the largest.
	maxCMS = 16 << 20
	// maxBERDepth bounds the values in a value. A timestamp in a CMS, with its certificates, has about 25.
	maxBERDepth = 64
)

// The bits of the first byte of a value.
const (
	berClass    = 0xC0
	berCompound = 0x20
	berNumber   = 0x1F // also the number of tags with more bytes
)

// fromBER returns the value at the start of raw with lengths and strings as DER has them, and the bytes after it. All
// else remains as it is: the order of sets, and the bytes of numbers, times and truth values. A value in DER is not
// copied.
func fromBER(raw []byte) (der, rest []byte, err error) {
	der, n, err := convertBER(raw[:min(len(raw), maxCMS)], 0)
	if err != nil {
		return nil, nil, err
	}
	return der, raw[n:], nil
}

// header is the beginning of a value: its tag and its length.
type header struct {
	size       int // bytes of it
	tag        int // bytes of the tag
	length     int // bytes of the content
	indefinite bool
	minimal    bool // as DER has it
}

// readHeader reads the beginning of a value.
func readHeader(raw []byte) (h header, err error) {
	const more, indefinite, longest = 0x80, 0x80, 4
	if len(raw) == 0 {
		return h, errBER
	}

	h.tag = 1
	if raw[0]&berNumber == berNumber {
		for h.tag < len(raw) && raw[h.tag]&more != 0 {
			h.tag++
		}
		h.tag++
	}
	if h.tag > longest || h.tag >= len(raw) {
		return h, errBER
	}

	first := raw[h.tag]
	h.size = h.tag + 1
	h.length = int(first)
	h.minimal = true

	switch {
	case first == indefinite:
		h.indefinite = true
		h.length = 0
		if raw[0]&berCompound == 0 {
			return h, errBER
		}
	case first&more != 0:
		digits := int(first &^ more)
		if digits > len(raw)-h.size {
			return h, errBER
		}
		h.length = 0
		for _, digit := range raw[h.size : h.size+digits] {
			if h.length > maxCMS {
				return h, errBER
			}
			h.length = h.length<<8 | int(digit)
		}
		h.minimal = h.length >= more && raw[h.size] != 0
		h.size += digits
	}

	if h.length > len(raw)-h.size {
		return h, errBER
	}
	return h, nil
}

// convertBER is fromBER for a value in others. It returns the number of bytes that it has read.
func convertBER(raw []byte, depth int) (der []byte, n int, err error) {
	h, err := readHeader(raw)
	if err != nil || depth > maxBERDepth {
		return nil, 0, errBER
	}

	if raw[0]&berCompound == 0 {
		n = h.size + h.length
		if h.minimal {
			return raw[:n], n, nil
		}
		return encodeDER(raw[:h.tag], raw[h.size:n]), n, nil
	}

	content := raw[h.size:]
	if !h.indefinite {
		content = content[:h.length]
	}
	items, read, err := convertItems(content, h.indefinite, depth)
	switch {
	case err != nil && h.indefinite:
		return nil, 0, errBER
	case err != nil: // The reader of this value decides on it.
		items = content
		read = h.length
	}

	n = h.size + read
	switch {
	case err == nil && isString(raw[:h.tag]):
		tag := raw[0] &^ berCompound
		if items, err = joined(items, tag); err != nil {
			return nil, 0, err
		}
		return encodeDER([]byte{tag}, items), n, nil
	case h.minimal && !h.indefinite && unchanged(items, content):
		return raw[:n], n, nil
	}
	return encodeDER(raw[:h.tag], items), n, nil
}

// convertItems converts values up to the end of the content, or up to the mark that ends an indefinite length. It
// returns the number of bytes that it has read.
func convertItems(content []byte, indefinite bool, depth int) (der []byte, n int, err error) {
	const mark = 2 // bytes of zero
	copied := false
	for {
		rest := content[n:]
		switch {
		case indefinite && len(rest) >= mark && rest[0] == 0 && rest[1] == 0:
			return der, n + mark, nil
		case !indefinite && len(rest) == 0:
			return der, n, nil
		}

		item, read, err := convertBER(rest, depth+1)
		if err != nil {
			return nil, 0, err
		}
		n += read

		switch {
		case copied:
			der = append(der, item...)
		case len(item) == read && unchanged(item, rest):
			der = content[:n:n]
		default:
			der = append(slices.Clone(der), item...)
			copied = true
		}
	}
}

// unchanged reports whether a value is the bytes that it was read from.
func unchanged(value, from []byte) bool {
	return len(value) == 0 && len(from) == 0 || len(value) > 0 && len(from) > 0 && &value[0] == &from[0]
}

// isString reports whether a value is a string, which BER can have in segments.
func isString(tag []byte) bool {
	if len(tag) > 1 || tag[0]&berClass != 0 {
		return false
	}
	switch tag[0] & berNumber {
	case 3, 4, 12, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30: // of X.690
		return true
	}
	return false
}

// joined returns the content of a string in segments, which are strings of the same tag or of bytes.
func joined(items []byte, tag byte) (content []byte, err error) {
	const bits, octets = 3, 4
	if tag == bits && len(items) == 0 {
		return nil, errBER
	}

	var unused byte // bits of the last segment
	for len(items) > 0 {
		h, err := readHeader(items)
		if err != nil || items[0] != tag && items[0] != octets || unused != 0 {
			return nil, errBER
		}
		segment := items[h.size : h.size+h.length]
		items = items[h.size+h.length:]

		if tag == bits {
			if len(segment) == 0 {
				return nil, errBER
			}
			unused = segment[0]
			segment = segment[1:]
		}
		content = append(content, segment...)
	}

	if tag == bits {
		content = append([]byte{unused}, content...)
	}
	return content, nil
}

// encodeDER encodes a value.
func encodeDER(tag, content []byte) []byte {
	const short = 0x80
	out := slices.Clone(tag)
	if len(content) < short {
		return append(append(out, byte(len(content))), content...)
	}

	var digits []byte
	for n := len(content); n > 0; n >>= 8 {
		digits = append(digits, byte(n))
	}
	slices.Reverse(digits)
	return slices.Concat(out, []byte{short | byte(len(digits))}, digits, content)
}

// sentAttributes returns the signed attributes of a CMS with one signer as they were sent; nil if it has none.
func sentAttributes(cms []byte) []byte {
	const content, data, attributes = 1, 0, 3 // places in a message, in its content, and in a signer
	message := itemsOf(cms)
	if len(message) <= content {
		return nil
	}

	around := itemsOf(message[content])
	if len(around) == 0 {
		return nil
	}
	fields := itemsOf(around[data])
	if len(fields) == 0 {
		return nil
	}
	signers := itemsOf(fields[len(fields)-1])
	if len(signers) != 1 {
		return nil
	}
	signer := itemsOf(signers[0])
	if len(signer) <= attributes {
		return nil
	}

	raw, _ := contentOf(signer[attributes])
	return raw
}

// contentOf returns the content of a value as it was sent.
func contentOf(raw []byte) ([]byte, error) {
	h, err := readHeader(raw)
	if err != nil {
		return nil, err
	}
	if !h.indefinite {
		return raw[h.size : h.size+h.length], nil
	}

	const mark = 2
	_, n, err := convertItems(raw[h.size:], true, 0)
	if err != nil {
		return nil, err
	}
	return raw[h.size : h.size+n-mark], nil
}

// itemsOf returns the values in another as they were sent; nil if it cannot be read.
func itemsOf(raw []byte) (items [][]byte) {
	content, err := contentOf(raw)
	for len(content) > 0 && err == nil {
		var n int
		_, n, err = convertBER(content, 0)
		items = append(items, content[:n])
		content = content[n:]
	}
	if err != nil {
		return nil
	}
	return items
}
