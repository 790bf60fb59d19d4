package render

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/spool"
)

// maxFileRedirects is the maximum number of redirects of a fetch, as in browsers and curl.
const maxFileRedirects = 10

// maxFetchTime limits a fetch whose context has a later deadline or none.
const maxFetchTime = time.Minute

// FetchError is the reason why a file could not be fetched from its URL.
type FetchError struct {
	// Status is the HTTP status of an error response; 0 means that there was no response.
	Status int
	// Reason continues a sentence that begins with "the address". It is set if Status is 0.
	Reason string
	cause  error
}

func (e *FetchError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("the server returned status %d", e.Status)
	}
	return "the URL " + e.Reason
}

// Unwrap returns the network's error.
func (e *FetchError) Unwrap() error { return e.cause }

// Fetched is a file of a server.
type Fetched struct {
	*spool.File

	// MediaType is the server's type of the file, without parameters; empty if it has none. Charset is the encoding of
	// text that the server names, such as "utf-16le"; empty if it names none.
	MediaType, Charset string
}

// Fetch fetches a file of at most limit bytes from an http or https URL. The caller closes it. Errors are
// egress.ErrRefused, *FetchError, spool.ErrTooLarge as ErrFileTooLarge, and the error of ctx, which limits the fetch.
func (a *Account) Fetch(ctx context.Context, address string, limit int64) (Fetched, error) {
	return a.exchange(ctx, fetchRequest{address: address}, limit)
}

// fetchRequest is a request for a file: a GET, or a POST of a body.
type fetchRequest struct {
	address, contentType string
	body                 []byte
}

func (q fetchRequest) request(ctx context.Context) (*http.Request, error) {
	method := http.MethodGet
	if q.body != nil {
		method = http.MethodPost
	}

	request, err := http.NewRequestWithContext(ctx, method, q.address, bytes.NewReader(q.body))
	if err != nil {
		return nil, &FetchError{Reason: "is not valid", cause: err}
	}

	request.Header.Set("Accept", "*/*")
	if q.body != nil {
		request.Header.Set("Content-Type", q.contentType)
	}
	return request, nil
}

// exchange sends a request as Fetch does.
func (e *Engines) exchange(ctx context.Context, q fetchRequest, limit int64) (_ Fetched, err error) {
	if _, err := e.render.policy.CheckURL(q.address, "http", "https"); err != nil {
		return Fetched{}, err
	}
	request, err := q.request(ctx)
	if err != nil {
		return Fetched{}, err
	}
	response, err := e.render.files.Do(request)
	if err != nil {
		return Fetched{}, fetchError(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return Fetched{}, &FetchError{Status: response.StatusCode}
	}
	if response.ContentLength > limit {
		return Fetched{}, spool.ErrTooLarge
	}

	file := spool.New("", limit)
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if _, err := io.Copy(file, response.Body); err != nil {
		return Fetched{}, fetchError(ctx, err)
	}

	fetched := Fetched{File: file}
	if mediaType, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil {
		fetched.MediaType = mediaType
		fetched.Charset = parameters["charset"]
	}
	return fetched, nil
}

// fetchError returns the error of this package for an error of a fetch.
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
		return &FetchError{
			Reason: "has an invalid TLS certificate: " + strings.TrimPrefix(certificate.Err.Error(), "x509: "),
			cause:  err,
		}
	case errors.As(err, &network) && network.Timeout():
		return &FetchError{Reason: "timed out", cause: err}
	}
	return &FetchError{Reason: "could not be read: the connection failed", cause: err}
}
