package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// The protocol: both sides send messages of frames, and a frame is its length
// (four bytes, big endian) and its bytes.
//
//	parent → child   setup, once: settings as JSON
//	child → parent   ready, once: a report as JSON
//	parent → child   job: header as JSON, body
//	child → parent   answer: header as JSON, body
//
// The parent trusts no length that a child announces: a frame over its limit
// ends the child, and memory grows only with bytes that arrive.
const (
	maxHeader = 1 << 20
	// maxBody is the largest file a request may carry, several times over
	// (all inputs of a request, or one output, are 200 MiB).
	maxBody = 256 << 20
)

// errFrame means that the other side broke the protocol.
var errFrame = errors.New("engine: broken frame")

// jobHeader goes before a job's body.
type jobHeader struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	// Timeout is what is left until the deadline, in nanoseconds.
	Timeout time.Duration `json:"timeout"`
}

// answerHeader goes before a job's result, which is empty beside an error.
type answerHeader struct {
	Err *JobError `json:"err,omitempty"`
}

func writeFrame(w io.Writer, b []byte) error {
	if len(b) > math.MaxUint32 {
		return errFrame
	}
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(b)))
	if _, err := w.Write(size[:]); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// readFrame reads one frame of at most limit bytes. At the end of the stream,
// before the first byte, it returns io.EOF.
func readFrame(r io.Reader, limit int64) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(size[:]))
	if n > limit {
		return nil, fmt.Errorf("%w: %d bytes, limit %d", errFrame, n, limit)
	}
	const trusted = 1 << 20
	if n <= trusted {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, noEOF(err)
	}
	var buf bytes.Buffer
	buf.Grow(trusted)
	if _, err := io.CopyN(&buf, r, n); err != nil {
		return nil, noEOF(err)
	}
	return buf.Bytes(), nil
}

// noEOF makes an end inside a frame an error of its own: the other side died.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeMessage sends a header as JSON and a body.
func writeMessage(w io.Writer, header any, body []byte) error {
	h, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if err := writeFrame(w, h); err != nil {
		return err
	}
	return writeFrame(w, body)
}

// readMessage reads what writeMessage sent.
func readMessage(r io.Reader, header any) ([]byte, error) {
	if err := readHeader(r, header); err != nil {
		return nil, err
	}
	body, err := readFrame(r, maxBody)
	return body, noEOF(err)
}

func readHeader(r io.Reader, header any) error {
	h, err := readFrame(r, maxHeader)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(h, header); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// newRequest checks a job and encodes its arguments.
func newRequest(job Job) (*request, error) {
	args, err := json.Marshal(job.Args)
	if err != nil {
		return nil, fmt.Errorf("engine: arguments of %s: %w", job.Name, err)
	}
	if len(args) > maxHeader/2 || len(job.Body) > maxBody {
		return nil, ErrTooLarge
	}
	return &request{job: job, args: args, reply: make(chan outcome, 1)}, nil
}
