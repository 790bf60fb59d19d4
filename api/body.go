package api

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

// A body may come slowly, but a client that sends nothing must not hold a
// connection, nor one that sends a byte now and then.
const (
	bodyGrace  = 30 * time.Second // before the rate counts, and between two parts
	bodyMinPer = 32 << 10         // bytes a second, at least, on average after the grace
)

// bodyReader reads the body of a request, with a limit on its size both as sent and as decompressed. The headers are
// checked when the first byte is read: errors in them are reported only to a caller who has shown a key.
type bodyReader struct {
	w       http.ResponseWriter
	r       *http.Request
	max     int64
	content io.Reader // nil before the first byte
	paced   *pacedBody
}

func newBody(w http.ResponseWriter, r *http.Request, maxBytes int64) *bodyReader {
	return &bodyReader{w: w, r: r, max: maxBytes}
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if b.content == nil {
		if err := b.open(); err != nil {
			return 0, err
		}
	}
	return b.content.Read(p)
}

// Close closes the original body.
func (b *bodyReader) Close() error { return b.r.Body.Close() }

// end removes the deadline, if the body was not read to its end.
func (b *bodyReader) end() {
	if b.paced != nil {
		b.paced.end()
	}
}

func (b *bodyReader) open() error {
	if b.r.ContentLength > b.max {
		return &http.MaxBytesError{Limit: b.max}
	}

	b.paced = pace(b.w, b.r.Body)
	sent := http.MaxBytesReader(b.w, b.paced, b.max)
	encoding := strings.Join(b.r.Header.Values("Content-Encoding"), ", ")
	switch strings.ToLower(encoding) {
	case "", "identity":
		b.content = sent
	case "gzip", "x-gzip":
		b.content = http.MaxBytesReader(b.w, &gzippedBody{sent: sent}, b.max)
	default:
		return wire.Invalid("Content-Encoding", fmt.Sprintf("must be gzip or identity; got %.40q", encoding))
	}

	return nil
}

// gzippedBody decompresses a client's body, and returns errors in the API's words.
type gzippedBody struct {
	sent     io.ReadCloser
	unpacked *gzip.Reader
}

func (g *gzippedBody) Read(p []byte) (n int, err error) {
	if g.unpacked == nil {
		g.unpacked, err = gzip.NewReader(g.sent)
	}
	if err == nil {
		n, err = g.unpacked.Read(p)
	}

	var known *wire.Error
	var over *http.MaxBytesError
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &known) && !errors.As(err, &over) ||
		errors.Is(err, io.EOF) && g.unpacked == nil {
		err = &wire.Error{
			Code: wire.InvalidRequest, Cause: err,
			Message: "The request body is not valid gzip. Compress the body, or remove the Content-Encoding header.",
		}
	}
	return n, err
}

func (g *gzippedBody) Close() error { return g.sent.Close() }

// pacedBody reads the body of a request with a deadline that moves on with each part, and returns errors of the
// transfer in the API's words.
type pacedBody struct {
	io.ReadCloser

	line  *http.ResponseController
	start time.Time
	read  int64
}

func pace(w http.ResponseWriter, body io.ReadCloser) *pacedBody {
	return &pacedBody{ReadCloser: body, line: http.NewResponseController(w), start: time.Now()}
}

func (b *pacedBody) Read(p []byte) (int, error) {
	// Connections that cannot have a deadline, as in tests, do without.
	_ = b.line.SetReadDeadline(b.deadline(time.Now()))
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)

	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.end()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &wire.Error{
			Code: wire.InvalidRequest, Cause: err,
			Message: "The request body arrived too slowly. Send at least 32 KiB per second.",
		}
	default:
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			err = errors.Join(errBodyCut, err)
		}
		err = &wire.Error{
			Code: wire.InvalidRequest, Cause: err,
			Message: "The request body is incomplete, or its chunks are malformed. Send it again.",
		}
	}

	return n, err
}

// errBodyCut is the cause of the error of a body whose client left, or has closed its sending side, before the end.
var errBodyCut = errors.New("the client closed the connection within the body")

// deadline returns the time by which the next part must have arrived.
func (b *pacedBody) deadline(now time.Time) time.Time {
	average := b.start.Add(bodyGrace + time.Duration(b.read)*time.Second/bodyMinPer)
	if stalled := now.Add(bodyGrace); stalled.Before(average) {
		return stalled
	}
	return average
}

// end removes the deadline, which would otherwise end the call itself.
func (b *pacedBody) end() { _ = b.line.SetReadDeadline(time.Time{}) }
