package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	service "relaypdf/client"
)

// clientTimeout is above the longest render with its wait in the queue.
const clientTimeout = 2 * time.Minute

// client calls the service on kept connections, by the package for programs in Go.
type client struct {
	http *http.Client
	url  string
}

func newClient(url string) *client {
	transport := &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 512, DisableCompression: true}
	return &client{http: &http.Client{Transport: transport, Timeout: clientTimeout}, url: url}
}

// request is one call of an operation.
type request struct {
	path  string
	body  []byte
	magic []byte // how the result begins
	key   string // Idempotency-Key; empty sends none
}

// pdfRequest asks for a PDF with the default options.
func pdfRequest(html string) request {
	return request{path: "/v1/pdf", body: htmlBody(html), magic: pdfMagic}
}

// imageRequest asks for a PNG with the default options.
func imageRequest(html string) request {
	return request{path: "/v1/images", body: htmlBody(html), magic: []byte("\x89PNG")}
}

func htmlBody(html string) []byte {
	body, _ := json.Marshal(map[string]string{"html": html}) //nolint:errchkjson // Strings always marshal.
	return body
}

// answer is what a call came to.
type answer struct {
	status     int
	retryAfter int    // seconds; 0 where the header is missing or no positive integer
	text       string // of what is no 200
	result     []byte
}

// post makes a call and reads the whole result. Its error means that there was
// no answer, or that a 200 was not what was asked for.
func (c *client) post(ctx context.Context, key string, r request) (answer, error) {
	header := http.Header{}
	if r.key != "" {
		header.Set("Idempotency-Key", r.key)
	}
	caller := service.Client{BaseURL: c.url, Key: key, HTTP: c.http}
	res, err := caller.Request(ctx, http.MethodPost, r.path, header, r.body)
	var refused *service.Error
	if errors.As(err, &refused) {
		return answer{status: refused.Received, retryAfter: refused.RetryAfter, text: string(refused.Code) + ": " + refused.Error()}, nil
	}
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: res.StatusCode}
	if a.status != http.StatusOK {
		a.text = string(data)
		return a, nil
	}
	if !bytes.HasPrefix(data, r.magic) {
		return a, fmt.Errorf("%s: the result is not what was asked for: %.40q", r.path, data)
	}
	a.result = data
	return a, nil
}

// make makes a call that must succeed.
func (c *client) make(ctx context.Context, key string, r request) error {
	a, err := c.post(ctx, key, r)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", r.path, a.status, a.text)
	}
	return err
}
