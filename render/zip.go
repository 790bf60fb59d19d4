package render

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/spool"
)

// ZipEntry is one file of an archive. Name may contain folders. Parts that would lead out of the folder in which
// the archive is unpacked are removed.
type ZipEntry struct {
	Name    string
	Content engine.Content
}

// Zip makes an archive of files in order, and makes their names unique. The caller closes it. Files that would not
// become smaller are stored without compression. Errors are *chrome.LimitError, the error of ctx, and those of the
// disk.
//
// The files are compressed concurrently before the archive is written, so that every entry begins with its sizes.
// Streaming readers cannot find the end of a stored entry whose size follows its content.
func Zip(ctx context.Context, entries []ZipEntry) (*spool.File, error) {
	packed := make([]*zipContent, len(entries))
	defer func() {
		for _, content := range packed {
			if content != nil && content.deflated != nil {
				// All of it was read. A failed Close leaks only a file descriptor.
				_ = content.deflated.Close()
			}
		}
	}()

	packers := make(chan *packer, runtime.GOMAXPROCS(0))
	for range cap(packers) {
		packers <- new(packer)
	}

	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(cap(packers))
	for i, entry := range entries {
		group.Go(func() (err error) {
			p := <-packers
			defer func() { packers <- p }()
			packed[i], err = p.pack(groupCtx, entry.Content)
			return err
		})
	}

	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("zip: %w", err)
	}
	return writeZip(ctx, zipNames(entries), packed)
}

// writeZip writes an archive of prepared contents.
func writeZip(ctx context.Context, names []string, packed []*zipContent) (_ *spool.File, err error) {
	out := spool.New("", MaxBytes)
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close())
		}
	}()

	archive := zip.NewWriter(out)
	modified := time.Now().UTC()
	for i, content := range packed {
		raw, err := archive.CreateRaw(content.header(names[i], modified))
		if err != nil {
			return nil, zipError(err)
		}
		if _, err := io.Copy(raw, &boundedReader{ctx, content.open()}); err != nil {
			return nil, zipError(err)
		}
	}

	if err := archive.Close(); err != nil {
		return nil, zipError(err)
	}
	return out, nil
}

func zipError(err error) error {
	if errors.Is(err, spool.ErrTooLarge) {
		return &chrome.LimitError{What: "bytes", Max: MaxBytes}
	}
	return fmt.Errorf("zip: %w", err)
}

// zipContent is a file in the form in which the archive stores it.
type zipContent struct {
	source   engine.Content
	deflated *spool.File // nil if the file is stored without compression
	checksum uint32
	size     int64 // of source
}

func (c *zipContent) open() io.Reader {
	if c.deflated != nil {
		return c.deflated.Open()
	}
	return c.source.Open()
}

const (
	zipVersion  = 20      // version of the format: 2.0 supports folders and Deflate
	zipUTF8     = 1 << 11 // flag: the name is UTF-8 and not in code page 437
	zipFileMode = 0o644
)

// header describes an entry. CreateRaw writes it unchanged, so that all fields are set here.
func (c *zipContent) header(name string, modified time.Time) *zip.FileHeader {
	h := &zip.FileHeader{
		Name: name, Method: zip.Store, Flags: zipUTF8, CRC32: c.checksum, CreatorVersion: zipVersion, ReaderVersion: zipVersion,
		UncompressedSize64: uint64(c.size), CompressedSize64: uint64(c.size),
	}
	h.SetMode(zipFileMode)
	h.SetModTime(modified) //nolint:staticcheck // Modified, which is to be used instead, is left out by CreateRaw.
	if c.deflated != nil {
		h.Method, h.CompressedSize64 = zip.Deflate, uint64(c.deflated.Size())
	}
	return h
}

// packer packs one file after another. It reuses its compressors, because their tables of about 1 MB take longer to
// create than many files take to compress.
type packer struct {
	fast, thorough *flate.Writer // nil until first use
}

// compressor returns a compressor that writes to w: the stored one, or a new one.
func compressor(kept **flate.Writer, level int, w io.Writer) (*flate.Writer, error) {
	if *kept != nil {
		(*kept).Reset(w)
		return *kept, nil
	}
	made, err := flate.NewWriter(w, level)
	*kept = made
	return made, err
}

// pack reads a file for its checksum, and compresses it if that makes it smaller.
func (p *packer) pack(ctx context.Context, source engine.Content) (_ *zipContent, err error) {
	c := &zipContent{source: source, size: source.Size()}
	pays, err := p.deflates(source)
	if err != nil {
		return nil, err
	}

	sum := crc32.NewIEEE()
	reader := io.TeeReader(&boundedReader{ctx, source.Open()}, sum)
	if !pays {
		_, err = io.Copy(io.Discard, reader)
		c.checksum = sum.Sum32()
		return c, err
	}

	// Random bytes grow by 5 in 65,535. A result far above that is useless.
	c.deflated = spool.New("", 0)
	defer func() {
		if err != nil {
			err = errors.Join(err, c.deflated.Close())
		}
	}()

	if err := p.deflate(c.deflated, reader); err != nil {
		return nil, err
	}

	c.checksum = sum.Sum32()
	if c.deflated.Size() >= c.size {
		err = c.deflated.Close()
		c.deflated = nil
	}
	return c, err
}

func (p *packer) deflate(w io.Writer, r io.Reader) error {
	thorough, err := compressor(&p.thorough, flate.DefaultCompression, w)
	if err != nil {
		return err
	}
	if _, err := io.Copy(thorough, r); err != nil {
		return err
	}
	return thorough.Close()
}

const (
	// zipSamples pieces of zipSample bytes show whether a file is compressed already. Several are needed, because
	// images begin with text and colour profiles.
	zipSamples, zipSample = 4, 8 << 10
	// zipGain is the minimum reduction of a sample for which compression is used.
	zipGain = 0.03
)

// deflates reports whether compression makes a file smaller by enough. It tests the content, because names and
// types can be wrong. Small files are tested as a whole.
func (p *packer) deflates(source engine.Content) (bool, error) {
	size := source.Size()
	file := source.Open()
	if size <= zipSamples*zipSample {
		return size > 0, nil
	}

	read := int64(0)
	made := &counter{}
	for i := range int64(zipSamples) {
		if _, err := file.Seek(i*(size-zipSample)/(zipSamples-1), io.SeekStart); err != nil {
			return false, err
		}
		fast, err := compressor(&p.fast, flate.BestSpeed, made)
		if err != nil {
			return false, err
		}
		n, err := io.CopyN(fast, file, zipSample)
		if err := errors.Join(err, fast.Close()); err != nil {
			return false, err
		}
		read += n
	}
	return float64(made.size) < float64(read)*(1-zipGain), nil
}

// counter counts the bytes that are written to it.
type counter struct{ size int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	return len(p), nil
}

// boundedReader is a reader that fails when its context ends.
type boundedReader struct {
	ctx context.Context
	r   io.Reader
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}
