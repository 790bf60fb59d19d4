package officefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/richardlehane/mscfb"
)

// compound is a compound file, the container of the older office formats. Its streams can be changed, but not their
// sizes.
type compound struct {
	*os.File

	streams map[string]*mscfb.File // by name, after those of the storages around it with / between them
}

func openCompound(path string, flag int) (*compound, error) {
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}

	c := &compound{File: file, streams: map[string]*mscfb.File{}}
	entries, err := mscfb.New(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}

	for _, entry := range entries.File {
		name := strings.Join(append(slices.Clone(entry.Path), entry.Name), "/")
		if c.streams[name] == nil {
			c.streams[name] = entry
		}
	}

	return c, nil
}

// read returns a stream.
func (c *compound) read(name string) ([]byte, error) {
	stream := c.streams[name]
	if stream == nil || stream.Size > maxPart {
		return nil, fmt.Errorf("%w: %.100q", errPart, name)
	}
	content := make([]byte, stream.Size)
	n, err := stream.ReadAt(content, 0)
	if n < len(content) {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return content, nil
}

// write replaces the beginning of a stream.
func (c *compound) write(name string, content []byte) error {
	_, err := c.streams[name].WriteAt(content, 0)
	return err
}

// changeCompound copies a compound file, and opens the copy.
func changeCompound(from, to string) (*compound, error) {
	in, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer in.Close()

	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}

	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	return openCompound(to, os.O_RDWR)
}
