package middleware

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"

	"github.com/relaypdf/relaypdf/api/wire"
)

// maxHead bounds the bytes of a request's header that a connection keeps. A longer one counts as unknown.
const maxHead = 64 << 10

// head is the header of a connection's current request as it was received. net/http removes the Content-Length of a
// request that has a Transfer-Encoding too, so only the connection knows it.
type head struct {
	bytes []byte
	whole bool // also if it is too long
}

// keep adds received bytes, up to the empty line that ends the header.
func (h *head) keep(p []byte) {
	if h.whole || len(p) == 0 {
		return
	}

	h.bytes = append(h.bytes, p[:min(len(p), maxHead-len(h.bytes))]...)
	for _, mark := range []string{"\r\n\r\n", "\n\n"} {
		if end := bytes.Index(h.bytes, []byte(mark)); end >= 0 {
			h.bytes = h.bytes[:end]
			h.whole = true
		}
	}
	h.whole = h.whole || len(h.bytes) == maxHead
}

// has reports whether the header has a field. It is unknown if the header is not that of the request.
func (h *head) has(r *http.Request, name string) (found, known bool) {
	if !bytes.HasPrefix(h.bytes, []byte(r.Method+" "+r.RequestURI+" ")) {
		return false, false
	}

	for line := range bytes.Lines(h.bytes) {
		field, _, ok := bytes.Cut(line, []byte(":"))
		if ok && bytes.EqualFold(bytes.TrimSpace(field), []byte(name)) {
			return true, true
		}
	}
	return false, true
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head.keep(p[:n])
	return n, err
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// WithConn is the ConnContext of the server of a listener of Listen.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// nextHead lets the connection keep the header of its next request. It is outside of all handlers that read the body.
func nextHead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			defer func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.head = head{}
			}()
		}
		next.ServeHTTP(w, r)
	})
}

// refuseTwoLengths refuses a request that has both Transfer-Encoding and Content-Length, or Transfer-Encoding in
// HTTP/1.0, which net/http ignores: a proxy in front may have read the other one, and taken a part of the body for the
// next request. Its connection is closed, also if the header is unknown, as that of a request that was sent before the
// response to the one before (ADR 55).
func refuseTwoLengths(fail func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, ok := r.Context().Value(connKey{}).(*conn)
			old := !r.ProtoAtLeast(1, 1)
			if !ok || !old && !slices.Contains(r.TransferEncoding, "chunked") {
				next.ServeHTTP(w, r)
				return
			}

			field := "Content-Length"
			message := "The request has both Transfer-Encoding and Content-Length. Send one of them."
			if old {
				field = "Transfer-Encoding"
				message = "HTTP/1.0 has no Transfer-Encoding. Send Content-Length, or use HTTP/1.1."
			}
			c.mu.Lock()
			found, known := c.head.has(r, field)
			c.mu.Unlock()

			if found || !known {
				w.Header().Set("Connection", "close")
			}
			if found {
				fail(w, r, &wire.Error{Code: wire.InvalidRequest, Message: message})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
