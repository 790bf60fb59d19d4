// Package llm asks a provider of language models for templates and for the data of documents, and reads its
// responses. The responses are untrusted text: nothing here runs them.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// The providers, as settings name them.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
)

// Model continues conversations. Its method is safe for concurrent use and returns when ctx ends. Without a response,
// the error is an *UnavailableError.
type Model interface {
	Respond(ctx context.Context, c Conversation) (Response, error)
}

// Conversation is the input of a model.
type Conversation struct {
	System string
	// Turns are messages of the user and of the model, alternately. The first and the last are the
	// user's.
	Turns []string
	// Images are the images of the first turn.
	Images []Image
	// MaxTokens is the maximum number of tokens of the response.
	MaxTokens int
}

// Response is a model's response, with its usage.
type Response struct {
	Text string
	// Truncated means that the response reached MaxTokens before its end.
	Truncated bool
	Usage     Usage
}

// Usage counts tokens, as the provider counts them.
type Usage struct{ Input, Output int64 }

// Add returns the sum of u and other.
func (u Usage) Add(other Usage) Usage {
	return Usage{Input: u.Input + other.Input, Output: u.Output + other.Output}
}

// usageOf limits the usage that a provider reports to a range that calculations can handle.
func usageOf(input, output int64) Usage {
	const maximum = 1 << 27 // so that sums of prices do not overflow
	return Usage{Input: min(max(input, 0), maximum), Output: min(max(output, 0), maximum)}
}

// Listener receives a response part by part while the model writes it. first is true with
// the first part of each response. It is called in the goroutine of the request, and must not
// block.
type Listener func(part string, first bool)

type listenerKey struct{}

// Listen returns a context that streams the output of models to hear while they write. The final response is the
// same.
func Listen(ctx context.Context, hear Listener) context.Context {
	return context.WithValue(ctx, listenerKey{}, hear)
}

// listenerOf returns who hears the answer, or nil.
func listenerOf(ctx context.Context) Listener {
	hear, _ := ctx.Value(listenerKey{}).(Listener)
	return hear
}

// heard appends a part to a text and reports it.
func (l Listener) heard(text *strings.Builder, part string) {
	if part == "" {
		return
	}
	l(part, text.Len() == 0)
	text.WriteString(part)
}

// errBroken means that a response ended before the model reported its end.
var errBroken = errors.New("the response is incomplete")

// UnavailableError means that the provider gave no response.
type UnavailableError struct {
	Cause error
	// TimedOut means that it was asked, and was still at it when the time was up.
	TimedOut bool
}

func (e *UnavailableError) Error() string {
	return "the AI provider did not respond: " + e.Cause.Error()
}

// Unwrap returns why.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// Config selects the model and its provider.
type Config struct {
	// Provider is OpenAI, which many others speak like, or Anthropic.
	Provider string
	Key      string
	// BaseURL is empty for the provider's own address.
	BaseURL string
	Model   string
}

const (
	// maxBody bounds an answer with all that is around it, in bytes.
	maxBody = 4 << 20
	// retries is the maximum number of retries of a request that failed for a transient reason.
	retries = 1
	// minRetryDelay and maxRetryDelay bound the delay before, which the provider may set.
	minRetryDelay = 500 * time.Millisecond
	maxRetryDelay = 5 * time.Second
)

// New returns the model of a provider.
func New(c Config) (Model, error) {
	switch c.Provider {
	case OpenAI:
		return newOpenAI(c), nil
	case Anthropic:
		return newAnthropic(c), nil
	}
	return nil, fmt.Errorf("no AI provider is called %q; use %s or %s", c.Provider, OpenAI, Anthropic)
}

// newClient returns a client that does not send the key to the target of a redirect, and limits the size of a
// response.
func newClient() *http.Client {
	return &http.Client{
		Transport:     boundedTransport{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: maxBody}
	}
	return response, err
}

// errTooLong means that an answer has more bytes than any may have.
var errTooLong = errors.New("the response is too long")

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// unavailable returns the error of a failed request. If the caller has left, it returns the error of ctx.
func unavailable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &UnavailableError{Cause: err, TimedOut: errors.Is(cmp.Or(ctx.Err(), err), context.DeadlineExceeded)}
}
