package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"relaypdf/api/fault"
)

// A body may come slowly, but a client that sends nothing must not hold a
// connection, nor one that sends a byte now and then.
const (
	bodyGrace  = 30 * time.Second // before the rate counts, and between two parts
	bodyMinPer = 32 << 10         // bytes a second, at least, on average after the grace
)

// pacedBody reads the body of a request with a deadline that moves on with what
// has come, and words what is wrong with the way it came.
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
		err = &fault.Error{Code: fault.InvalidRequest, Cause: err, Message: "The request body came too slowly: send 32 KiB a second at least."}
	default:
		err = &fault.Error{Code: fault.InvalidRequest, Cause: err, Message: "The request body did not arrive whole, or its chunks are malformed."}
	}
	return n, err
}

// deadline is when the next part must have come.
func (b *pacedBody) deadline(now time.Time) time.Time {
	average := b.start.Add(bodyGrace + time.Duration(b.read)*time.Second/bodyMinPer)
	if stalled := now.Add(bodyGrace); stalled.Before(average) {
		return stalled
	}
	return average
}

// end takes the deadline off: once the body is there, it would cut off the call itself.
func (b *pacedBody) end() { _ = b.line.SetReadDeadline(time.Time{}) }
