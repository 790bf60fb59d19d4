package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/egress"
)

// putTimeout bounds one attempt with a result: 200 MiB at 4 MB per second.
const putTimeout = 60 * time.Second

// putWaits are the times between the attempts with a result, if they fail for a reason that may pass.
var putWaits = [...]time.Duration{time.Second, 4 * time.Second, 16 * time.Second, 60 * time.Second}

// Content is a result to deliver.
type Content struct {
	ContentType string
	Size        int64
	// Open returns the result from its start, for each attempt.
	Open func() io.ReadSeeker
}

// Destination is the place to which a result is sent. It contains secrets, which no error and no log repeats.
type Destination interface {
	// send makes one attempt.
	send(ctx context.Context, content Content) (Receipt, *Failure)
}

// Put is a URL that receives results by PUT.
type Put struct {
	// Client reaches only public addresses, and follows no redirect.
	Client  *http.Client
	URL     string
	Headers map[string]string
}

// Failure is the failure of an attempt at a destination.
type Failure struct {
	// Reason is a sentence for the owner of the call.
	Reason string
	// Step is the step of a connection that failed.
	Step string
	// Refused means that the destination is not a public host.
	Refused bool

	passing    bool
	retryAfter time.Duration
}

func (e *Failure) Error() string { return e.Reason }

// Receipt is the response of a destination that has accepted a result.
type Receipt struct {
	Host                 string
	StatusCode, Attempts int
}

// Deliver sends a result until the destination accepts it, refuses it for good, or ctx has no time for another attempt.
// Its error is a *Failure, or that of ctx if ctx was cancelled.
func Deliver(ctx context.Context, to Destination, content Content) (Receipt, error) {
	for attempts := 1; ; attempts++ {
		receipt, failure := attempt(ctx, to, content)
		if failure == nil {
			receipt.Attempts = attempts
			return receipt, nil
		}

		if errors.Is(ctx.Err(), context.Canceled) {
			return Receipt{}, ctx.Err()
		}
		if !failure.passing || attempts > len(putWaits) {
			return Receipt{}, failure
		}

		wait := max(putWaits[attempts-1], failure.retryAfter)
		if end, bounded := ctx.Deadline(); bounded && time.Until(end) <= wait {
			return Receipt{}, failure
		}
		if guard.Pause(ctx, wait); ctx.Err() != nil {
			return Receipt{}, ctx.Err()
		}
	}
}

// attempt sends a result once, within the time of an attempt.
func attempt(ctx context.Context, to Destination, content Content) (Receipt, *Failure) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	return to.send(ctx, content)
}

// send makes one request.
func (p Put) send(ctx context.Context, content Content) (Receipt, *Failure) {
	begun := time.Now()
	r, err := p.request(ctx, content)
	if err != nil {
		return Receipt{}, &Failure{Refused: true, Reason: "The URL is not valid."}
	}

	client := *p.Client
	client.Timeout = 0 // the context has it
	response, err := client.Do(r)
	switch {
	case errors.Is(err, egress.ErrRefused):
		return Receipt{}, &Failure{Refused: true, Reason: "The URL is not allowed. Use https and a public host."}
	case err != nil:
		return Receipt{}, &Failure{Reason: sendFailure(err, "destination", timeOf(ctx, begun)), passing: true}
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxStoredResponse) // so that the connection can be used again

	status := response.StatusCode
	if status >= 200 && status < 300 {
		return Receipt{Host: r.URL.Hostname(), StatusCode: status}, nil
	}

	failure := &Failure{
		passing: status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly ||
			status == http.StatusTooManyRequests,
		retryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
		Reason:     fmt.Sprintf("The destination returned status %d.", status),
	}
	if status >= 300 && status < 400 {
		failure.Reason += " Redirects are not followed."
	}
	return Receipt{}, failure
}

// timeOf returns the time that an attempt has.
func timeOf(ctx context.Context, begun time.Time) time.Duration {
	end, _ := ctx.Deadline()
	return end.Sub(begun).Round(time.Second)
}

func (p Put) request(ctx context.Context, content Content) (*http.Request, error) {
	target, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}

	r := (&http.Request{
		Method: http.MethodPut, URL: target, Host: target.Host, Header: http.Header{}, Body: http.NoBody,
	}).WithContext(ctx)
	if content.Size > 0 {
		r.Body = io.NopCloser(content.Open())
		r.ContentLength = content.Size
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(content.Open()), nil }
	}

	r.Header.Set("Content-Type", content.ContentType)
	r.Header.Set("User-Agent", "relaypdf-delivery/1")
	for name, value := range p.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}
