package middleware

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serveOn serves a large answer on a listener with little patience, and returns its
// address.
func serveOn(t *testing.T, maximum int, patience time.Duration, ended chan<- error) string {
	t.Helper()
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(inner, maximum).(*listener)
	l.writeTimeout = patience
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.Copy(w, strings.NewReader(strings.Repeat("x", 16<<20)))
		if ended != nil {
			ended <- err
		}
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return inner.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestReaderThatDoesNotReadIsDisconnected pipelines requests and reads no response.
func TestReaderThatDoesNotReadIsDisconnected(t *testing.T) {
	ended := make(chan error, 1)
	address := serveOn(t, 10, 200*time.Millisecond, ended)
	c := dial(t, address)
	if _, err := io.WriteString(c, strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 50)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("an answer of 16 MiB went out to a client that does not read")
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("the connection of a client that does not read stays")
	}
}

// TestSlowReaderGetsAll reads with pauses that together are longer than the patience.
// A machine that stalls makes one of them longer, too: then the patience is greater.
func TestSlowReaderGetsAll(t *testing.T) {
	for patience := 2 * time.Second; ; patience *= 4 {
		got := readSlowly(t, patience)
		if got >= 16<<20 {
			return
		}
		if patience > 30*time.Second {
			t.Fatalf("a slow reader got %d bytes with a patience of %v, want 16 MiB", got, patience)
		}
	}
}

// readSlowly reads the response with a pause of a tenth of the patience after each of its 16 MiB, and returns how
// much came.
func readSlowly(t *testing.T, patience time.Duration) (got int) {
	t.Helper()
	c := dial(t, serveOn(t, 10, patience, nil))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	for buffer := make([]byte, 1<<20); ; <-time.After(patience / 10) {
		n, err := io.ReadFull(c, buffer)
		got += n
		if err != nil {
			return got
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	address := serveOn(t, 2, time.Minute, nil)
	status := func(c net.Conn) error {
		fmt.Fprint(c, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
		_, err := io.ReadFull(c, make([]byte, 12))
		return err
	}
	first, second, third := dial(t, address), dial(t, address), dial(t, address)
	for _, c := range []net.Conn{first, second} {
		if err := status(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := third.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := status(third); err == nil {
		t.Error("a third connection is served beside two")
	}
	_ = first.Close()
	if err := third.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(third, make([]byte, 12)); err != nil {
		t.Errorf("the third is not served after one has ended: %v", err)
	}
}
