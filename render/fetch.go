package render

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"relaypdf/render/egress"
	"relaypdf/render/spool"
)

// maxFileRedirects is how often a file's address may send us on, as browsers
// and curl have it at most.
const maxFileRedirects = 10

// maxFetchTime bounds a fetch whose context has a later deadline or none.
const maxFetchTime = time.Minute

// FetchError says why a file could not be fetched from its address.
type FetchError struct {
	// Status is the HTTP status of an answer that is no success; 0 where there
	// was none.
	Status int
	// Reason goes on from "the address" where Status is 0.
	Reason string
	cause  error
}

func (e *FetchError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("the address answered with status %d", e.Status)
	}
	return "the address " + e.Reason
}

// Unwrap returns the network's error.
func (e *FetchError) Unwrap() error { return e.cause }

// Fetch gets a file of at most limit bytes from an http or https address. The
// caller closes it. What the server says of its type is ignored. Errors are
// egress.ErrRefused, *FetchError, spool.ErrTooLarge as ErrFileTooLarge, and that of
// ctx, which bounds the fetch.
func (a *Account) Fetch(ctx context.Context, address string, limit int64) (_ *spool.File, err error) {
	if _, err := a.render.policy.CheckURL(address, "http", "https"); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &FetchError{Reason: "is not valid", cause: err}
	}
	request.Header.Set("Accept", "*/*")
	response, err := a.render.files.Do(request)
	if err != nil {
		return nil, fetchError(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, &FetchError{Status: response.StatusCode}
	}
	if response.ContentLength > limit {
		return nil, spool.ErrTooLarge
	}
	file := spool.New("", limit)
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if _, err := io.Copy(file, response.Body); err != nil {
		return nil, fetchError(ctx, err)
	}
	return file, nil
}

// fetchError tells the errors of a fetch apart.
func fetchError(ctx context.Context, err error) error {
	var unknown *net.DNSError
	var network *url.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, egress.ErrRefused), errors.Is(err, spool.ErrTooLarge):
		return err
	case errors.As(err, &unknown):
		return &FetchError{Reason: "has a host name that does not exist", cause: err}
	case errors.Is(err, egress.ErrTooManyRedirects):
		return &FetchError{Reason: fmt.Sprintf("redirects more than %d times", maxFileRedirects), cause: err}
	case errors.As(err, &certificate):
		return &FetchError{Reason: "has a certificate that is not valid: " + strings.TrimPrefix(certificate.Err.Error(), "x509: "), cause: err}
	case errors.As(err, &network) && network.Timeout():
		return &FetchError{Reason: "did not answer in time", cause: err}
	}
	return &FetchError{Reason: "could not be read: the connection failed", cause: err}
}
