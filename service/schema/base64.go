package schema

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
	"strings"
)

// base64Reader decodes Base64 text: the part after a data URI's comma, in the
// standard or the URL-safe alphabet, with or without padding and white space.
type base64Reader struct {
	r     *bufio.Reader
	begun bool
	// text is the part that was read and not decoded, raw the part that was decoded and not returned.
	text, raw []byte
	buffer    [base64Chunk]byte
	decoded   [base64Chunk]byte
	err       error // that ended the text
}

// base64Chunk is the number of bytes of text that are decoded at a time.
const base64Chunk = 32 << 10

// maxDataURIPrefix bounds "data:…;base64,".
const maxDataURIPrefix = 256

// NewBase64Reader decodes a file as operations accept it in JSON. Invalid Base64 returns a base64.CorruptInputError.
func NewBase64Reader(text io.Reader) io.Reader {
	return &base64Reader{r: bufio.NewReaderSize(text, base64Chunk)}
}

func (b *base64Reader) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		if err := b.skipPrefix(); err != nil {
			return 0, err
		}
	}

	for len(b.raw) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.fill()
	}

	n := copy(p, b.raw)
	b.raw = b.raw[n:]
	return n, nil
}

// skipPrefix skips the start of a data URI.
func (b *base64Reader) skipPrefix() error {
	start, _ := b.r.Peek(len("data:"))
	if !strings.EqualFold(string(start), "data:") {
		return nil
	}

	prefix, _ := b.r.Peek(maxDataURIPrefix)
	comma := bytes.IndexByte(prefix, ',')
	if comma < 0 || !bytes.HasSuffix(bytes.ToLower(prefix[:comma]), []byte(";base64")) {
		return base64.CorruptInputError(0)
	}
	_, err := b.r.Discard(comma + 1)
	return err
}

// fill decodes the next chunk, all of it but the last characters that make no
// whole group yet.
func (b *base64Reader) fill() {
	kept := copy(b.buffer[:], b.text)
	n, err := b.r.Read(b.buffer[kept:])
	text := b.buffer[:kept+n]

	// White space is rare. The decoder would skip line breaks, and so lose count.
	if bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
		text = plainBase64(text)
	}

	b.err = err
	groups := len(text) / 4 * 4
	if err != nil {
		groups = len(text) // the last one may be short
	}

	size, corrupt := base64.RawStdEncoding.Decode(b.decoded[:], text[:groups])
	if corrupt != nil {
		// Only now is it worth looking for other spellings.
		text = plainBase64(text)
		if groups = len(text) / 4 * 4; err != nil {
			groups = len(text)
		}
		size, corrupt = base64.RawStdEncoding.Decode(b.decoded[:], text[:groups])
	}
	if corrupt != nil {
		b.err = corrupt
		return
	}

	b.raw = b.decoded[:size]
	b.text = text[groups:]
}

// plainBase64 spells text in the standard alphabet, without padding and white
// space, in its place.
func plainBase64(text []byte) []byte {
	kept := text[:0]
	for _, c := range text {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		case '=', ' ', '\n', '\r', '\t':
			continue
		}
		kept = append(kept, c)
	}
	return kept
}
