package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// caller repeats one request over one connection, in the goroutine that measures.
// The client of net/http hands each call to two goroutines of the connection and
// back, which takes as long as much of what it is to measure.
type caller struct {
	conn    net.Conn
	reader  *bufio.Reader
	request []byte
	magic   []byte
	result  bytes.Buffer
}

// newCaller connects to the server at base.
func newCaller(ctx context.Context, base, key string, r request) (*caller, error) {
	to, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", to.Host)
	if err != nil {
		return nil, err
	}
	c := &caller{conn: conn, reader: bufio.NewReaderSize(conn, 2*resultSize), magic: r.magic}
	c.request = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		r.path, to.Host, key, len(r.body), r.body)
	return c, nil
}

// call makes the call, which must succeed, and reads its whole result.
func (c *caller) call(context.Context, int) error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	res, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	c.result.Reset()
	if _, err := io.Copy(&c.result, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !bytes.HasPrefix(c.result.Bytes(), c.magic) {
		return fmt.Errorf("status %d: %.200s", res.StatusCode, c.result.Bytes())
	}
	return nil
}
