package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Cutter is a proxy between the store and PostgreSQL that cuts a connection at a chosen exchange: before the server
// gets the request, or after it has executed it and before the client gets the response.
type Cutter struct {
	network, server string

	mu     sync.Mutex
	left   int  // exchanges until the cut; 0 means no cut
	answer bool // cut the answer, not the request
	often  int  // cut one of this many exchanges, at random; 0 means none
	cuts   int
	// listener is the client of the latest connection that listens; nil is none.
	listener net.Conn
}

// BehindCutter returns the database behind a cutter.
func BehindCutter(t testing.TB, db DB) (DB, *Cutter) {
	t.Helper()
	cfg, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}

	port := strconv.Itoa(int(cfg.Port))
	c := &Cutter{network: "tcp", server: net.JoinHostPort(cfg.Host, port)}
	if filepath.IsAbs(cfg.Host) {
		c.network = "unix"
		c.server = filepath.Join(cfg.Host, ".s.PGSQL."+port)
	}

	dir, err := os.MkdirTemp("", "relaypdf-cut-")
	if err != nil {
		t.Fatal(err)
	}

	ctx := context.WithoutCancel(t.Context())
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close(); _ = os.RemoveAll(dir) })

	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.serve(ctx, client)
		}
	}()

	u, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = ""
	u.RawQuery = url.Values{"host": {dir}, "port": {"5432"}}.Encode()
	db.URL = u.String()
	return db, c
}

// At arms the cutter for the nth exchange from now on.
func (c *Cutter) At(n int, answer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = n
	c.answer = answer
	c.cuts = 0
}

// Often makes the cutter cut one of a number of exchanges from now on, at random: the request or the response.
func (c *Cutter) Often(one int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.often = one
}

// Cuts returns how often the cutter has cut since it was armed.
func (c *Cutter) Cuts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// Disarm stops cutting, and reports whether the cutter has cut.
func (c *Cutter) Disarm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = 0
	c.often = 0
	return c.cuts > 0
}

// Inject sends bytes to the client of the latest connection that listens, as if the server had
// sent them, and reports whether there is one. It does so once for each connection.
func (c *Cutter) Inject(message []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener == nil {
		return false
	}
	_, err := c.listener.Write(message)
	c.listener = nil
	return err == nil
}

// listens notes a connection whose LISTEN statement was answered.
func (c *Cutter) listens(client net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener = client
}

// due counts an exchange, and reports whether its request or its answer is to be
// cut.
func (c *Cutter) due() (request, answer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.often > 0 && rand.IntN(c.often) == 0 {
		c.cuts++
		answer = rand.IntN(2) == 0
		return !answer, answer
	}

	if c.left == 0 {
		return false, false
	}
	if c.left--; c.left > 0 {
		return false, false
	}

	c.cuts++
	return !c.answer, c.answer
}

// serve forwards the messages of the client and the server one by one.
func (c *Cutter) serve(ctx context.Context, client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, c.network, c.server)
	if err != nil {
		_ = client.Close()
		return
	}
	cut := func() { _ = client.Close(); _ = server.Close() }
	defer cut()

	var mu sync.Mutex
	swallow := false
	listening := false
	go func() {
		defer cut()
		for {
			message, err := readMessage(server, true)
			if err != nil {
				return
			}
			mu.Lock()
			drop := swallow
			heard := listening
			mu.Unlock()

			if drop && message[0] == 'Z' { // ready for the next: all is done
				return
			}
			if !drop {
				if _, err := client.Write(message); err != nil {
					return
				}
				if message[0] == 'Z' && heard {
					c.listens(client)
				}
			}
		}
	}()

	for typed := false; ; typed = true {
		message, err := readMessage(client, typed)
		if err != nil {
			return
		}
		if typed && bytes.Contains(message, []byte("LISTEN ")) {
			mu.Lock()
			listening = true
			mu.Unlock()
		}

		if typed && (message[0] == 'S' || message[0] == 'Q') { // sync and query end a request
			request, answer := c.due()
			if request {
				return
			}
			mu.Lock()
			swallow = swallow || answer
			mu.Unlock()
		}

		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

// readMessage reads one message of the protocol; the first has no type.
func readMessage(r io.Reader, typed bool) ([]byte, error) {
	head := make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}

	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}

	message := make([]byte, len(head)-4+int(binary.BigEndian.Uint32(head[len(head)-4:])))
	copy(message, head)
	_, err := io.ReadFull(r, message[len(head):])
	return message, err
}
