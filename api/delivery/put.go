package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"relaypdf/internal/guard"
	"relaypdf/render/egress"
)

// putTimeout bounds one request with a result: 200 MiB at 4 MB per second.
const putTimeout = 60 * time.Second

// putWaits are the times between the requests with a result, if they fail for a reason that may pass.
var putWaits = [...]time.Duration{time.Second, 4 * time.Second, 16 * time.Second, 60 * time.Second}

// Put is the delivery of a result to a destination: PUT requests until one is accepted.
type Put struct {
	// Client reaches only public addresses, and follows no redirect.
	Client *http.Client
	// URL and Headers contain secrets, which no error and no log repeats.
	URL         string
	Headers     map[string]string
	ContentType string
	Size        int64
	// Open returns the result from its start, for each request.
	Open func() io.ReadSeeker
}

// PutError is the failure of a delivery to a destination.
type PutError struct {
	// Reason is a sentence for the owner of the call.
	Reason string
	// StatusCode is that of the last response; 0 without one.
	StatusCode int
	Attempts   int
	// Refused means that the URL does not lead to a public host.
	Refused bool

	passing    bool
	retryAfter time.Duration
}

func (e *PutError) Error() string { return e.Reason }

// Receipt is the response of a destination that has accepted a result.
type Receipt struct {
	Host                 string
	StatusCode, Attempts int
}

// Deliver sends the result until the destination accepts it, refuses it for good, or ctx has no time for another request.
// Its error is a *PutError, or that of ctx if ctx was cancelled.
func (p Put) Deliver(ctx context.Context) (Receipt, error) {
	for attempts := 1; ; attempts++ {
		receipt, failure := p.send(ctx)
		if failure == nil {
			receipt.Attempts = attempts
			return receipt, nil
		}
		failure.Attempts = attempts
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

// send makes one request.
func (p Put) send(ctx context.Context) (Receipt, *PutError) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	begun := time.Now()
	r, err := p.request(ctx)
	if err != nil {
		return Receipt{}, &PutError{Refused: true, Reason: "The URL is not valid."}
	}
	client := *p.Client
	client.Timeout = 0 // the context has it
	response, err := client.Do(r)
	switch {
	case errors.Is(err, egress.ErrRefused):
		return Receipt{}, &PutError{Refused: true, Reason: "The URL is not allowed. Use https and a public host."}
	case err != nil:
		end, _ := ctx.Deadline()
		return Receipt{}, &PutError{Reason: sendFailure(err, "destination", end.Sub(begun).Round(time.Second)), passing: true}
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, keptResponse) // so that the connection can be used again
	status := response.StatusCode
	if status >= 200 && status < 300 {
		return Receipt{Host: r.URL.Hostname(), StatusCode: status}, nil
	}
	failure := &PutError{
		StatusCode: status, passing: status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests,
		retryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
		Reason:     fmt.Sprintf("The destination returned status %d.", status),
	}
	if status >= 300 && status < 400 {
		failure.Reason += " Redirects are not followed."
	}
	return Receipt{}, failure
}

func (p Put) request(ctx context.Context) (*http.Request, error) {
	target, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	r := (&http.Request{Method: http.MethodPut, URL: target, Host: target.Host, Header: http.Header{}, Body: http.NoBody}).WithContext(ctx)
	if p.Size > 0 {
		r.Body, r.ContentLength = io.NopCloser(p.Open()), p.Size
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(p.Open()), nil }
	}
	r.Header.Set("Content-Type", p.ContentType)
	r.Header.Set("User-Agent", "relaypdf-delivery/1")
	for name, value := range p.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}
