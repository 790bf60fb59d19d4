package blob

import (
	"errors"
	"io"
	"sync"
)

// Chunks reads the bytes of a blob, a chunk at a time.
type Chunks interface {
	// Chunk fills p with the chunk of this number. It may be asked for the same
	// one again, when its sum was wrong.
	Chunk(i int64, p []byte) error
	io.Closer
}

// content reads chunks, verifies each, and then gives it away. It holds one at
// a time.
type content struct {
	sums   Sums
	source Chunks

	mu     sync.Mutex
	at     int64 // position of the next Read
	chunk  []byte
	loaded int64 // number of the chunk in memory, or -1
}

// NewContent returns the bytes of a blob whose chunks match its sums.
func NewContent(sums Sums, source Chunks) Content {
	return &content{sums: sums, source: source, loaded: -1}
}

func (c *content) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at >= c.sums.Size {
		return 0, io.EOF
	}
	n, err := c.copyAt(p, c.at)
	c.at += int64(n)
	return n, err
}

func (c *content) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errNegative
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	for n < len(p) && err == nil {
		if off+int64(n) >= c.sums.Size {
			return n, io.EOF
		}
		var more int
		more, err = c.copyAt(p[n:], off+int64(n))
		n += more
	}
	return n, err
}

var errNegative = errors.New("read blob: negative position")

func (c *content) Seek(offset int64, whence int) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.sums.Size
	}

	if offset < 0 {
		return 0, errNegative
	}
	c.at = offset
	return offset, nil
}

func (c *content) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chunk = nil
	c.loaded = -1
	return c.source.Close()
}

// copyAt copies the available bytes of one chunk. The position is inside the blob.
func (c *content) copyAt(p []byte, off int64) (int, error) {
	i := off / c.sums.Chunk
	if err := c.loadChunk(i); err != nil {
		return 0, err
	}
	return copy(p, c.chunk[off-i*c.sums.Chunk:]), nil
}

// loadChunk gets a chunk into memory. One that is damaged is asked for once more: it
// may be the way that has damaged it.
func (c *content) loadChunk(i int64) error {
	if c.loaded == i {
		return nil
	}

	c.loaded = -1
	length := c.sums.Length(i)
	if int64(cap(c.chunk)) < length {
		c.chunk = make([]byte, length)
	}
	c.chunk = c.chunk[:length]

	for range 2 {
		if err := c.source.Chunk(i, c.chunk); err != nil {
			return err
		}
		if c.sums.match(i, c.chunk) {
			c.loaded = i
			return nil
		}
	}

	return ErrDamaged
}
