// Package scan reads the tokens of a JSON text while it arrives. It returns strings in pieces, which Go's decoders do
// not do, and counts what a text may cost. A fuzz test of package schema compares it with jsontext: the same texts, the
// same values.
package scan

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Scanner reads the tokens of a JSON text. After an error it must not be used.
type Scanner struct {
	r  *bufio.Reader
	at int64 // bytes read
	// left is the number of bytes that may still be read.
	left int64
	// Free is true while content is read that does not count as structure: long texts and files, which have their
	// own limits.
	Free bool
	tape *Tape
	// lines have ended so far, the last of them before lineStart.
	lines, lineStart int64
}

// Tape receives the text of a value as in the request, up to its limit.
type Tape struct {
	Text []byte
	// Limit is the maximum number of bytes of Text.
	Limit int64
	// To receives the text instead of Text, without a limit, if it is set.
	To io.Writer
}

// BufferSize is the size of the buffer of a text's reader, in bytes.
const BufferSize = 16 << 10

// New returns a scanner of a text that may have so many bytes, without free content.
func New(r *bufio.Reader, structure int64) *Scanner { return &Scanner{r: r, left: structure} }

// Record has the following bytes written to a tape, until it is nil.
func (s *Scanner) Record(tape *Tape) { s.tape = tape }

// Locate adds the line and column to an error in the text.
func (s *Scanner) Locate(err *SyntaxError) { err.line, err.column = s.lines+1, err.at-s.lineStart+1 }

var (
	// ErrStructure means that the text has more structure than is accepted.
	ErrStructure = errors.New("too much JSON beside the long texts and files")
	// ErrTape means that a value is longer than its tape.
	ErrTape = errors.New("too long a value")
	// ErrCut means that the text ends too early.
	ErrCut = errors.New("is incomplete: the JSON is cut off")
)

// SyntaxError means that a text is not JSON at a place.
type SyntaxError struct {
	at int64
	// broken means that it is a line break within a string.
	broken       bool
	line, column int64 // from 1, where known
}

func (e *SyntaxError) Error() string {
	switch {
	case e.broken:
		return fmt.Sprintf(`has a line break in a string (at line %d, column %d); write it as \n`, e.line, e.column)
	case e.line > 1:
		return fmt.Sprintf("is not valid JSON in UTF-8 (at line %d, column %d)", e.line, e.column)
	}
	return "is not valid JSON in UTF-8 (at byte " + strconv.FormatInt(e.at, 10) + ")"
}

// buffered returns the bytes that are available without waiting, at least one.
func (s *Scanner) buffered() ([]byte, error) {
	if s.r.Buffered() == 0 {
		if _, err := s.r.Peek(1); err != nil {
			return nil, cut(err)
		}
	}
	return s.r.Peek(s.r.Buffered())
}

func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrCut
	}
	return err
}

// Skip consumes n buffered bytes.
func (s *Scanner) Skip(n int) error {
	s.at += int64(n)
	if !s.Free {
		if s.left -= int64(n); s.left < 0 {
			return ErrStructure
		}
	}

	if s.tape != nil {
		text, err := s.r.Peek(n)
		if err != nil {
			return cut(err)
		}
		if s.tape.To != nil {
			if _, err := s.tape.To.Write(text); err != nil {
				return err
			}
		} else if s.tape.Text = append(s.tape.Text, text...); int64(len(s.tape.Text)) > s.tape.Limit {
			return ErrTape
		}
	}

	_, err := s.r.Discard(n)
	return err
}

// Peek returns the next byte that is not white space, without consuming it.
func (s *Scanner) Peek() (byte, error) {
	for {
		text, err := s.buffered()
		if err != nil {
			return 0, err
		}

		rest := bytes.TrimLeft(text, " \t\r\n")
		if space := text[:len(text)-len(rest)]; len(space) > 0 {
			// No string holds a line break, so that lines end in white space only.
			if last := bytes.LastIndexByte(space, '\n'); last >= 0 {
				s.lines += int64(bytes.Count(space, []byte{'\n'}))
				s.lineStart = s.at + int64(last) + 1
			}
		}

		if err := s.Skip(len(text) - len(rest)); err != nil {
			return 0, err
		}
		if len(rest) > 0 {
			return rest[0], nil
		}
	}
}

// next consumes the next byte, white space or not.
func (s *Scanner) next() (byte, error) {
	text, err := s.buffered()
	if err != nil {
		return 0, err
	}
	c := text[0]
	return c, s.Skip(1)
}

// Expect consumes the byte c, after any white space.
func (s *Scanner) Expect(c byte) error {
	got, err := s.Peek()
	if err != nil {
		return err
	}
	if got != c {
		return s.Invalid()
	}
	return s.Skip(1)
}

// Invalid faults the text from the next byte on.
func (s *Scanner) Invalid() error { return &SyntaxError{at: s.at} }

// Literal consumes true, false or null, whose first byte has been seen.
func (s *Scanner) Literal(word string) error {
	start := s.at
	for i := range len(word) {
		c, err := s.next()
		if err != nil {
			return err
		}
		if c != word[i] {
			return &SyntaxError{at: start}
		}
	}
	return nil
}

// Number consumes a number and returns its text, which is valid until the next call.
func (s *Scanner) Number(scratch []byte) ([]byte, error) {
	start := s.at
	text := scratch[:0]
	for {
		part, err := s.buffered()
		if errors.Is(err, ErrCut) {
			break // a number may end at the end of the text
		}
		if err != nil {
			return nil, err
		}

		n := 0
		for n < len(part) && isNumeric(part[n]) {
			n++
		}
		text = append(text, part[:n]...)
		rest := len(part) - n
		if err := s.Skip(n); err != nil {
			return nil, err
		}
		if rest > 0 {
			break
		}
	}

	if !isNumber(text) {
		if digitsLack(text) {
			if _, err := s.buffered(); errors.Is(err, ErrCut) {
				return nil, ErrCut
			}
		}
		return nil, &SyntaxError{at: start}
	}
	return text, nil
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// digitsLack reports whether a number could continue.
func digitsLack(text []byte) bool { return isNumber(append(bytes.Clone(text), '0')) }

// isNumber checks JSON's grammar of numbers.
func isNumber(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	whole := countDigits(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}

	text = text[whole:]
	if len(text) > 0 && text[0] == '.' {
		decimals := countDigits(text[1:])
		if decimals == 0 {
			return false
		}
		text = text[1+decimals:]
	}

	if len(text) > 0 && (text[0] == 'e' || text[0] == 'E') {
		text = text[1:]
		if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		digits := countDigits(text)
		return digits > 0 && digits == len(text)
	}
	return len(text) == 0
}

func countDigits(text []byte) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// Text returns a reader of the string whose opening quote has been read.
func (s *Scanner) Text() *StringReader { return &StringReader{s: s} }

// StringReader decodes the characters of a JSON string after its opening quote. io.EOF means the closing quote.
type StringReader struct {
	s *Scanner
	// spare holds the decoded bytes of an escape that have not been read yet.
	spare []byte
	held  [2 * utf8.UTFMax]byte
	done  bool
	err   error
}

// Err returns the error that ended the string early, if any.
func (t *StringReader) Err() error { return t.err }

// Read decodes characters into p.
func (t *StringReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && !t.done && t.err == nil {
		if len(t.spare) > 0 {
			m := copy(p[n:], t.spare)
			n += m
			t.spare = t.spare[m:]
			continue
		}
		var m int
		m, t.err = t.piece(p[n:])
		n += m
	}

	switch {
	case n > 0:
		return n, nil
	case t.err != nil:
		return 0, t.err
	case t.done:
		return 0, io.EOF
	}
	return 0, nil
}

// piece reads characters as long as they are plain or a complete escape, or else one of another kind.
func (t *StringReader) piece(p []byte) (int, error) {
	text, err := t.s.buffered()
	if err != nil {
		return 0, err
	}

	if taken, n := unescape(p, text); taken > 0 {
		return n, t.s.Skip(taken)
	}

	switch c := text[0]; {
	case c == '"':
		t.done = true
		return 0, t.s.Skip(1)
	case c == '\\':
		r, size := undo(text)
		if size == 0 {
			return 0, t.escape()
		}
		t.spare = utf8.AppendRune(t.held[:0], r)
		return 0, t.s.Skip(size)
	case c == '\n', c == '\r':
		return 0, &SyntaxError{at: t.s.at, broken: true}
	case c < ' ':
		return 0, t.s.Invalid()
	}

	// A character that is cut by the buffer's end, or none at all.
	if text, err = t.s.r.Peek(utf8.UTFMax); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}

	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size <= 1 {
		if !utf8.FullRune(text) {
			return 0, ErrCut
		}
		return 0, t.s.Invalid()
	}
	t.spare = append(t.held[:0], text[:size]...)
	return 0, t.s.Skip(size)
}

const (
	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
)

// unescape copies characters from a text to p, with their escapes undone, and returns how many bytes it read and how
// many it wrote. It stops at the string's end, if p is full, and at escapes that it does not handle: piece handles
// those.
func unescape(p, text []byte) (taken, n int) {
	for taken < len(text) && n < len(p) {
		m := plain(text[taken:min(len(text), taken+len(p)-n)])
		copy(p[n:], text[taken:taken+m])
		taken += m
		n += m

		if taken == len(text) || text[taken] != '\\' || len(p)-n < utf8.UTFMax {
			break
		}
		r, size := undo(text[taken:])
		if size == 0 {
			break
		}
		taken += size
		n += utf8.EncodeRune(p[n:], r)
	}
	return taken, n
}

// plain returns how many bytes at the start of a text are whole characters that need no escape in a JSON string.
func plain(text []byte) int {
	n := 0
	for n < len(text) {
		for n+8 <= len(text) {
			// A high bit marks a byte that is below a space, a quote, a backslash or not
			// ASCII; above the lowest that is marked, others may be wrongly.
			x := binary.LittleEndian.Uint64(text[n:])
			quote := x ^ (everyByte * '"')
			escape := x ^ (everyByte * '\\')
			if marked := ((x - everyByte*' ') | (quote - everyByte) | (escape - everyByte) | x) & highBits; marked != 0 {
				n += bits.TrailingZeros64(marked) / 8
				break
			}
			n += 8
		}

		if n == len(text) {
			break
		}
		switch c := text[n]; {
		case c < ' ' || c == '"' || c == '\\':
			return n
		case c < utf8.RuneSelf:
			n++
		default:
			r, size := utf8.DecodeRune(text[n:])
			if r == utf8.RuneError && size <= 1 {
				return n
			}
			n += size
		}
	}
	return n
}

// undo returns the character of the escape at the start of a text, and the length of the escape; 0 if the escape is
// cut, wrong or half of a pair, which escape handles.
func undo(text []byte) (r rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}

	if text[1] != 'u' {
		if short := shortEscapes[text[1]]; short != 0 {
			return rune(short), 2
		}
		return 0, 0
	}

	if len(text) < 6 {
		return 0, 0
	}
	for _, c := range text[2:6] {
		digit := hexDigits[c]
		if digit == 0 {
			return 0, 0
		}
		r = r<<4 | rune(digit-1)
	}

	if utf16.IsSurrogate(r) {
		return 0, 0
	}
	return r, 6
}

// shortEscapes are the escapes of one letter; 0 is none.
var shortEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// hexDigits are the values of digits, and one more; 0 is none.
var hexDigits = func() (values [256]byte) {
	for value, digit := range "0123456789abcdef" {
		values[digit] = byte(value + 1)
		values[unicode.ToUpper(digit)] = byte(value + 1)
	}
	return values
}()

// escape undoes one escape into spare. Half of a surrogate pair is none.
func (t *StringReader) escape() error {
	start := t.s.at
	if err := t.s.Skip(1); err != nil {
		return err
	}

	c, err := t.s.next()
	if err != nil {
		return err
	}

	if c != 'u' {
		short := shortEscapes[c]
		if short == 0 {
			return &SyntaxError{at: start}
		}
		t.spare = append(t.held[:0], short)
		return nil
	}

	r, err := t.hex(start)
	if err != nil {
		return err
	}

	if utf16.IsSurrogate(r) {
		for _, want := range []byte(`\u`) {
			if c, err = t.s.next(); err != nil {
				return err
			}
			if c != want {
				return &SyntaxError{at: start}
			}
		}
		low, err := t.hex(start)
		if err != nil {
			return err
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return &SyntaxError{at: start}
		}
	}

	t.spare = utf8.AppendRune(t.held[:0], r)
	return nil
}

// hex reads the four digits of an escape.
func (t *StringReader) hex(start int64) (rune, error) {
	var digits [4]byte
	for i := range digits {
		c, err := t.s.next()
		if err != nil {
			return 0, err
		}
		digits[i] = c
	}

	code, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, &SyntaxError{at: start}
	}
	return rune(code), nil
}
