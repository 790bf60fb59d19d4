package op

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// Files says where the files that come inside a request are kept. The zero
// value keeps them in memory, of any size.
type Files struct {
	// Open returns a place for one more file.
	Open func() Sink
	// Limit is the most one file may have, in bytes.
	Limit int64
}

// memory is a Sink in memory.
type memory struct{ bytes.Buffer }

func (m *memory) Size() int64         { return int64(m.Len()) }
func (m *memory) Open() io.ReadSeeker { return bytes.NewReader(m.Bytes()) }
func (m *memory) Close() error        { return nil }

// Sink takes the decoded bytes of one file as they arrive, and holds them as a
// Body afterwards.
type Sink interface {
	io.Writer
	Body
}

// File is a field that holds a file as Base64 text, in the standard or the
// URL-safe alphabet, with or without padding and a data URI before it.
type File struct{ *Inline }

// JSONSchema says that a File is a Base64 string.
func (File) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
}

// SetJSON takes the file that was decoded on the way.
func (f *File) SetJSON(v any) error {
	inline, ok := v.(*Inline)
	if !ok {
		return fmt.Errorf("a file field was given as %T", v)
	}
	f.Inline = inline
	return nil
}

// NewFile returns a File that holds content in memory, for an example.
func NewFile(content []byte) File {
	m := new(memory)
	m.Write(content)
	return File{&Inline{Sink: m, sum: sha256.New()}}
}

// IsZero tells whether no file was given.
func (f File) IsZero() bool { return f.Inline == nil }

// MarshalJSON writes the content as Base64.
func (f File) MarshalJSON() ([]byte, error) {
	content, err := io.ReadAll(f.Open())
	if err != nil {
		return nil, err
	}
	return json.Marshal(content)
}

// Inline is a file that came inside a request, already decoded.
type Inline struct {
	Sink
	sum hash.Hash
	err error // why it could not be decoded or kept
}

// MarshalJSON stands for the content in a call's digest.
func (f *Inline) MarshalJSON() ([]byte, error) {
	return []byte(`"sha256:` + hex.EncodeToString(f.sum.Sum(nil)) + `"`), nil
}

// inliner reads a JSON text and passes it on, but for the strings at given
// places: those it decodes from Base64 into sinks while they stream by, so that
// a large file is never in memory as text. In their place it passes a token.
//
// It follows the structure only as far as it needs to know where it is; the
// decoder behind it judges whether the text is JSON.
type inliner struct {
	r      *bufio.Reader
	places map[string]bool // such as "file" and "files[].file"
	keep   Files
	token  string // unguessable, so that a request cannot write one itself
	files  []*Inline

	err    error // that ended the text
	out    bytes.Buffer
	passed int // bytes of out that were read
	stack  []frame
	within bool   // a string that is passed on
	last   []byte // the last string, while it may still turn out to be a name
}

// frame is an object or array that is open. name is the member being read.
type frame struct {
	array bool
	name  string
}

// maxJSON bounds a request without its files, in bytes: the largest HTML, each
// character of it written as an escape. All of it is in memory several times
// while it is read.
const maxJSON = 32 << 20

// maxName is the longest member name that is compared with places.
const maxName = 64

func newInliner(r io.Reader, places map[string]bool, keep Files) *inliner {
	if keep.Open == nil {
		keep = Files{Open: func() Sink { return new(memory) }, Limit: math.MaxInt64 - 1}
	}
	return &inliner{r: bufio.NewReaderSize(r, 64<<10), places: places, keep: keep, token: rand.Text() + "#"}
}

// Read passes the rewritten text on, up to its limit.
func (in *inliner) Read(p []byte) (int, error) {
	n, err := in.read(p)
	if in.passed += n; in.passed > maxJSON {
		return n, &SizeError{Field: "request", Limit: maxJSON}
	}
	return n, err
}

func (in *inliner) read(p []byte) (int, error) {
	if len(in.places) == 0 {
		return in.r.Read(p)
	}
	p = p[:min(len(p), 64<<10)] // so that out stays small
	for in.out.Len() < len(p) && in.err == nil {
		in.err = in.advance()
	}
	if in.out.Len() == 0 {
		return 0, in.err
	}
	return in.out.Read(p)
}

// advance reads one structural character, a file, or a part of another string.
func (in *inliner) advance() error {
	if in.within {
		return in.passString()
	}
	c, err := in.r.ReadByte()
	if err != nil {
		return err
	}
	switch c {
	case '{', '[':
		if len(in.stack) <= maxDepth {
			in.stack = append(in.stack, frame{array: c == '['})
		}
	case '}', ']':
		if len(in.stack) > 0 {
			in.stack = in.stack[:len(in.stack)-1]
		}
	case ':':
		if len(in.stack) > 0 {
			in.stack[len(in.stack)-1].name = string(in.last)
		}
	case ',':
		if len(in.stack) > 0 {
			in.stack[len(in.stack)-1].name = ""
		}
	case '"':
		if in.places[in.place()] {
			return in.divert()
		}
		in.last, in.within = in.last[:0], true
	}
	in.out.WriteByte(c)
	return nil
}

// place spells where the next value stands: "files[].file".
func (in *inliner) place() string {
	if len(in.stack) > 4 {
		return "" // no place is that deep
	}
	var b strings.Builder
	for _, f := range in.stack {
		switch {
		case f.array:
			b.WriteString("[]")
		case f.name == "":
			return "" // the next string is a name
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(f.name)
		}
	}
	return b.String()
}

// passString passes a part of a string on unchanged.
func (in *inliner) passString() error {
	part, err := in.r.ReadSlice('"')
	in.out.Write(part)
	if len(in.last) <= maxName {
		in.last = append(in.last, part[:min(len(part), maxName+1)]...)
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		// A buffer that ends in a backslash would hide what it escapes.
		if trailingBackslashes(part)%2 == 0 {
			return nil
		}
		c, err := in.r.ReadByte()
		if err == nil {
			in.out.WriteByte(c)
		}
		return err
	case err != nil:
		return err
	case trailingBackslashes(part[:len(part)-1])%2 == 0:
		in.last, in.within = bytes.TrimSuffix(in.last, []byte{'"'}), false
	}
	return nil
}

func trailingBackslashes(b []byte) int {
	return len(b) - len(bytes.TrimRight(b, `\`))
}

// divert decodes a string into a sink and passes a token in its place.
func (in *inliner) divert() error {
	text := &stringReader{r: in.r}
	in.decode(text)
	if text.err != nil {
		return text.err
	}
	if err := text.drain(); err != nil {
		return err
	}
	fmt.Fprintf(&in.out, `"%s%d"`, in.token, len(in.files)-1)
	return nil
}

// decode makes a file of Base64 text.
func (in *inliner) decode(text io.Reader) *Inline {
	file := &Inline{Sink: in.keep.Open(), sum: sha256.New()}
	in.files = append(in.files, file)
	// One byte over the limit is enough to know.
	content := io.LimitReader(newBase64Reader(text), in.keep.Limit+1)
	_, file.err = io.Copy(io.MultiWriter(file.Sink, file.sum), content)
	return file
}

// resolve replaces the tokens in a decoded input by the files they stand for,
// and says what is wrong with them. The error is a *SizeError, or the sink's.
func (in *inliner) resolve(v any, at []string, faults *Faults) (_ any, err error) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name], err = in.resolve(v[name], append(at, name), faults); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = in.resolve(v[i], append(at, strconv.Itoa(i)), faults); err != nil {
				return nil, err
			}
		}
	case string:
		if number, ok := strings.CutPrefix(v, in.token); ok {
			if i, err := strconv.Atoi(number); err == nil && i < len(in.files) {
				return in.files[i], in.judge(in.files[i], joinField(at), faults)
			}
		}
		if in.places[placeOf(at)] {
			// Its name was spelled with escapes, so it went by as text.
			file := in.decode(strings.NewReader(v))
			return file, in.judge(file, joinField(at), faults)
		}
	}
	return v, nil
}

// placeOf spells a location the way places are written.
func placeOf(at []string) string {
	return joinPath(at, func(string) string { return "[]" })
}

func (in *inliner) judge(file *Inline, field string, faults *Faults) error {
	var corrupt base64.CorruptInputError
	switch {
	case errors.As(file.err, &corrupt) || errors.Is(file.err, io.ErrUnexpectedEOF):
		faults.Add(field, "must be Base64, with or without a data URI before it")
	case file.err != nil:
		return file.err
	case file.Size() > in.keep.Limit:
		return &SizeError{Field: field, Limit: in.keep.Limit}
	case file.Size() == 0:
		faults.Add(field, "must not be empty")
	}
	return nil
}

// close frees the files.
func (in *inliner) close() error {
	var errs []error
	for _, file := range in.files {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// stringReader reads the characters of a JSON string up to its closing quote,
// escapes undone. Only those that Base64 and data URIs use are understood: PHP,
// for one, writes "\/".
type stringReader struct {
	r    *bufio.Reader
	done bool
	err  error // of the reader behind, or of the string
}

func (s *stringReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && !s.done && s.err == nil {
		if m := s.run(p[n:]); m > 0 {
			n += m
			continue
		}
		c, err := s.r.ReadByte()
		switch {
		case err != nil:
			s.err = unexpected(err)
		case c == '"':
			s.done = true
		case c == '\\':
			if p[n], s.err = s.escape(); s.err == nil {
				n++
			}
		default:
			p[n] = c
			n++
		}
	}
	switch {
	case n > 0:
		return n, nil
	case s.err != nil:
		return 0, s.err
	}
	return 0, io.EOF
}

// run copies the plain characters that are buffered.
func (s *stringReader) run(p []byte) int {
	buffered, err := s.r.Peek(min(s.r.Buffered(), len(p)))
	if err != nil {
		return 0
	}
	for _, end := range []byte{'"', '\\'} {
		if i := bytes.IndexByte(buffered, end); i >= 0 {
			buffered = buffered[:i]
		}
	}
	n := copy(p, buffered)
	if _, err := s.r.Discard(n); err != nil {
		return 0
	}
	return n
}

func (s *stringReader) escape() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		return 0, unexpected(err)
	}
	switch c {
	case '"', '\\', '/':
		return c, nil
	case 'n', 'r', 't', 'b', 'f':
		return ' ', nil
	case 'u':
		var digits [4]byte
		if _, err := io.ReadFull(s.r, digits[:]); err != nil {
			return 0, unexpected(err)
		}
		code, err := strconv.ParseUint(string(digits[:]), 16, 16)
		if err != nil {
			return 0, Faults{{Message: "is not valid JSON in UTF-8"}}
		}
		return byte(min(code, 0xff)), nil
	}
	return 0, Faults{{Message: "is not valid JSON in UTF-8"}}
}

// drain reads what is left of the string.
func (s *stringReader) drain() error {
	_, err := io.Copy(io.Discard, s)
	return err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// base64Reader decodes Base64 text: the part after a data URI's comma, in the
// standard or the URL-safe alphabet, with or without padding and white space.
type base64Reader struct {
	r     *bufio.Reader
	begun bool
	// text is what was read and not decoded, raw what was decoded and not taken.
	text, raw []byte
	buffer    [base64Chunk]byte
	decoded   [base64Chunk]byte
	err       error // that ended the text
}

// base64Chunk is how much text is decoded at a time, in bytes.
const base64Chunk = 32 << 10

// maxDataURIPrefix bounds "data:…;base64,".
const maxDataURIPrefix = 256

func newBase64Reader(text io.Reader) io.Reader {
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

// skipPrefix takes the start of a data URI off.
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
	b.raw, b.text = b.decoded[:size], text[groups:]
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
