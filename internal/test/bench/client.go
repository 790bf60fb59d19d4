package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// clientTimeout is above the longest render with its wait in the queue.
const clientTimeout = 2 * time.Minute

// pdfMagic is the beginning of every PDF.
var pdfMagic = []byte("%PDF-")

// client calls the service on persistent connections.
type client struct {
	http *http.Client
	url  string
}

func newClient(url string) *client {
	transport := &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 512, DisableCompression: true}
	return &client{http: &http.Client{Transport: transport, Timeout: clientTimeout}, url: url}
}

// request is one call.
type request struct {
	method, path string // a POST without a method
	body         []byte
	magic        []byte // how the result begins
}

// newRequest is a call with any input.
func newRequest(path string, input any, magic []byte) request {
	body, _ := json.Marshal(input) //nolint:errchkjson // Texts, numbers and bytes always marshal.
	return request{path: path, body: body, magic: magic}
}

// pdfRequest asks for a PDF with the default options.
func pdfRequest(html string) request {
	return newRequest("/v1/pdf", map[string]string{"html": html}, pdfMagic)
}

var errBusy = errors.New("status 429")

// do makes a call, which must succeed, and returns its whole result.
func (c *client) do(ctx context.Context, key string, r request) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, cmp.Or(r.method, http.MethodPost), c.url+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := c.http.Do(q)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	result, err := io.ReadAll(res.Body)
	if res.StatusCode == http.StatusTooManyRequests {
		return nil, fmt.Errorf("%s: %w: %.300q", r.path, errBusy, result)
	}
	if err == nil && (res.StatusCode >= http.StatusMultipleChoices || !bytes.HasPrefix(result, r.magic)) {
		err = fmt.Errorf("%s: status %d: %.300q", r.path, res.StatusCode, result)
	}
	return result, err
}

// call is work that makes one call.
func (c *client) call(key string, r request) work {
	return func(ctx context.Context, _ int) error {
		_, err := c.do(ctx, key, r)
		return err
	}
}
