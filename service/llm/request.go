package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// endpoint is the one URL of a provider that answers conversations.
type endpoint struct {
	client *http.Client
	url    string
	header http.Header
}

// newEndpoint returns the endpoint at a path below baseURL, or below the provider's own URL.
func newEndpoint(baseURL, own, path string, header http.Header) endpoint {
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "relaypdf")
	return endpoint{client: newClient(), url: strings.TrimRight(cmp.Or(baseURL, own), "/") + path, header: header}
}

// ask posts a request and decodes the JSON response.
func (e endpoint) ask(ctx context.Context, request, response any) error {
	body, err := e.post(ctx, request)
	if err != nil {
		return err
	}
	defer closeBody(body)
	return json.NewDecoder(body).Decode(response)
}

// stream posts a request and hands on the data of each server-sent event. It returns
// the first error of take, or io.EOF at the end of the stream.
func (e endpoint) stream(ctx context.Context, request any, take func(data []byte) error) error {
	body, err := e.post(ctx, request)
	if err != nil {
		return err
	}
	defer closeBody(body)

	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxBody)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if bytes.Equal(data, []byte("[DONE]")) {
			return io.EOF
		}
		if err := take(data); err != nil {
			return err
		}
	}
	return cmp.Or(lines.Err(), io.EOF)
}

func closeBody(body io.Closer) { _ = body.Close() } // the body has been read, or the request has failed

// post sends a request until the status is 200, and again after a transient error, up to the number of retries.
func (e endpoint) post(ctx context.Context, request any) (io.ReadCloser, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}

	for tried := 0; ; tried++ {
		body, delay, err := e.postOnce(ctx, text)
		if err == nil {
			return body, nil
		}
		if delay < 0 || tried == retries || ctx.Err() != nil {
			return nil, err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// never is the delay of a request that fails the same way when it is sent again.
const never = -1

// postOnce sends a request. With an error it returns the delay before the next try.
func (e endpoint) postOnce(ctx context.Context, text []byte) (io.ReadCloser, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(text))
	if err != nil {
		return nil, never, err
	}
	request.Header = e.header
	response, err := e.client.Do(request)
	if err != nil {
		return nil, minRetryDelay, err
	}

	if response.StatusCode == http.StatusOK {
		return response.Body, 0, nil
	}
	defer closeBody(response.Body)
	return nil, retryDelay(response), refusal(response)
}

// retryDelay returns the delay before a refused request is sent again.
func retryDelay(response *http.Response) time.Duration {
	switch code := response.StatusCode; {
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
	default:
		return never
	}

	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil {
		return minRetryDelay
	}
	return min(max(time.Duration(seconds)*time.Second, minRetryDelay), maxRetryDelay)
}

// refusal is the error of a response that is not 200, with the provider's own words.
func refusal(response *http.Response) error {
	var said struct {
		Error providerError `json:"error"`
	}
	const maxText = 64 << 10
	_ = json.NewDecoder(io.LimitReader(response.Body, maxText)).Decode(&said) // the status is enough
	return fmt.Errorf("%s: %w", response.Status, said.Error)
}

// providerError is the error object of a provider.
type providerError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (e providerError) Error() string {
	return cmp.Or(strings.Trim(e.Type+": "+e.Message, ": "), "no message")
}

// asError returns the error of an event that has one.
func (e *providerError) asError() error {
	if e == nil {
		return nil
	}
	return *e
}
