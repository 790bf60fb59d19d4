package storetest

import (
	"context"
	"net"
	"sync"
	"time"
)

// Link is a way to a server that may be long, and that can be cut off and stalled
// (ADR 34).
type Link struct {
	Address string // host:port of its near end

	listener net.Listener
	to       [2]string // network and address of the server
	running  sync.WaitGroup

	mu    sync.Mutex
	delay time.Duration // of data in either direction
	cut   bool
	clear chan struct{}     // closed: nothing stalls
	ended chan struct{}     // closed: the link is
	conns map[net.Conn]bool // whether it is lost
}

// NewLink opens a way to a server, until ctx ends or it is closed.
func NewLink(ctx context.Context, network, address string, delay time.Duration) (*Link, error) {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}

	l := &Link{
		Address: listener.Addr().String(), listener: listener, to: [2]string{network, address}, delay: delay,
		clear: make(chan struct{}), ended: make(chan struct{}), conns: map[net.Conn]bool{},
	}

	close(l.clear)
	l.running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			l.running.Go(func() { l.carry(ctx, near) })
		}
	})

	return l, nil
}

// Slow sets the delay in either direction.
func (l *Link) Slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// Cut breaks every connection and refuses new ones, or accepts them again.
func (l *Link) Cut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut {
		for conn := range l.conns {
			_ = conn.Close()
		}
	}
}

// Stall holds back all data in transit, or releases it.
func (l *Link) Stall(stall bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	select {
	case <-l.clear:
		if stall {
			l.clear = make(chan struct{})
		}
	default:
		if !stall {
			close(l.clear)
		}
	}
}

// Lose permanently drops everything that is sent on the present connections, in either direction, without closing
// them, as a firewall does that has forgotten them. New ones work.
func (l *Link) Lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		l.conns[conn] = true
	}
}

// lost reports whether a connection drops its data.
func (l *Link) lost(near net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns[near]
}

// Close ends the link, when the connections through it have been closed.
func (l *Link) Close() error {
	err := l.listener.Close()
	close(l.ended)
	l.running.Wait()
	return err
}

// track records a connection, unless the link is cut.
func (l *Link) track(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = conn.Close()
		return false
	}
	l.conns[conn] = false
	return true
}

// carry connects near with the server until either side closes.
func (l *Link) carry(ctx context.Context, near net.Conn) {
	if !l.track(near) {
		return
	}

	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, near)
	}()

	var dialer net.Dialer
	there, err := dialer.DialContext(ctx, l.to[0], l.to[1])
	if err != nil {
		_ = near.Close()
		return
	}

	var both sync.WaitGroup
	both.Go(func() { l.relay(there, near, near) })
	both.Go(func() { l.relay(near, there, near) })
	both.Wait()
}

// relay copies with the delay, and ends both sides at the end of the input, unless the connection of near is lost.
func (l *Link) relay(to, from, near net.Conn) {
	type part struct {
		data []byte
		due  time.Time
	}

	parts := make(chan part, 1<<10)
	go func() {
		defer close(parts)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				l.mu.Lock()
				due := time.Now().Add(l.delay)
				l.mu.Unlock()
				parts <- part{data[:n], due}
			}
			if err != nil {
				return
			}
		}
	}()

	for p := range parts {
		<-time.After(time.Until(p.due))
		l.mu.Lock()
		passable := l.clear
		l.mu.Unlock()
		<-passable

		if l.lost(near) {
			continue
		}
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}

	if l.lost(near) {
		<-l.ended
	}
	_ = to.Close()
	_ = from.Close()
	for range parts { // Its reader ends with the connection.
	}
}
