package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
)

// exchange is a request of the API that is not a call of a paid operation.
type exchange struct {
	method, path string
	query        url.Values
	input        any // JSON, unless nil
	etag         string
}

func (e exchange) message() (message, error) {
	request := message{method: e.method, path: e.path}
	if e.input != nil {
		body, err := inputJSON(e.input)
		if err != nil {
			return message{}, err
		}
		request = jsonRequest(e.method, e.path, body)
	}

	if len(e.query) > 0 {
		request.path += "?" + e.query.Encode()
	}
	if e.etag != "" {
		request.header = http.Header{"If-Match": {e.etag}}
	}
	return request, nil
}

// invoke sends a request whose response is JSON.
func invoke[Answer any](ctx context.Context, c *Client, e exchange) (Answer, error) {
	request, err := e.message()
	if err != nil {
		var none Answer
		return none, err
	}
	return ask[Answer](ctx, c, request)
}

// download sends a request whose response is a file. The caller closes the Body of the result.
func download(ctx context.Context, c *Client, e exchange) (*Result, error) {
	request, err := e.message()
	if err != nil {
		return nil, err
	}
	response, err := c.send(ctx, request) //nolint:bodyclose // the result's Body, which the caller closes
	if err != nil {
		return nil, err
	}
	return resultOf(response), nil
}

// pathOf returns a path with arguments for its names in braces.
func pathOf(pattern string, arguments ...any) string {
	for _, argument := range arguments {
		begin := strings.Index(pattern, "{")
		end := strings.Index(pattern, "}")
		pattern = pattern[:begin] + url.PathEscape(fmt.Sprint(argument)) + pattern[end+1:]
	}
	return pattern
}

// queryOf returns the parameters of a query string, names and values in turn, without those that are not set.
func queryOf(pairs ...any) url.Values {
	query := url.Values{}
	for ; len(pairs) >= 2; pairs = pairs[2:] {
		if value := fmt.Sprint(pairs[1]); value != "" && value != "0" {
			query.Set(fmt.Sprint(pairs[0]), value)
		}
	}
	return query
}

// allEntries iterates over the entries of all pages, from a cursor on.
func allEntries[T any](cursor string, page func(cursor string) ([]T, *string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			entries, next, err := page(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}

			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			cursor = *next
		}
	}
}
