package middleware

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestTwoLengths: a request with both lengths is refused, and its connection is closed. Other requests are not.
func TestTwoLengths(t *testing.T) {
	t.Parallel()
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler := New(Config{
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "read %d", len(body))
		}),
		Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadRequest)
		},
		MaxDiscard: 1 << 20, Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: handler, ConnContext: WithConn}
	go func() { _ = server.Serve(Listen(inner, 100)) }()
	t.Cleanup(func() { _ = server.Close() })

	const chunks = "5\r\nhello\r\n0\r\n\r\n"
	request := func(fields, body string) string { return "POST /v1/x HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + body }
	plain := request("Content-Length: 5\r\n", "hello")
	chunked := request("Transfer-Encoding: chunked\r\n", chunks)
	old := func(sent string) string {
		return strings.Replace(sent, "HTTP/1.1\r\n", "HTTP/1.0\r\nConnection: keep-alive\r\n", 1)
	}
	for name, c := range map[string]struct {
		sent   []string // one after the other's response
		status int      // of the last response
		closed bool
	}{
		"a length":                        {[]string{plain}, 200, false},
		"chunks":                          {[]string{chunked}, 200, false},
		"requests one after the other":    {[]string{plain, chunked, chunked, plain, chunked}, 200, false},
		"both":                            {[]string{request("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks)}, 400, true},
		"both, in the other order":        {[]string{request("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", chunks)}, 400, true},
		"both, in other letters":          {[]string{request("TRANSFER-ENCODING: chunked\r\ncontent-length: 0\r\n", chunks)}, 400, true},
		"both, with line feeds only":      {[]string{strings.ReplaceAll(request("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", ""), "\r\n", "\n") + chunks}, 400, true},
		"both, in a later request":        {[]string{chunked, plain, request("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks)}, 400, true},
		"both, after a large body":        {[]string{request("Content-Length: 300000\r\n", strings.Repeat("x", 300_000)), request("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks)}, 400, true},
		"a length in HTTP/1.0":            {[]string{old(plain)}, 200, false},
		"chunks in HTTP/1.0":              {[]string{old(chunked)}, 400, true},
		"both, in HTTP/1.0":               {[]string{old(request("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks))}, 400, true},
		"another coding in HTTP/1.0":      {[]string{old(request("Content-Length: 5\r\nTransfer-Encoding: gzip\r\n", "hello"))}, 400, true},
		"a later request of HTTP/1.0":     {[]string{old(plain), old(chunked)}, 400, true},
		"HTTP/1.0 before the response":    {[]string{old(plain) + old(plain)}, 200, true},
		"a length in the body":            {[]string{request("Transfer-Encoding: chunked\r\n", "15\r\n\r\nContent-Length: 5\r\n\r\n0\r\n\r\n")}, 200, false},
		"chunks sent before the response": {[]string{plain + chunked}, 200, true},
	} {
		line := dial(t, inner.Addr().String())
		read := bufio.NewReader(line)
		var last *http.Response
		for _, sent := range c.sent {
			if _, err := io.WriteString(line, sent); err != nil {
				t.Fatal(err)
			}
			for range strings.Count(sent, "POST ") {
				if last, err = http.ReadResponse(read, nil); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if _, err := io.Copy(io.Discard, last.Body); err != nil {
					t.Fatal(err)
				}
			}
		}
		if last.StatusCode != c.status || last.Close != c.closed {
			t.Errorf("%s: status %d, closed %v", name, last.StatusCode, last.Close)
		}
	}
}
