package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/relaypdf/relaypdf/store/blob"
)

// firstBytes is the size of the first request for an object: most blobs are shorter, and so are read in one
// request.
const firstBytes = 256 << 10

// Open returns the blob's bytes. They can be read when ctx has ended, until
// they are closed.
func (s *Store) Open(ctx context.Context, key string) (blob.Content, int64, error) {
	object, err := s.object(key)
	if err != nil {
		return nil, 0, err
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("open blob: %w", err)
	}

	r := &objectReader{store: s, object: object}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, r.cancel)
	err = r.begin()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open blob: %w", errors.Join(missing(err), r.Close()))
	}

	return blob.NewContent(r.sums, r), r.sums.Size, nil
}

// objectReader yields the chunks of an object. One that follows the last comes on the
// same connection.
type objectReader struct {
	store  *Store
	object string
	ctx    context.Context // of the connection, which ends with Close
	cancel context.CancelFunc
	etag   string
	sums   blob.Sums
	stream io.ReadCloser // nil: none
	next   int64         // number of the chunk that begins on it
	until  int64         // number of the first chunk that is not on it
}

// begin requests the beginning of an object; the response also has its metadata.
func (r *objectReader) begin() error {
	stream, info, size, err := r.get(0, firstBytes-1)
	if code(err) == "InvalidRange" { // It is empty.
		info, err = r.store.core.StatObject(r.ctx, r.store.bucket, r.object, minio.StatObjectOptions{})
		size = info.Size
	}
	if err != nil {
		return err
	}

	r.stream = stream
	r.etag = info.ETag
	r.until = 1
	if r.sums, err = blob.ParseSums(info.UserMetadata[sumsKey]); err != nil {
		return err
	}
	if r.sums.Size != size {
		return fmt.Errorf("%w: it has %d bytes instead of %d", blob.ErrDamaged, size, r.sums.Size)
	}

	if stream != nil && r.sums.Length(0) > firstBytes {
		return r.drop()
	}
	return nil
}

// get requests the bytes from one position to another, or to the end if that is 0. It also returns the size of the
// whole object.
func (r *objectReader) get(from, to int64) (io.ReadCloser, minio.ObjectInfo, int64, error) {
	var options minio.GetObjectOptions
	if err := options.SetRange(from, to); err != nil {
		return nil, minio.ObjectInfo{}, 0, err
	}

	if from == 0 && to == 0 {
		options.Set("Range", "bytes=0-") // SetRange would ask for the first byte
	}
	if r.etag != "" {
		if err := options.SetMatchETag(r.etag); err != nil {
			return nil, minio.ObjectInfo{}, 0, err
		}
	}

	stream, info, header, err := r.store.core.GetObject(r.ctx, r.store.bucket, r.object, options)
	if err != nil {
		return nil, info, 0, err
	}

	size, err := wholeSize(header, from)
	if err != nil {
		return nil, info, 0, errors.Join(err, stream.Close())
	}
	return stream, info, size, nil
}

// wholeSize reads the size of an object from the answer to a request for a part
// of it: Content-Range: bytes 0-99/1234.
func wholeSize(header http.Header, from int64) (int64, error) {
	span, total, _ := strings.Cut(header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil || !strings.HasPrefix(span, fmt.Sprintf("bytes %d-", from)) {
		return 0, fmt.Errorf("%w: the bucket answered with %q to a request for the bytes from %d",
			blob.ErrDamaged, header.Get("Content-Range"), from)
	}
	return size, nil
}

// Chunk fills p with a chunk. If the connection breaks, it opens another.
func (r *objectReader) Chunk(i int64, p []byte) error {
	for attempt := 1; ; attempt++ {
		if err := r.goTo(i); err != nil {
			return fmt.Errorf("read blob: %w", missing(err))
		}
		_, err := io.ReadFull(r.stream, p)
		if err == nil {
			r.next++
			return nil
		}
		err = errors.Join(err, r.drop())
		if attempt == attempts || r.ctx.Err() != nil {
			return fmt.Errorf("read blob: %w", err)
		}
	}
}

// goTo has the stream begin with a chunk.
func (r *objectReader) goTo(i int64) (err error) {
	if r.stream != nil && r.next == i && i < r.until {
		return nil
	}

	if err := r.drop(); err != nil {
		return err
	}

	r.stream, _, _, err = r.get(i*r.sums.Chunk, 0)
	r.next = i
	r.until = math.MaxInt64
	return err
}

// drop gives up the connection and the unread rest.
func (r *objectReader) drop() error {
	if r.stream == nil {
		return nil
	}
	err := r.stream.Close()
	r.stream = nil
	return err
}

// Close gives up the connection.
func (r *objectReader) Close() error {
	err := r.drop()
	r.cancel()
	return err
}
