package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// ErrDamaged means that the bytes of a blob differ from those that were stored.
var ErrDamaged = errors.New("blob is damaged: its bytes are not those that were put there")

const (
	// sumChunk is the minimum number of bytes that have a sum of their own: a part of
	// a blob can be verified without the rest.
	sumChunk = 256 << 10
	// maxSums limits the sums of a blob, so their text fits into the 2 KB of metadata that a bucket stores with an
	// object.
	maxSums = 128
	// sumSize is the stored length of a SHA-256: enough to detect accidental damage.
	sumSize = 8
	// sumsFormat begins the text of sums.
	sumsFormat = "1"
)

// Sums verify that the chunks of a blob are unchanged.
type Sums struct {
	Size  int64 // of the blob in bytes
	Chunk int64 // bytes of each chunk but the last
	table []byte
}

// chunkFor is the length of the chunks of a blob whose sums have to be few.
func chunkFor(size int64) int64 {
	chunk := int64(sumChunk)
	for size > chunk*maxSums {
		chunk *= 2
	}
	return chunk
}

// Summer computes the sums of the bytes written to it.
type Summer struct {
	sums Sums
	hash hash.Hash
	part int64 // bytes of the chunk that has begun
}

// NewSummer returns a Summer for a blob of this size, with few enough sums to fit into an object's metadata.
func NewSummer(size int64) *Summer { return newSummer(chunkFor(size)) }

func newSummer(chunk int64) *Summer { return &Summer{sums: Sums{Chunk: chunk}, hash: sha256.New()} }

func (s *Summer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(int64(len(rest)), s.sums.Chunk-s.part)
		s.hash.Write(rest[:n])
		rest = rest[n:]
		s.part += n
		s.sums.Size += n

		if s.part == s.sums.Chunk {
			s.end()
		}
	}
	return len(p), nil
}

func (s *Summer) end() {
	s.sums.table = append(s.sums.table, s.hash.Sum(nil)[:sumSize]...)
	s.part = 0
	s.hash.Reset()
}

// Sums ends the last chunk and returns the sums.
func (s *Summer) Sums() Sums {
	if s.part > 0 {
		s.end()
	}
	return s.sums
}

// chunks returns the number of chunks.
func (s Sums) chunks() int64 { return (s.Size + s.Chunk - 1) / s.Chunk }

// Length returns the number of bytes of a chunk.
func (s Sums) Length(i int64) int64 { return min(s.Chunk, s.Size-i*s.Chunk) }

// match reports whether a chunk matches its sum. Without sums every chunk does.
func (s Sums) match(i int64, chunk []byte) bool {
	if s.table == nil {
		return true
	}
	sum := sha256.Sum256(chunk)
	return bytes.Equal(sum[:sumSize], s.table[i*sumSize:(i+1)*sumSize])
}

// String returns the form that ParseSums reads.
func (s Sums) String() string {
	return strings.Join([]string{
		sumsFormat,
		strconv.FormatInt(s.Size, 10),
		strconv.FormatInt(s.Chunk, 10),
		base64.RawURLEncoding.EncodeToString(s.table),
	}, ".")
}

// ParseSums reads the text of sums.
func ParseSums(text string) (Sums, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 || parts[0] != sumsFormat {
		return Sums{}, fmt.Errorf("%w: it has no sums of ours", ErrDamaged)
	}

	size, sizeErr := strconv.ParseInt(parts[1], 10, 64)
	chunk, chunkErr := strconv.ParseInt(parts[2], 10, 64)
	table, tableErr := base64.RawURLEncoding.DecodeString(parts[3])

	s := Sums{Size: size, Chunk: chunk, table: table}
	err := errors.Join(sizeErr, chunkErr, tableErr)
	if err != nil || size < 0 || chunk < 1 || int64(len(table)) != s.chunks()*sumSize {
		return Sums{}, fmt.Errorf("%w: its sums cannot be read", ErrDamaged)
	}

	return s, nil
}
