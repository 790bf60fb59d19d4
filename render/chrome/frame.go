package chrome

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	// maxMessage bounds a message that is held in memory. The largest legitimate one is a
	// part of a stream, 1.4 MB. An event about an image in a data: URL can be as large as
	// the image, and is not needed. The rest of a longer message is read and discarded.
	maxMessage = 8 << 20
	// headSize is the number of bytes that are stored of the beginning of a long message, which contains its number
	// or name. tailSize is the number of bytes of its end, which contains its session.
	headSize    = 256
	messageTail = 256
	// readBuffer is the number of bytes that are read from the pipe at once.
	readBuffer = 256 << 10
)

// frame is one message, or the stored parts of a long one.
type frame struct {
	data []byte // valid until the next frame
	cut  bool   // data is the beginning only
	tail []byte
}

// framer splits the bytes of the pipe into messages. It holds at most maxMessage bytes, even of a longer message.
type framer struct {
	in    *bufio.Reader
	long  []byte
	total atomic.Int64 // bytes so far
	// sink returns the sink for the data of a response with this beginning, or nil.
	sink func(head []byte) *sink
}

func newFramer(in io.Reader, find func(head []byte) *sink) *framer {
	return &framer{in: bufio.NewReaderSize(in, readBuffer), sink: find}
}

// next returns the next message, without the NUL at its end.
func (f *framer) next() (frame, error) {
	f.long = f.long[:0]
	if cap(f.long) > readBuffer*4 {
		f.long = nil
	}

	for {
		part, err := f.read()
		switch {
		case err == nil && len(f.long) == 0:
			return frame{data: part[:len(part)-1]}, nil
		case err == nil:
			f.long = append(f.long, part[:len(part)-1]...)
			return frame{data: f.long}, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return frame{}, err
		}

		if len(f.long) == 0 {
			if s := f.sink(part); s != nil {
				return f.pour(part, s)
			}
		}

		if len(f.long)+len(part) > maxMessage {
			f.long = append(f.long, part[:min(len(part), headSize)]...)[:headSize:headSize]
			return f.skip(part)
		}
		f.long = append(f.long, part...)
	}
}

func (f *framer) read() ([]byte, error) {
	part, err := f.in.ReadSlice(0)
	f.total.Add(int64(len(part)))
	return part, err
}

// skip throws the rest of a message away.
func (f *framer) skip(part []byte) (frame, error) {
	tail := bytes.Clone(part[max(0, len(part)-messageTail):])

	for {
		part, err := f.read()
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return frame{}, err
		}
		tail = append(tail, part[max(0, len(part)-messageTail):]...)
		tail = tail[max(0, len(tail)-messageTail):]
		if err == nil {
			return frame{data: f.long, cut: true, tail: tail}, nil
		}
	}
}

// dataMark precedes the data of a response.
var dataMark = []byte(`"result":{"data":"`)

// pour decodes the Base64 data of a response into its sink as it arrives. The frame is the message without the
// data.
func (f *framer) pour(part []byte, s *sink) (frame, error) {
	start := bytes.Index(part, dataMark) + len(dataMark)
	f.long = append(append(f.long, part[:start]...), `"}}`...)
	part = part[start:]

	for {
		end := bytes.IndexByte(part, '"')
		if end >= 0 {
			s.write(part[:end])
			s.end()
			break
		}
		s.write(part)
		var err error
		if part, err = f.read(); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return frame{}, err
		}
	}

	for bytes.IndexByte(part, 0) < 0 {
		var err error
		if part, err = f.read(); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return frame{}, err
		}
	}

	return frame{data: f.long}, nil
}

// sink takes the decoded data of one answer. Its writer is not used any more
// after close.
type sink struct {
	mu     sync.Mutex
	w      io.Writer
	rest   []byte // of a group of four letters
	buf    []byte
	poured bool // data came here, and not in the answer
	err    error
}

func (s *sink) write(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.poured = true
	if s.w == nil || s.err != nil {
		return
	}

	s.rest = append(s.rest, text...)
	whole := len(s.rest) / 4 * 4
	s.decode(s.rest[:whole])
	s.rest = append(s.rest[:0], s.rest[whole:]...)
}

func (s *sink) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w != nil && s.err == nil && len(s.rest) > 0 {
		s.decode(s.rest)
	}
}

func (s *sink) decode(text []byte) {
	s.buf = append(s.buf[:0], make([]byte, base64.StdEncoding.DecodedLen(len(text)))...)
	n, err := base64.StdEncoding.Decode(s.buf, text)
	if err == nil {
		_, err = s.w.Write(s.buf[:n])
	}
	s.err = err
}

// close ends the use of the writer, and reports whether data was written to it
// and how that went.
func (s *sink) close() (poured bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
	return s.poured, s.err
}

// answers returns the number of the command that a message answers, which comes first in it, or zero.
func answers(head []byte) int {
	rest, ok := bytes.CutPrefix(head, []byte(`{"id":`))
	if !ok {
		return 0
	}

	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}

	n, err := strconv.Atoi(string(rest[:end]))
	if err != nil {
		return 0
	}
	return n
}

// quoted returns the string after a mark, as long as it holds no escapes.
func quoted(text []byte, mark string) string {
	_, rest, ok := bytes.Cut(text, []byte(mark+`"`))
	if !ok {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

// method returns the name of the event that a long message is.
func (f frame) method() string { return quoted(f.data, `{"method":`) }

// session returns the session of a long message. It is the last one in the message: a
// document may have written the text before it, but cannot know another document's session.
func (f frame) session() string {
	i := bytes.LastIndex(f.tail, []byte(`"sessionId":`))
	if i < 0 {
		return ""
	}
	return quoted(f.tail[i:], `"sessionId":`)
}
