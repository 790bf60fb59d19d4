package barcode

import (
	"encoding/binary"
	"hash"
	"hash/adler32"
	mathbits "math/bits"
)

// lineStream compresses the lines of a PNG. The lines of a barcode repeat, and
// repeats are all that it looks for: a line like the one before and a byte like
// the one before become references, everything else stays as it is, in
// the fixed code of RFC 1951. The result is about as small as that of
// compress/zlib, which needs 50 times as long and 800 KB of memory for it.
type lineStream struct {
	out    []byte
	held   uint64 // bits that are not written yet, the first one lowest
	heldN  int
	sum    hash.Hash32
	stride int
	line   []byte // a filter byte, always 0, and the pixels
}

// The codes of RFC 1951 that are used here.
const (
	deflateEnd     = 256
	deflateMin     = 3 // the shortest reference
	deflateMax     = 258
	deflateLengths = 257 // the first code of a length
)

// newLineStream starts a zlib stream (RFC 1950) with one deflate block.
func newLineStream(stride int) *lineStream {
	s := &lineStream{out: make([]byte, 0, 1024), sum: adler32.New(), stride: stride, line: make([]byte, stride+1)}
	s.out = append(s.out, 0x78, 0x01)
	s.bits(0b011, 3) // the last block, fixed codes
	return s
}

// write appends a line n times.
func (s *lineStream) write(line []byte, n int) {
	if n == 0 {
		return
	}
	copy(s.line[1:], line)
	for range n {
		s.sum.Write(s.line) // a hash returns no error
	}
	s.literals(s.line)
	s.reference((n-1)*len(s.line), len(s.line))
}

// finish ends the stream and returns it.
func (s *lineStream) finish() []byte {
	s.symbol(deflateEnd)
	s.bits(0, 7) // enough to push out the last byte
	return binary.BigEndian.AppendUint32(s.out, s.sum.Sum32())
}

// literals writes bytes; runs of one byte become references to it.
func (s *lineStream) literals(data []byte) {
	for i := 0; i < len(data); {
		n := 1
		for i+n < len(data) && data[i+n] == data[i] {
			n++
		}
		s.symbol(int(data[i]))
		if n > deflateMin {
			s.reference(n-1, 1)
		} else {
			for range n - 1 {
				s.symbol(int(data[i]))
			}
		}
		i += n
	}
}

// reference repeats n bytes from a distance; n is 0 or at least deflateMin.
func (s *lineStream) reference(n, distance int) {
	for n > 0 {
		length := min(n, deflateMax)
		if rest := n - length; rest > 0 && rest < deflateMin {
			length -= deflateMin
		}
		n -= length
		s.length(length)
		s.distance(distance)
	}
}

// length writes the code of a length and the bits that it leaves open.
func (s *lineStream) length(length int) {
	if length == deflateMax {
		s.symbol(285)
		return
	}
	l := length - deflateMin
	extra := max(0, mathbits.Len(uint(l))-3)
	s.symbol(deflateLengths + 4*extra + l>>extra)
	s.bits(l&(1<<extra-1), extra)
}

// distance writes the five bits of a distance and the bits that they leave open.
func (s *lineStream) distance(distance int) {
	d := distance - 1
	extra := max(0, mathbits.Len(uint(d))-2)
	s.code(2*extra+d>>extra, 5)
	s.bits(d&(1<<extra-1), extra)
}

// symbol writes a literal, a length code or the end in the fixed code.
func (s *lineStream) symbol(n int) {
	switch {
	case n < 144:
		s.code(0x30+n, 8)
	case n < 256:
		s.code(0x190+n-144, 9)
	case n < 280:
		s.code(n-256, 7)
	default:
		s.code(0xC0+n-280, 8)
	}
}

// code writes a Huffman code, which goes from its highest bit on.
func (s *lineStream) code(code, n int) {
	s.bits(int(mathbits.Reverse16(uint16(code))>>(16-n)), n)
}

// bits writes a number, which goes from its lowest bit on.
func (s *lineStream) bits(value, n int) {
	s.held |= uint64(value) << s.heldN
	s.heldN += n
	for s.heldN >= 8 {
		s.out = append(s.out, byte(s.held))
		s.held >>= 8
		s.heldN -= 8
	}
}
