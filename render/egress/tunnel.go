package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// tunnel connects the browser with the host of a CONNECT request and copies
// bytes both ways until both sides are done, nothing moves for the idle time,
// or the proxy closes.
func (x *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	server, err := x.policy.DialContext(r.Context(), "tcp", r.URL.Host)
	if err != nil {
		fail(w, err)
		return
	}
	defer server.Close()

	browser, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "CONNECT needs HTTP/1.1", http.StatusBadRequest)
		return
	}
	defer browser.Close()

	// The request's context outlives the hijack and ends when the proxy closes.
	stop := context.AfterFunc(r.Context(), func() {
		_ = errors.Join(browser.Close(), server.Close()) // they are abandoned
	})
	defer stop()

	touch := func() {
		deadline := time.Now().Add(x.limits.idle)
		_ = browser.SetDeadline(deadline)
		_ = server.SetDeadline(deadline)
	}
	touch()
	if _, err := io.WriteString(browser, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if err := sendBuffered(server, buffered.Reader); err != nil {
		return
	}

	var both sync.WaitGroup
	both.Go(func() { x.pipe(server, &touchedConn{browser, touch}) })
	both.Go(func() { x.pipe(browser, &touchedConn{server, touch}) })
	both.Wait()
}

// sendBuffered forwards the bytes that the browser sent after its CONNECT without waiting for the response.
func sendBuffered(server net.Conn, from *bufio.Reader) error {
	early, err := from.Peek(from.Buffered())
	if err != nil || len(early) == 0 {
		return err
	}
	_, err = server.Write(early)
	return err
}

// pipe copies from src to dst until src ends, and closes dst for writing. After an error it closes both, because
// the other direction has no receiver any more.
func (x *Proxy) pipe(dst net.Conn, src *touchedConn) {
	buf := x.buffers.Get()
	defer x.buffers.Put(buf)

	// Hiding dst's ReadFrom keeps io.CopyBuffer from splicing inside the kernel, where a deadline could not be
	// moved while bytes are copied.
	_, err := io.CopyBuffer(struct{ io.Writer }{dst}, src, buf)
	half, ok := dst.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		_ = errors.Join(dst.Close(), src.Close()) // the other direction ends by it
	}
}

// touchedConn calls touch whenever bytes moved, to put off a deadline.
type touchedConn struct {
	net.Conn
	touch func()
}

func (c *touchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.touch()
	}
	return n, err
}

func (c *touchedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.touch()
	}
	return n, err
}

// bufferPool lends the buffers that bodies and tunnels are copied through. It
// is an httputil.BufferPool.
type bufferPool struct{ pool sync.Pool }

func newBufferPool() *bufferPool {
	return &bufferPool{sync.Pool{New: func() any { return new([copyBuffer]byte) }}}
}

func (b *bufferPool) Get() []byte {
	if buffer, ok := b.pool.Get().(*[copyBuffer]byte); ok {
		return buffer[:]
	}
	return make([]byte, copyBuffer)
}

func (b *bufferPool) Put(p []byte) { b.pool.Put((*[copyBuffer]byte)(p)) }
