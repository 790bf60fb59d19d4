package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/durable"
)

const (
	// sumsKey is the metadata key of an object with the checksums of its chunks.
	sumsKey = "Relaypdf-Sums"
	// inMemory is the number of bytes of a stream that are held in memory before a file is used.
	inMemory = 1 << 20
	// abortTimeout bounds ending an upload that has failed.
	abortTimeout = 10 * time.Second
	// partsAtOnce is the number of parts of a blob that are sent at a time. None of them is in memory.
	partsAtOnce = 4
	// firstPause is the maximum pause before the second attempt; later pauses are longer.
	firstPause = 300 * time.Millisecond
)

// Put stores the bytes of r. The checksums are sent before the bytes, which are therefore read twice: from r if
// possible, or else from a file.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	object, err := s.object(key)
	if err != nil {
		return 0, err
	}

	body, err := s.openBody(ctx, r)
	if err != nil {
		return 0, fmt.Errorf("put blob: %w", err)
	}

	err = s.put(ctx, object, body.SectionReader)
	if err = errors.Join(err, body.close()); err != nil {
		return 0, fmt.Errorf("put blob: %w", err)
	}
	return body.Size(), nil
}

// body is the request body, from its beginning to its end.
type body struct {
	*io.SectionReader

	file *os.File // nil: not our own
}

func (b body) close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

// openBody returns all that r yields.
func (s *Store) openBody(ctx context.Context, r io.Reader) (body, error) {
	if r, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	}); ok {
		from, err := r.Seek(0, io.SeekCurrent)
		if err != nil {
			return body{}, err
		}
		end, err := r.Seek(0, io.SeekEnd)
		return body{SectionReader: io.NewSectionReader(r, from, end-from)}, err
	}

	r = durable.Reader(ctx, r)
	head, err := io.ReadAll(io.LimitReader(r, inMemory))
	if err != nil || len(head) < inMemory {
		return body{SectionReader: io.NewSectionReader(bytes.NewReader(head), 0, int64(len(head)))}, err
	}

	file, err := os.CreateTemp(s.tmp, "relaypdf-put-")
	if err != nil {
		return body{}, err
	}

	// It has no name any more, and so is gone when it is closed.
	err = os.Remove(file.Name())
	var size int64
	if err == nil {
		size, err = io.Copy(file, io.MultiReader(bytes.NewReader(head), r))
	}
	if err != nil {
		return body{}, errors.Join(err, file.Close())
	}
	return body{io.NewSectionReader(file, 0, size), file}, nil
}

func (s *Store) put(ctx context.Context, object string, body *io.SectionReader) error {
	sums := blob.NewSummer(body.Size())
	if _, err := io.Copy(sums, durable.Reader(ctx, io.NewSectionReader(body, 0, body.Size()))); err != nil {
		return err
	}

	options := minio.PutObjectOptions{
		ContentType:          "application/octet-stream",
		DisableContentSha256: true,
		UserMetadata:         map[string]string{sumsKey: sums.Sums().String()},
	}

	if body.Size() > partSize {
		return s.putParts(ctx, object, body, options)
	}
	return s.send(ctx, body, func(r io.Reader, hash string) error {
		_, err := s.core.PutObject(ctx, s.bucket, object, r, body.Size(), "", hash, options)
		return err
	})
}

// putParts sends a large blob in parts, a few at a time. Nothing is to be seen of
// it before the last step.
func (s *Store) putParts(
	ctx context.Context, object string, body *io.SectionReader, options minio.PutObjectOptions,
) error {
	upload, err := s.core.NewMultipartUpload(ctx, s.bucket, object, options)
	if err != nil {
		return err
	}

	parts, err := s.sendParts(ctx, object, upload, body)
	if err == nil {
		err = s.complete(ctx, object, upload, parts, options)
	}
	if err == nil {
		return nil
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	return errors.Join(err, s.abort(ctx, object, upload))
}

// sendParts sends the parts, and returns them in order. If one fails, no further part is begun, but it waits for
// the running ones: a part that arrived after the upload was aborted would remain.
func (s *Store) sendParts(
	ctx context.Context, object, upload string, body *io.SectionReader,
) ([]minio.CompletePart, error) {
	parts := make([]minio.CompletePart, (body.Size()+partSize-1)/partSize)
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(partsAtOnce)

	for i := range parts {
		group.Go(func() error {
			if groupCtx.Err() != nil {
				return context.Cause(groupCtx)
			}

			at := int64(i) * partSize
			part := io.NewSectionReader(body, at, min(partSize, body.Size()-at))
			return s.send(ctx, part, func(r io.Reader, hash string) error {
				sent, err := s.core.PutObjectPart(ctx, s.bucket, object, upload, i+1, r, part.Size(),
					minio.PutObjectPartOptions{Sha256Hex: hash, DisableContentSha256: true})
				parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: sent.ETag}
				return err
			})
		})
	}

	return parts, group.Wait()
}

// complete makes an object from its parts. If the response was lost and the request sent again, the upload is
// unknown: then complete checks the object.
func (s *Store) complete(
	ctx context.Context, object, upload string, parts []minio.CompletePart, options minio.PutObjectOptions,
) error {
	_, err := s.core.CompleteMultipartUpload(ctx, s.bucket, object, upload, parts, minio.PutObjectOptions{})
	if err == nil || code(err) != minio.NoSuchUpload {
		return err
	}
	info, statErr := s.core.StatObject(ctx, s.bucket, object, minio.StatObjectOptions{})
	if statErr == nil && info.UserMetadata[sumsKey] == options.UserMetadata[sumsKey] {
		return nil
	}
	return errors.Join(err, statErr)
}

// send sends one request with content, and sends it again when it failed for a
// reason that may have passed. S3 compares the content with its hash.
func (s *Store) send(ctx context.Context, content *io.SectionReader, request func(io.Reader, string) error) error {
	text, err := hashOf(ctx, io.NewSectionReader(content, 0, content.Size()))
	if err != nil {
		return err
	}

	pause := firstPause
	for attempt := 1; ; attempt++ {
		// Each attempt has its own reader, because the connection of the previous one may still use its reader. It
		// cannot be rewound, so that only this code retries.
		err := request(struct{ io.Reader }{io.NewSectionReader(content, 0, content.Size())}, text)
		if err == nil || attempt == attempts || !Passing(err) {
			return errors.Join(err, ctx.Err())
		}

		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(rand.N(pause)):
			pause *= 3
		}
	}
}

// hashOf returns the hash of content that S3 compares it with.
func hashOf(ctx context.Context, content io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, durable.Reader(ctx, content)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Passing reports whether the error of a request may be temporary.
func Passing(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}

	var response minio.ErrorResponse
	if !errors.As(err, &response) {
		return true // the network's
	}

	switch response.Code {
	case "RequestTimeout", "SlowDown", "XAmzContentSHA256Mismatch":
		return true
	}

	return response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests
}
