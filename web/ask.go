package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"relaypdf/api/apierror"
	"relaypdf/api/middleware"
	"relaypdf/api/wire"
	"relaypdf/store"
)

// What is asked of the interface for a member of an account, by the same routes
// as with a key, so that a page can do nothing that they would refuse.

// heard is an answer of the interface on its way to a page.
type heard struct {
	middleware.Recorder

	from string // the request
}

// refusal is what the interface does not do, and why, as its clients read it.
type refusal struct {
	status int
	wire.ErrorBody
}

func (r *refusal) Error() string { return r.ErrorBody.Error.Message }

// Is tells what a page says of it.
func (r *refusal) Is(target error) bool {
	switch target {
	case store.ErrNotFound:
		return r.ErrorBody.Error.Code == apierror.NotFound
	case store.ErrChanged:
		return r.ErrorBody.Error.Code == apierror.PreconditionFailed
	}
	return false
}

// refused returns the refusal that an error is, or nil where something failed.
func refused(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) && r.ErrorBody.Error.Code != apierror.InternalError {
		return r
	}
	return nil
}

// send sends a request to the interface, and returns its answer, whatever it is.
func (v *visit) send(method, path string, body io.Reader, header http.Header) (*heard, error) {
	if v.web.cfg.Interface == nil {
		return nil, store.ErrNotFound
	}
	r, err := http.NewRequestWithContext(v.ctx(), method, path, body)
	if err != nil {
		return nil, err
	}
	r.Header = header
	answer := &heard{from: method + " " + path}
	v.web.cfg.Interface(*v.account).ServeHTTP(answer, r)
	return answer, v.ctx().Err()
}

// hear sends JSON to the interface, or nothing.
func (v *visit) hear(method, path string, body []byte, etag string) (*heard, error) {
	header := http.Header{}
	if len(body) > 0 {
		header.Set("Content-Type", "application/json")
	}
	if etag != "" {
		header.Set("If-Match", etag)
	}
	return v.send(method, path, bytes.NewReader(body), header)
}

// read reads the answer into out, which may be nil. It returns the answer's ETag,
// and a *refusal where the request was refused.
func (h *heard) read(out any) (string, error) {
	if h.Status >= http.StatusBadRequest {
		refused := &refusal{status: h.Status}
		if err := json.Unmarshal(h.Body.Bytes(), &refused.ErrorBody); err != nil {
			return "", fmt.Errorf("%s: status %d: %w", h.from, h.Status, err)
		}
		return "", refused
	}
	if out != nil {
		if err := json.Unmarshal(h.Body.Bytes(), out); err != nil {
			return "", fmt.Errorf("%s: %w", h.from, err)
		}
	}
	return h.Header().Get("ETag"), nil
}

// ask sends a request to the interface and reads its answer into out, which may
// be nil. It returns the answer's ETag, and a *refusal where it was refused.
func (v *visit) ask(method, path string, in, out any, etag string) (string, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = encoded(in); err != nil {
			return "", err
		}
	}
	answer, err := v.hear(method, path, body, etag)
	if err != nil {
		return "", err
	}
	return answer.read(out)
}

// encoded writes JSON whose texts are as they were: what is stored is shown again.
func encoded(in any) ([]byte, error) {
	var body bytes.Buffer
	writer := json.NewEncoder(&body)
	writer.SetEscapeHTML(false)
	err := writer.Encode(in)
	return body.Bytes(), err
}
