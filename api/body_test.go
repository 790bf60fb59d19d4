package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestBodiesThatAreCutOff sends bodies that HTTP cannot read. They are the client's
// fault, and cost nothing.
func TestBodiesThatAreCutOff(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	server := httptest.NewServer(s.Handler)
	t.Cleanup(server.Close)
	before, _ := s.Balance(t)
	for name, body := range map[string]string{
		"no chunk size":      "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
		"chunk without end":  "Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n",
		"huge chunk":         "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n",
		"chunks cut off":     "Transfer-Encoding: chunked\r\n\r\n40\r\n{\"text\":\"a",
		"length cut off":     "Content-Length: 100\r\n\r\n{\"text\":\"a",
		"cut off in a file":  "Content-Length: 100\r\n\r\n{\"file\":\"QUJD",
		"whole, not all":     "Content-Length: 100\r\n\r\n{\"text\":\"a\"}",
		"cut off in nothing": "Content-Length: 100\r\n\r\n",
	} {
		for _, target := range []string{"POST " + echo, "PATCH /v1/billing/limits", "POST /v1/files"} {
			c, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s", target, s.Secret, body)
			_ = c.(*net.TCPConn).CloseWrite()
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Minute))
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil && answer.StatusCode != http.StatusBadRequest {
				t.Errorf("%s, %s: status %d, want 400", target, name, answer.StatusCode)
			}
			if err == nil {
				_ = answer.Body.Close()
			}
			_ = c.Close()
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("bodies that did not arrive cost %d and hold %d", before-after, held)
	}
}
