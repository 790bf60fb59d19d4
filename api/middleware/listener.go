package middleware

import (
	"net"
	"sync"
	"time"
)

const (
	// writePatience is the maximum time that a client may take to read the next part of a response. A slow client
	// gets the whole response; the connection of a client that does not read is closed.
	writePatience = 30 * time.Second
	// writePart is the minimum data that a client must accept in that time, in bytes.
	writePart = 64 << 10
)

// Listen returns a listener that keeps at most most connections at once, and closes those that do not read their
// responses. Further ones wait to be accepted.
func Listen(l net.Listener, maximum int) net.Listener {
	return &listener{Listener: l, places: make(chan struct{}, maximum), done: make(chan struct{}), writeTimeout: writePatience}
}

type listener struct {
	net.Listener

	places       chan struct{}
	done         chan struct{}
	once         sync.Once
	writeTimeout time.Duration
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}

	inner, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &conn{Conn: inner, writeTimeout: l.writeTimeout, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// conn gives every written part its own deadline, and keeps the header of its request.
type conn struct {
	net.Conn

	mu   sync.Mutex // of head: net/http waits for the client to leave while a handler runs
	head head

	writeTimeout time.Duration
	leave        func()
}

func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for {
		part := p[written:min(len(p), written+writePart)]
		if err := c.SetWriteDeadline(time.Now().Add(c.writeTimeout)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(part)
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// CloseWrite lets the server end a response before it lets go of the connection, so that a client which still sends
// can read it.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
