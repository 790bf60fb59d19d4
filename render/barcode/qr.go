package barcode

import "strings"

// The QR Code of ISO/IEC 18004, model 2, versions 1 to 40.

const (
	qrVersions = 40
	qrQuiet    = 4 // modules, clause 6.3.8
)

// qrLevel is an error correction level; a higher one repairs more.
type qrLevel int

const (
	qrLow      qrLevel = iota // 7 %
	qrMedium                  // 15 %
	qrQuartile                // 25 %
	qrHigh                    // 30 %
)

// qrAlphanumeric holds the characters of alphanumeric mode at their values.
const qrAlphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"

// qrMode is a way to write characters as bits.
type qrMode struct {
	indicator int
	// countBits is the length of the character count in versions 1 to 9, 10
	// to 26 and 27 to 40.
	countBits [3]int
}

var (
	qrNumericMode      = qrMode{1, [3]int{10, 12, 14}}
	qrAlphanumericMode = qrMode{2, [3]int{9, 11, 13}}
	qrByteMode         = qrMode{4, [3]int{8, 16, 16}}
)

// qrECI starts an extended channel interpretation: the number of a character
// set follows.
const qrECI = 7

// eciUTF8 is the number of UTF-8 in all symbologies that know ECI.
const eciUTF8 = 26

// qrSegment is a text in its mode, before the version is known.
type qrSegment struct {
	mode  qrMode
	eci   bool // UTF-8 must be announced
	count int  // characters, or bytes in byte mode
	data  bits
}

// qrLevels are the names of the levels.
const qrLevels = "LMQH"

// encodeQR makes a QR Code. The level is the requested one. Otherwise it is medium, or a higher level that does not
// enlarge the symbol; it is low only if no other level can hold the text.
func encodeQR(req *Request) (*symbol, error) {
	text := req.Text
	seg := newQRSegment(text)
	level := qrMedium
	if req.Level != "" {
		level = qrLevel(strings.Index(qrLevels, req.Level))
	}

	version := seg.version(level)
	if version == 0 && req.Level == "" {
		level = qrLow
		version = seg.version(level)
	}

	if version == 0 && level > qrLow {
		return nil, contentErrorf(QR, "is too long for a QR Code with eclevel %s; got %d bytes. "+
			"Use a lower eclevel or a shorter text", req.Level, len(text))
	}
	if version == 0 {
		return nil, contentErrorf(QR, "is too long for a QR Code: at most 7,089 digits, 4,296 characters "+
			"of 0-9 A-Z space $ %% * + - . / : or 2,953 bytes; got %d bytes", len(text))
	}

	for req.Level == "" && level < qrHigh && seg.bitLen(version) <= 8*qrDataWords(version, level+1) {
		level++
	}
	data := seg.codewords(version, level)
	return drawQR(qrInterleave(data, version, level), version, level).symbol(qrQuiet), nil
}

// newQRSegment writes text in the shortest mode that takes all of it.
func newQRSegment(text string) qrSegment {
	switch {
	case strings.Trim(text, "0123456789") == "":
		return qrNumeric(text)
	case strings.Trim(text, qrAlphanumeric) == "":
		return qrAlphanumericText(text)
	}
	seg := qrSegment{mode: qrByteMode, count: len(text), eci: !isASCII(text)}
	seg.data = bits{bytes: []byte(text), n: 8 * len(text)}
	return seg
}

// qrNumeric writes three digits as ten bits.
func qrNumeric(digits string) qrSegment {
	seg := qrSegment{mode: qrNumericMode, count: len(digits)}
	for len(digits) > 0 {
		group := digits[:min(3, len(digits))]
		digits = digits[len(group):]
		value := 0
		for i := range len(group) {
			value = 10*value + int(group[i]-'0')
		}
		seg.data.add(value, 3*len(group)+1)
	}
	return seg
}

// qrAlphanumericText writes two characters as eleven bits.
func qrAlphanumericText(text string) qrSegment {
	seg := qrSegment{mode: qrAlphanumericMode, count: len(text)}
	for ; len(text) >= 2; text = text[2:] {
		high := strings.IndexByte(qrAlphanumeric, text[0])
		low := strings.IndexByte(qrAlphanumeric, text[1])
		seg.data.add(45*high+low, 11)
	}
	if text != "" {
		seg.data.add(strings.IndexByte(qrAlphanumeric, text[0]), 6)
	}
	return seg
}

// countBits returns the length of the character count in a version.
func (s *qrSegment) countBits(version int) int {
	switch {
	case version < 10:
		return s.mode.countBits[0]
	case version < 27:
		return s.mode.countBits[1]
	}
	return s.mode.countBits[2]
}

// bitLen returns the length of the segment with its header.
func (s *qrSegment) bitLen(version int) int {
	n := 4 + s.countBits(version) + s.data.n
	if s.eci {
		n += 4 + 8
	}
	return n
}

// version returns the smallest version that holds the segment, or 0.
func (s *qrSegment) version(level qrLevel) int {
	for v := 1; v <= qrVersions; v++ {
		if s.bitLen(v) <= 8*qrDataWords(v, level) {
			return v
		}
	}
	return 0
}

// codewords returns the data code words: the segment, its end and padding.
func (s *qrSegment) codewords(version int, level qrLevel) []byte {
	capacity := qrDataWords(version, level)
	out := bits{bytes: make([]byte, 0, capacity)}

	if s.eci {
		out.add(qrECI, 4)
		out.add(eciUTF8, 8)
	}
	out.add(s.mode.indicator, 4)
	out.add(s.count, s.countBits(version))

	for left := s.data.n; left > 0; left -= 8 {
		b := int(s.data.bytes[(s.data.n-left)/8])
		n := min(8, left)
		out.add(b>>(8-n), n)
	}

	out.add(0, min(4, 8*capacity-out.n))
	for pad := byte(0xEC); len(out.bytes) < capacity; pad ^= 0xEC ^ 0x11 {
		out.bytes = append(out.bytes, pad)
	}
	return out.bytes
}

// qrInterleave splits data into blocks, adds the check words of each and deals
// out all of them in turns (clause 7.6). The last blocks may be one word longer.
func qrInterleave(data []byte, version int, level qrLevel) []byte {
	blocks := qrBlocks[level][version-1]
	checkLen := qrCheckWords[level][version-1]
	short := len(data) / blocks
	longFrom := blocks - len(data)%blocks

	generator := qrField.generator(checkLen, 0)
	total := len(data) + blocks*checkLen
	out := make([]byte, total)
	for i, start := 0, 0; i < blocks; i++ {
		block := data[start : start+short]
		if i >= longFrom {
			block = data[start : start+short+1]
		}
		start += len(block)

		for j, b := range block[:short] {
			out[j*blocks+i] = b
		}
		if i >= longFrom {
			out[short*blocks+i-longFrom] = block[short]
		}
		for j, b := range qrField.remainder(block, generator) {
			out[len(data)+j*blocks+i] = b
		}
	}
	return out
}
