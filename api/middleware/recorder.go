package middleware

import (
	"bytes"
	"net/http"
)

// Recorder keeps a response in memory until it is whole.
type Recorder struct {
	// Status is 0 until the response begins.
	Status int
	Body   bytes.Buffer

	header http.Header
}

// Header returns the header of the response.
func (r *Recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// WriteHeader keeps the first status.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
}

// Write keeps more of the body.
func (r *Recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(p)
}
