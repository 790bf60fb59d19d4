package middleware

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// discardTime bounds how long the rest of one request is read.
	discardTime = 10 * time.Second
	// maxDiscards bounds how many are read at once; others are closed with their response.
	maxDiscards = 64
	// smallRest is the size of the rest of a body that net/http reads by itself before it responds, to keep the
	// connection for the next request.
	smallRest = 256 << 10
)

// discardRest reads the unread rest of a request's body after the response, up to a number of bytes and a time.
// Most clients read no response before they have sent everything, and lose it if the connection is closed earlier.
// It must wrap every handler that may respond.
func discardRest(maximum int64, timeout time.Duration) func(http.Handler) http.Handler {
	places := make(chan struct{}, maxDiscards)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength == 0 || r.ProtoMajor != 1 { // HTTP/2 refuses one stream and keeps the connection
				next.ServeHTTP(w, r)
				return
			}

			body := &countedBody{ReadCloser: r.Body, left: r.ContentLength, waits: r.Header.Get("Expect") != ""}
			answer := &earlyAnswer{ResponseWriter: w, body: body}
			seen := *r
			seen.Body = body
			next.ServeHTTP(answer, &seen)

			if !answer.early {
				return
			}
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			default:
				return
			}

			line := http.NewResponseController(w)
			// The deadline stays: closing the body must not wait for more of it either.
			if line.Flush() == nil && line.SetReadDeadline(time.Now().Add(timeout)) == nil {
				_, _ = io.CopyN(io.Discard, body.ReadCloser, maximum)
			}
		})
	}
}

// countedBody counts the unread bytes of a request body.
type countedBody struct {
	io.ReadCloser

	left  int64 // negative if the request has no length
	waits bool  // for 100 Continue, which the first read sends
	ended bool
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.waits = false
	if b.left > 0 {
		b.left -= int64(n)
	}
	b.ended = b.ended || b.left == 0 || errors.Is(err, io.EOF)
	return n, err
}

// long reports whether the rest is more than net/http reads by itself. A client that
// waits to be asked for its body sends none.
func (b *countedBody) long() bool {
	return !b.ended && !b.waits && (b.left < 0 || b.left >= smallRest)
}

// earlyAnswer sends a response before its request has been read.
type earlyAnswer struct {
	http.ResponseWriter

	body    *countedBody
	decided bool
	early   bool
}

// Unwrap lets http.ResponseController reach the connection.
func (a *earlyAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *earlyAnswer) Write(p []byte) (int, error) {
	a.decide()
	return a.ResponseWriter.Write(p)
}

// WriteHeader sends the status.
func (a *earlyAnswer) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.decide()
	}
	a.ResponseWriter.WriteHeader(status)
}

// decide makes net/http respond at once if much of the body is unread, and close the connection after the response.
func (a *earlyAnswer) decide() {
	if a.decided {
		return
	}
	a.decided = true
	if !a.body.long() || http.NewResponseController(a.ResponseWriter).EnableFullDuplex() != nil {
		return
	}
	a.early = true
	a.Header().Set("Connection", "close")
}
