package middleware

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// refuser starts a server that refuses all requests without reading them.
func refuser(t *testing.T, maximum int64, timeout time.Duration) net.Conn {
	t.Helper()
	server := httptest.NewServer(discardRest(maximum, timeout)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "0") // or the response would end with the connection
		w.WriteHeader(http.StatusTeapot)
	})))
	t.Cleanup(server.Close)
	return dial(t, server.Listener.Addr().String())
}

// answerOf reads the one response that a connection has.
func answerOf(t *testing.T, from *bufio.Reader) *http.Response {
	t.Helper()
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusTeapot {
		t.Errorf("got status %d", answer.StatusCode)
	}
	return answer
}

func TestRestIsDiscarded(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	for name, body := range map[string]string{
		"with a length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size)),
		"in chunks":     "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("100000\r\n"+strings.Repeat("x", 1<<20)+"\r\n", size>>20) + "0\r\n\r\n",
	} {
		c := refuser(t, size, 5*time.Minute)
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\n"+body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !answerOf(t, bufio.NewReader(c)).Close {
			t.Errorf("%s: the answer does not say that the connection ends", name)
		}
	}
}

// TestAnswerComesBeforeTheRest reads the response while the body has not been sent.
func TestAnswerComesBeforeTheRest(t *testing.T) {
	t.Parallel()
	c := refuser(t, 1<<30, 5*time.Minute)
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 1<<20)
	answerOf(t, bufio.NewReader(c))
}

// TestDiscardIsBounded sends more than is read, and sends nothing.
func TestDiscardIsBounded(t *testing.T) {
	t.Parallel()
	c := refuser(t, 1<<20, 5*time.Minute)
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", int64(1)<<40)
	part := make([]byte, 1<<20)
	var err error
	for sent := 0; err == nil; sent += len(part) {
		if sent > 256<<20 {
			t.Fatal("256 MiB were read of a request that was refused, want 1 MiB")
		}
		_, err = c.Write(part)
	}
	stalled := refuser(t, 1<<30, 100*time.Millisecond)
	fmt.Fprintf(stalled, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 1<<20)
	from := bufio.NewReader(stalled)
	answerOf(t, from)
	if _, err := from.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("a connection that sends nothing more ends with %v", err)
	}
}

// TestShortRestKeepsTheConnection refuses two small requests on one connection.
func TestShortRestKeepsTheConnection(t *testing.T) {
	t.Parallel()
	c := refuser(t, 1<<20, time.Minute)
	from := bufio.NewReader(c)
	for range 2 {
		fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
		if answer := answerOf(t, from); answer.Close {
			t.Error("the connection ends with a small request")
		}
	}
}

// TestClientsThatWaitAreNotAsked refuses a request whose body would come after 100
// Continue only.
func TestClientsThatWaitAreNotAsked(t *testing.T) {
	t.Parallel()
	c := refuser(t, 1<<30, time.Minute)
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", 1<<20)
	from := bufio.NewReader(c)
	answerOf(t, from)
	if _, err := from.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the answer comes %v, want the end", err)
	}
}

// TestBodiesAreReadOnce checks that a handler reads the whole body, and that nothing is discarded then.
func TestBodiesAreReadOnce(t *testing.T) {
	t.Parallel()
	var read atomic.Int64
	server := httptest.NewServer(discardRest(1<<30, time.Minute)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		read.Add(n)
		w.WriteHeader(http.StatusTeapot)
	})))
	t.Cleanup(server.Close)
	c := dial(t, server.Listener.Addr().String())
	from := bufio.NewReader(c)
	for range 2 {
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", 1<<20, strings.Repeat("x", 1<<20))
		if answer := answerOf(t, from); answer.Close {
			t.Error("the connection ends with a request that was read")
		}
	}
	if got := read.Load(); got != 2<<20 {
		t.Errorf("%d bytes were read, want 2 MiB", got)
	}
}
