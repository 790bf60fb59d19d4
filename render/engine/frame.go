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

// The protocol: both sides send messages of frames, and a frame is its length (four bytes, big endian) and its
// bytes. Files follow a message as they are, one after the other; their sizes are in its header.
//
//	parent → child   setup, once: settings as JSON
//	child → parent   ready, once: a report as JSON
//	parent → child   job: header as JSON, body, files
//	child → parent   answer: header as JSON, body, files
//
// The parent trusts no length that a child announces: a length above its limit ends the child, and memory grows
// only with bytes that arrive.
const (
	maxHeader = 1 << 20
	// maxBody is the maximum text of a request (10 MiB) after its growth as HTML. Anything larger is a file.
	maxBody = 64 << 20
)

// errFrame means that the other side broke the protocol.
var errFrame = errors.New("engine: broken frame")

// jobHeader precedes a job's body.
type jobHeader struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	// Timeout is the time left until the deadline, in nanoseconds.
	Timeout time.Duration `json:"timeout"`
	Files   []fileHeader  `json:"files,omitempty"`
	// MaxOutput bounds the sizes of all output files together.
	MaxOutput int64 `json:"max_output"`
	// Memory is the job's own limit in bytes; 0 means the child's.
	Memory int64 `json:"memory,omitempty"`
}

// fileHeader announces a file that follows the message.
type fileHeader struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// answerHeader precedes a job's result, which is empty if there is an error.
type answerHeader struct {
	Err   *JobError    `json:"err,omitempty"`
	Files []fileHeader `json:"files,omitempty"`
	// Warnings are those of the handler.
	Warnings []Warning `json:"warnings,omitempty"`
	// Last means that the child ends after this answer.
	Last bool `json:"last,omitempty"`
}

// check returns an error if the announced sizes of a child are invalid.
func (h answerHeader) check(maxOutput int64) error {
	if len(h.Files) > maxFiles {
		return fmt.Errorf("%w: %d files", errFrame, len(h.Files))
	}

	left := maxOutput
	for _, f := range h.Files {
		if !plainName(f.Name) || f.Size < 0 || f.Size > left {
			return fmt.Errorf("%w: a file of %d bytes, %d bytes are left", errFrame, f.Size, left)
		}
		left -= f.Size
	}
	return nil
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

// noEOF makes an end inside a frame its own error: the other side died.
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

// readMessage reads a message of writeMessage.
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
