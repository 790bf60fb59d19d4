// Package client calls a relaypdf service over HTTP.
//
//	relay := client.Client{BaseURL: "https://pdf.example.com", Key: os.Getenv("RELAYPDF_API_KEY")}
//	_, err := relay.PDF().Create(client.PDFCreateInput{HTML: "<h1>Invoice 42</h1>"}).Save(ctx, "invoice.pdf")
//
// The groups of the API are methods of [Client]. A method of a paid operation returns a [Call], which is sent when it
// is asked for a file, a URL, a job or JSON. All other methods send their request and return its result. If the service
// refuses a call, the error is an *[Error] with a Code.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
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
	// BaseURL is the service's address; empty is [DefaultBaseURL].
	BaseURL string
	// Key is the API key. Prices, health and downloads need none.
	Key string
	// HTTP sends the requests, with its Timeout, proxy and certificates; nil is a client with the defaults of net/http,
	// which has no timeout and reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
	HTTP *http.Client
	// UserAgent is the header User-Agent; empty is "relaypdf-go".
	UserAgent string
	// Retries is the maximum number of retries of a request. 0 is [DefaultRetries], and a negative number is none.
	// A request is sent again after rate_limited. It is also sent again after a failure of the service or the network,
	// if it is a GET or has an idempotency key. If Retry-After is more than a minute, the error is returned at once.
	//
	// With store false, a call is not sent again if its response was lost: see [Call].
	Retries int
	// NoStore sets store to false in each paid call whose input does not set it: the service stores no input and no
	// result. See [Call].
	NoStore bool
	// Wait pauses before a retry; nil waits for d or until ctx ends.
	Wait func(ctx context.Context, d time.Duration) error
}

// CallOptions holds the options of a call besides the operation's input.
type CallOptions struct {
	// IdempotencyKey makes a retry safe: a repeat within 24 hours returns the stored result and costs nothing. Empty is
	// the own key of a [Call], and none for [Client.Do].
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
	// WarningCount is the number of warnings about the result; File and Job have the warnings.
	WarningCount int
	// File is set when the input asked for response "url"; Body is nil then.
	File *FileURL
	// Job is set when the input asked for response "async"; Body is nil then.
	Job *JobStatus
	// Body streams the result. The caller closes it.
	Body io.ReadCloser
}

// Defaults of the fields of [Client].
const (
	DefaultBaseURL = "http://localhost:8787"
	DefaultRetries = 2

	defaultUserAgent = "relaypdf-go"
)

// maxRetryWait is the longest Retry-After that a retry waits for, maxAnswer
// bounds a JSON answer in bytes, maxErrorText the text of an error.
const (
	maxRetryWait = time.Minute
	maxAnswer    = 16 << 20
	maxErrorText = 1 << 20
)

// Do calls an operation by its name, such as "pdf.create". input is marshaled to JSON; a json.RawMessage is sent
// unchanged, except for NoStore. The methods of groups, such as [PDF.Create], check the fields at compile time.
func (c *Client) Do(ctx context.Context, operation string, input any, options CallOptions) (*Result, error) {
	body, marks, err := c.prepare(input, "")
	if err != nil {
		return nil, err
	}
	return c.call(ctx, operation, body, marks, options)
}

// call sends a call of a paid operation.
func (c *Client) call(
	ctx context.Context, operation string, body []byte, marks inputMarks, options CallOptions,
) (*Result, error) {
	header := http.Header{}
	if options.IdempotencyKey != "" {
		header.Set("Idempotency-Key", options.IdempotencyKey)
	}
	if options.MaxCharge != nil {
		header.Set(wire.MaxChargeHeader, strconv.FormatInt(*options.MaxCharge, 10))
	}

	request := jsonRequest(http.MethodPost, wire.OperationPath(operation), body)
	request.header = header
	request.unstored = marks.Store != nil && !*marks.Store
	response, err := c.send(ctx, request) //nolint:bodyclose // the result's Body, which the caller closes
	if err != nil {
		return nil, err
	}
	return newResult(response)
}

// inputMarks are the members of an input that the client reads.
type inputMarks struct {
	Store *bool
	Quote bool
}

// prepare returns an input as JSON, with a response and with store false if the client or the caller asks for them and
// the input does not have them. It reads the input, which may hold files, once.
func (c *Client) prepare(input any, response string) (body []byte, marks inputMarks, err error) {
	body, err = inputJSON(input)
	if err != nil {
		return nil, marks, err
	}
	if response == "" && !c.NoStore {
		_ = json.Unmarshal(body, &marks) // The service judges an input that cannot be read.
		return body, marks, nil
	}

	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, marks, fmt.Errorf("the input is not a JSON object: %w", err)
	}
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	if _, has := members["response"]; !has && response != "" {
		members["response"] = json.RawMessage(strconv.Quote(response))
	}
	if _, has := members["store"]; !has && c.NoStore {
		members["store"] = json.RawMessage("false")
	}

	_ = json.Unmarshal(members["store"], &marks.Store)
	_ = json.Unmarshal(members["quote"], &marks.Quote)
	body, err = json.Marshal(members)
	return body, marks, err
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

// newResult reads the response of a paid operation, and leaves the bytes of a file to the caller.
func newResult(response *http.Response) (*Result, error) {
	result := resultOf(response)
	if response.Header.Get("Content-Disposition") != "" {
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

// resultOf reads the headers of a response whose body is a file.
func resultOf(response *http.Response) *Result {
	h := response.Header
	result := &Result{
		ID: h.Get(wire.ResultIDHeader), ContentType: h.Get("Content-Type"), Size: response.ContentLength,
		Replayed: h.Get("Idempotent-Replayed") == "true", RequestID: h.Get(wire.RequestIDHeader), Body: response.Body,
	}

	if charged, err := strconv.ParseInt(h.Get(wire.ChargedHeader), 10, 64); err == nil {
		result.Charged = charged
	}
	if count, err := strconv.Atoi(h.Get(wire.WarningsHeader)); err == nil {
		result.WarningCount = count
	}
	// filename* has priority over filename (RFC 6266).
	_, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err == nil && params["filename"] != "" {
		result.Filename = path.Base(strings.ReplaceAll(params["filename"], `\`, "/"))
	}
	return result
}

// ask sends a request whose answer is JSON.
func ask[Answer any](ctx context.Context, c *Client, request message) (answer Answer, err error) {
	response, err := c.send(ctx, request)
	if err != nil {
		return answer, err
	}

	err = readAnswer(response, &answer)
	if state, ok := any(&answer).(*TemplateState); ok {
		state.ETag = response.Header.Get("ETag")
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
	// stream is a body of unknown size in the place of body, which can be sent only once.
	stream io.Reader
	// unstored marks a call whose result is lost with its response.
	unstored bool
}

// jsonRequest is a request with a JSON body.
func jsonRequest(method, path string, body []byte) message {
	return message{
		method: method, path: path, body: bytes.NewReader(body), size: int64(len(body)), media: "application/json",
	}
}

// send sends a request, retries it if that is allowed, and returns the response if it is a success.
func (c *Client) send(ctx context.Context, request message) (*http.Response, error) {
	retries := cmp.Or(c.Retries, DefaultRetries)
	for attempt := 0; ; attempt++ {
		response, err := c.sendOnce(ctx, request)
		if err == nil {
			return response, nil
		}

		pause, again := request.retryAfter(err, attempt)
		if !again || attempt >= retries || ctx.Err() != nil {
			return nil, err
		}
		if waitErr := c.wait(ctx, pause); waitErr != nil {
			return nil, errors.Join(err, waitErr)
		}
	}
}

// retryAfter reports whether a failed request may be sent again, and when.
func (r message) retryAfter(err error, attempt int) (time.Duration, bool) {
	if r.stream != nil {
		return 0, false
	}
	pause := min(time.Second<<attempt, 16*time.Second)
	safe := r.method == http.MethodGet || r.header.Get("Idempotency-Key") != ""
	var e *Error
	if !errors.As(err, &e) {
		return pause, safe && !r.unstored
	}
	if r.unstored && e.RequestID == "" {
		safe = false // The response is not of the service, in which the call may have run.
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

	switch {
	case r.stream != nil:
		request.Body = io.NopCloser(r.stream)
		request.Header.Set("Content-Type", r.media)
	case r.size > 0:
		request.ContentLength = r.size
		request.Body, _ = open()
		request.Header.Set("Content-Type", r.media)
		// net/http itself sends a request with an Idempotency-Key again after a lost response, if it can open the body.
		if !r.unstored {
			request.GetBody = open
		}
	}

	for name, values := range r.header {
		request.Header[name] = values
	}
	return request, nil
}

// do sends a request as HTTP and UserAgent say.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	r.Header.Set("User-Agent", cmp.Or(c.UserAgent, defaultUserAgent))
	carrier := c.HTTP
	if carrier == nil {
		carrier = &http.Client{}
	}
	return carrier.Do(r)
}

// base is the service's address without a slash at its end.
func (c *Client) base() string { return strings.TrimSuffix(cmp.Or(c.BaseURL, DefaultBaseURL), "/") }

func (c *Client) sendOnce(ctx context.Context, request message) (*http.Response, error) {
	r, err := request.build(ctx, c.base())
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
