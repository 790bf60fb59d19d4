package store_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"relaypdf/store/storetest"
)

// cutter stands between the store and PostgreSQL, and cuts a connection at a
// chosen exchange: before the server gets the request, or after it has carried
// it out and before the client gets the answer.
type cutter struct {
	network, server string

	mu     sync.Mutex
	left   int  // exchanges until the cut; 0 is no cut
	answer bool // cut the answer, not the request
	cuts   int
}

// behindCutter returns the database as it is reached through a cutter.
func behindCutter(t *testing.T, db storetest.DB) (storetest.DB, *cutter) {
	t.Helper()
	cfg, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(int(cfg.Port))
	c := &cutter{network: "tcp", server: net.JoinHostPort(cfg.Host, port)}
	if filepath.IsAbs(cfg.Host) {
		c.network, c.server = "unix", filepath.Join(cfg.Host, ".s.PGSQL."+port)
	}
	dir, err := os.MkdirTemp("", "relaypdf-cut-") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
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
			go c.serve(client)
		}
	}()
	u, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.RawQuery = "", url.Values{"host": {dir}, "port": {"5432"}}.Encode()
	db.URL = u.String()
	return db, c
}

// at arms the cutter for the nth exchange from now on.
func (c *cutter) at(n int, answer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.answer, c.cuts = n, answer, 0
}

// disarm reports whether the cutter has cut.
func (c *cutter) disarm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = 0
	return c.cuts > 0
}

// due counts an exchange, and reports whether its request or its answer is to be
// cut.
func (c *cutter) due() (request, answer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return false, false
	}
	if c.left--; c.left > 0 {
		return false, false
	}
	c.cuts++
	return !c.answer, c.answer
}

// serve passes on what the client and the server say to each other, message by
// message.
func (c *cutter) serve(client net.Conn) {
	server, err := net.Dial(c.network, c.server)
	if err != nil {
		_ = client.Close()
		return
	}
	cut := func() { _ = client.Close(); _ = server.Close() }
	defer cut()
	var mu sync.Mutex
	swallow := false
	go func() {
		defer cut()
		for {
			message, err := readMessage(server, true)
			if err != nil {
				return
			}
			mu.Lock()
			drop := swallow
			mu.Unlock()
			if drop && message[0] == 'Z' { // ready for the next: all is done
				return
			}
			if !drop {
				if _, err := client.Write(message); err != nil {
					return
				}
			}
		}
	}()
	for typed := false; ; typed = true {
		message, err := readMessage(client, typed)
		if err != nil {
			return
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
