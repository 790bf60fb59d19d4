// Package client calls a relaypdf service over HTTP.
//
//	service := client.Client{BaseURL: "https://pdf.example.com", Key: os.Getenv("PDF_KEY")}
//	result, err := service.Do(ctx, "pdf.create", map[string]any{"html": "<h1>Invoice 42</h1>"}, client.CallOptions{})
//
// Operations have the names of the price list. The input of an operation is a map, a struct or raw JSON with the
// fields of the API documentation. If the service refuses a call, the error is an *Error with a Code.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Client calls a service over HTTP. It is safe for concurrent use once its fields are set. Refusals by the service
// are returned as *Error; any other error means that no response arrived. A call lasts as long as its context
// allows.
type Client struct {
	// BaseURL is the service's address, such as "http://localhost:8787".
	BaseURL string
	// Key is the API key; the public calls (Prices, Health, Download) need none.
	Key string
	// HTTP carries the requests; nil is a client with the defaults of net/http.
	HTTP *http.Client
	// UserAgent is sent along when it is not empty.
	UserAgent string
	// Retries is the maximum number of retries of a request. A request is sent again after rate_limited, if its
	// Retry-After is a minute at most. It is also sent again after a failure of the service or the network, if it
	// is a GET or carries an idempotency key.
	Retries int
	// Wait pauses before a retry; nil waits for d or until ctx ends.
	Wait func(ctx context.Context, d time.Duration) error
}

// CallOptions holds the options of a call besides the operation's input.
type CallOptions struct {
	// IdempotencyKey makes a retry safe; empty sends none.
	IdempotencyKey string
	// MaxCharge is the maximum price of the call in microdollars (1 USD is 1,000,000); nil means no limit.
	MaxCharge *int64
}

// Result is the result of an operation's call, or of a download.
type Result struct {
	// ID is the id of the result.
	ID string
	// Filename is a bare name, without a path; empty if the service sent none.
	Filename string
	// ContentType and Size (in bytes, -1 if unknown) describe Body.
	ContentType string
	Size        int64
	// Charged is the charge for the call in microdollars; zero for a replay or a download.
	Charged int64
	// Replayed marks the result of an earlier call with the same idempotency key.
	Replayed bool
	// RequestID is the ID to quote to the operator.
	RequestID string
	// File is set when the input asked for response "url"; Body is nil then.
	File *FileURL
	// Job is set when the input asked for response "async"; Body is nil then.
	Job *JobStatus
	// Body streams the result. The caller closes it.
	Body io.ReadCloser
}

// maxRetryWait is the longest Retry-After that a retry waits for, maxAnswer
// bounds a JSON answer in bytes, maxErrorText the text of an error.
const (
	maxRetryWait = time.Minute
	maxAnswer    = 16 << 20
	maxErrorText = 1 << 20
)

// Do calls an operation by its name, such as "pdf.create". input is marshaled to JSON; a json.RawMessage is sent
// unchanged.
func (c *Client) Do(ctx context.Context, operation string, input any, options CallOptions) (*Result, error) {
	body, err := inputJSON(input)
	if err != nil {
		return nil, err
	}

	header := http.Header{}
	if options.IdempotencyKey != "" {
		header.Set("Idempotency-Key", options.IdempotencyKey)
	}
	if options.MaxCharge != nil {
		header.Set(wire.MaxChargeHeader, strconv.FormatInt(*options.MaxCharge, 10))
	}

	request := jsonRequest(http.MethodPost, wire.OperationPath(operation), body)
	request.header = header
	response, err := c.send(ctx, request) //nolint:bodyclose // the result's Body, which the caller closes
	if err != nil {
		return nil, err
	}
	return newResult(response)
}

func inputJSON(input any) ([]byte, error) {
	if raw, ok := input.(json.RawMessage); ok {
		return raw, nil
	}
	body, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("the input is no JSON: %w", err)
	}
	return body, nil
}

// newResult reads the headers of a response and leaves its bytes to the caller.
func newResult(response *http.Response) (*Result, error) {
	h := response.Header
	result := &Result{
		ID: h.Get(wire.ResultIDHeader), ContentType: h.Get("Content-Type"), Size: response.ContentLength,
		Replayed: h.Get("Idempotent-Replayed") == "true", RequestID: h.Get(wire.RequestIDHeader), Body: response.Body,
	}

	if charged, err := strconv.ParseInt(h.Get(wire.ChargedHeader), 10, 64); err == nil {
		result.Charged = charged
	}
	if text := h.Get("Content-Disposition"); text != "" {
		// filename* has priority over filename (RFC 6266).
		if _, params, err := mime.ParseMediaType(text); err == nil && params["filename"] != "" {
			result.Filename = path.Base(strings.ReplaceAll(params["filename"], `\`, "/"))
		}
		return result, nil
	}

	result.Body = nil
	if response.StatusCode == http.StatusAccepted {
		result.Job = &JobStatus{}
		return result, readAnswer(response, result.Job)
	}

	// Only files have a disposition: this is the address of one.
	result.File = &FileURL{}
	if err := readAnswer(response, result.File); err != nil {
		return nil, err
	}
	result.Filename = result.File.Filename
	result.Size = result.File.SizeBytes
	return result, nil
}

// Download fetches a stored result. It needs no key. The caller closes the
// result's Body.
func (c *Client) Download(ctx context.Context, id string) (*Result, error) {
	response, err := c.send(ctx, message{method: http.MethodGet, path: "/v1/files/" + url.PathEscape(id)}) //nolint:bodyclose // the result's Body, which the caller closes
	if err != nil {
		return nil, err
	}
	return newResult(response)
}

// Account returns the account that the key belongs to.
func (c *Client) Account(ctx context.Context) (AccountSnapshot, error) {
	return get[AccountSnapshot](ctx, c, "/v1/account")
}

// Prices returns the price list.
func (c *Client) Prices(ctx context.Context) (PriceList, error) {
	return get[PriceList](ctx, c, "/v1/billing/prices")
}

// Usage sums up the calls from one time to another. A zero time leaves the
// choice to the service: the 30 days before to, and now.
func (c *Client) Usage(ctx context.Context, from, to time.Time) (Usage, error) {
	query := url.Values{}
	if !from.IsZero() {
		query.Set("from", from.UTC().Format(time.RFC3339Nano))
	}
	if !to.IsZero() {
		query.Set("to", to.UTC().Format(time.RFC3339Nano))
	}
	return get[Usage](ctx, c, "/v1/billing/usage?"+query.Encode())
}

// Limits returns the account's spending limits.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	return get[Limits](ctx, c, "/v1/billing/limits")
}

// SetLimits replaces both spending limits, nil meaning none, and returns them.
func (c *Client) SetLimits(ctx context.Context, limits Limits) (Limits, error) {
	body, err := inputJSON(limits)
	if err != nil {
		return Limits{}, err
	}
	return ask[Limits](ctx, c, jsonRequest(http.MethodPatch, "/v1/billing/limits", body))
}

// Health returns the state of the service.
func (c *Client) Health(ctx context.Context) (Health, error) { return get[Health](ctx, c, "/health") }

func get[Answer any](ctx context.Context, c *Client, path string) (Answer, error) {
	return ask[Answer](ctx, c, message{method: http.MethodGet, path: path})
}

// ask sends a request whose answer is JSON.
func ask[Answer any](ctx context.Context, c *Client, request message) (answer Answer, err error) {
	response, err := c.send(ctx, request)
	if err == nil {
		err = readAnswer(response, &answer)
	}
	return answer, err
}

// readAnswer reads a JSON answer into v and ends the response.
func readAnswer(response *http.Response, v any) error {
	err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(v)
	if err != nil {
		err = fmt.Errorf("the answer is not the JSON that was expected: %w", err)
	}
	return errors.Join(err, response.Body.Close())
}

// Request sends a request for a path without a method here, and returns its response, whose Body the caller closes.
// A body is JSON unless the header has another Content-Type.
func (c *Client) Request(
	ctx context.Context, method, path string, header http.Header, body []byte,
) (*http.Response, error) {
	media := header.Get("Content-Type")
	if media == "" {
		media = "application/json"
	}
	return c.send(ctx, message{
		method: method, path: path, header: header, body: bytes.NewReader(body), size: int64(len(body)), media: media,
	})
}

// message is one request that can be sent again.
type message struct {
	method, path string
	header       http.Header
	body         io.ReaderAt
	size         int64  // of the body, in bytes; 0 sends none
	media        string // content type of the body
}

// jsonRequest is a request with a JSON body.
func jsonRequest(method, path string, body []byte) message {
	return message{
		method: method, path: path, body: bytes.NewReader(body), size: int64(len(body)), media: "application/json",
	}
}

// send sends a request, retries it if that is allowed, and returns the response if it is a success.
func (c *Client) send(ctx context.Context, request message) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		response, err := c.sendOnce(ctx, request)
		if err == nil {
			return response, nil
		}

		pause, again := request.retryAfter(err, attempt)
		if !again || attempt >= c.Retries || ctx.Err() != nil {
			return nil, err
		}
		if waitErr := c.wait(ctx, pause); waitErr != nil {
			return nil, errors.Join(err, waitErr)
		}
	}
}

// retryAfter reports whether a failed request may be sent again, and when.
func (r message) retryAfter(err error, attempt int) (time.Duration, bool) {
	pause := min(time.Second<<attempt, 16*time.Second)
	safe := r.method == http.MethodGet || r.header.Get("Idempotency-Key") != ""
	var e *Error
	if !errors.As(err, &e) {
		return pause, safe
	}
	if e.RetryAfter > 0 {
		pause = time.Duration(e.RetryAfter) * time.Second
	}
	// Rate-limited requests did not run, so they can always be sent again.
	retryable := e.Code == RateLimited || safe && e.Status() >= http.StatusInternalServerError
	return pause, pause <= maxRetryWait && retryable
}

// wait pauses, with Wait if it is set.
func (c *Client) wait(ctx context.Context, d time.Duration) error {
	if c.Wait != nil {
		return c.Wait(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// build creates a new request, with its body from the beginning.
func (r message) build(ctx context.Context, base string) (*http.Request, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(r.body, 0, r.size)), nil }
	request, err := http.NewRequestWithContext(ctx, r.method, base+r.path, nil)
	if err != nil {
		return nil, err
	}

	if r.size > 0 {
		request.ContentLength = r.size
		request.GetBody = open
		request.Body, _ = open()
		request.Header.Set("Content-Type", r.media)
	}

	for name, values := range r.header {
		request.Header[name] = values
	}
	return request, nil
}

// do sends a request as HTTP and UserAgent say.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	if c.UserAgent != "" {
		r.Header.Set("User-Agent", c.UserAgent)
	}
	carrier := c.HTTP
	if carrier == nil {
		carrier = &http.Client{}
	}
	return carrier.Do(r)
}

func (c *Client) sendOnce(ctx context.Context, request message) (*http.Response, error) {
	r, err := request.build(ctx, strings.TrimSuffix(c.BaseURL, "/"))
	if err != nil {
		return nil, err
	}
	if c.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}

	response, err := c.do(r)
	if err != nil {
		return nil, err
	}

	if response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusMultipleChoices {
		return response, nil
	}
	return nil, errors.Join(readError(response), response.Body.Close())
}

// readError makes an *Error of a refusal. One that is not ours, such as a
// proxy's page, gets the code that its status comes closest to.
func readError(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxErrorText))
	if err != nil {
		return fmt.Errorf("%s, and its text did not arrive: %w", response.Status, err)
	}

	var body wire.ErrorBody
	if err := json.Unmarshal(text, &body); err != nil || body.Error.Code == "" {
		body.Error.Code = codeOf(response.StatusCode)
		body.Error.Message = "The server returned " + response.Status + " without an error message."
	}

	e := &Error{
		Code: body.Error.Code, Message: body.Error.Message, Details: body.Error.Details,
		RequestID: body.Error.RequestID, Docs: body.Error.Docs, Received: response.StatusCode,
	}
	if e.RequestID == "" {
		e.RequestID = response.Header.Get(wire.RequestIDHeader)
	}

	e.RetryAfter = retryAfterOf(response)
	return e
}

// retryAfterOf returns the seconds that a response asks to be waited, or 0.
func retryAfterOf(response *http.Response) int {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return max(0, seconds)
}

// codeOf returns the code for a status whose answer named none.
func codeOf(status int) Code {
	switch {
	case status == http.StatusUnauthorized:
		return Unauthorized
	case status == http.StatusPaymentRequired:
		return PaymentRequired
	case status == http.StatusForbidden:
		return AccountSuspended
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusMethodNotAllowed:
		return MethodNotAllowed
	case status == http.StatusRequestEntityTooLarge:
		return PayloadTooLarge
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status < http.StatusInternalServerError:
		return InvalidRequest
	}
	return InternalError
}
