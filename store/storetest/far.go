package storetest

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// FarPostgres returns an empty PostgreSQL database that is a round trip away.
func FarPostgres(t testing.TB, rtt time.Duration) DB {
	t.Helper()
	db := Postgres(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	far, err := NewFar(ctx, db.URL, rtt)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	})
	db.URL = far.URL
	return db
}

// Far is a proxy before a database that is far away: what is sent to it arrives
// half a round trip later, in either direction.
type Far struct {
	URL string // of the database by way of the proxy

	listener net.Listener
	conns    sync.WaitGroup
}

// NewFar starts a proxy before a database, until ctx ends or it is closed.
func NewFar(ctx context.Context, database string, rtt time.Duration) (*Far, error) {
	address, err := url.Parse(database)
	if err != nil {
		return nil, err
	}
	to := [2]string{"tcp", address.Host}
	query := address.Query()
	if host := query.Get("host"); strings.HasPrefix(host, "/") {
		to = [2]string{"unix", host + "/.s.PGSQL." + cmp.Or(query.Get("port"), "5432")}
	}
	var listening net.ListenConfig
	f := &Far{}
	if f.listener, err = listening.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	query.Del("host")
	query.Del("port")
	address.Host, address.RawQuery = f.listener.Addr().String(), query.Encode()
	f.URL = address.String()
	f.conns.Go(func() {
		for {
			near, err := f.listener.Accept()
			if err != nil {
				return
			}
			f.conns.Go(func() { carry(ctx, near, to, rtt/2) })
		}
	})
	return f, nil
}

// Close ends the proxy, when the connections through it have been closed.
func (f *Far) Close() error {
	err := f.listener.Close()
	f.conns.Wait() // The store behind it has closed its connections.
	return err
}

// carry connects near with an address until either side closes.
func carry(ctx context.Context, near net.Conn, to [2]string, delay time.Duration) {
	var dialer net.Dialer
	there, err := dialer.DialContext(ctx, to[0], to[1])
	if err != nil {
		_ = near.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { late(there, near, delay) })
	both.Go(func() { late(near, there, delay) })
	both.Wait()
}

// late copies with a delay, and ends both sides when there is no more.
func late(to, from net.Conn, delay time.Duration) {
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
				parts <- part{data[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range parts {
		<-time.After(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	for range parts { // Its reader ends with the connection.
	}
}
