package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"relaypdf/store"
)

// requestIDHeader names a request in answers, log lines and error bodies.
const requestIDHeader = "X-Request-Id"

var acceptableID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

type requestIDKey struct{}

// requestID returns the id of the request that ctx belongs to.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// identify gives every request an id, the client's own if it is harmless.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !acceptableID.MatchString(id) {
			id = store.NewID("req")
		}
		w.Header().Set(requestIDHeader, id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

// answer watches what a handler sends, for the log.
type answer struct {
	http.ResponseWriter
	status int
	size   int64
	fields []slog.Attr
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.size += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// note adds a field to the request's log line.
func note(w http.ResponseWriter, field slog.Attr) {
	if a, ok := w.(*answer); ok {
		a.fields = append(a.fields, field)
	}
}

// record logs one line for each request: the route's pattern and never the
// path, which may hold a file's id, nor the query, which may hold a key.
func (a *API) record(pattern func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		seen := &answer{ResponseWriter: w}
		defer func() { //nolint:contextcheck // fail takes the context from the request
			if p := recover(); p != nil {
				if errors.Is(asPanicError(p), http.ErrAbortHandler) {
					panic(p)
				}
				a.fail(seen, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
			took := time.Since(begin)
			a.metrics.request(r.Method, pattern(r), seen.status, took)
			a.log.LogAttrs(r.Context(), slog.LevelInfo, "request", append([]slog.Attr{
				slog.String("requestId", requestID(r.Context())),
				slog.String("method", r.Method),
				slog.String("route", pattern(r)),
				slog.Int("status", seen.status),
				slog.Int64("bytes", seen.size),
				slog.Duration("took", took),
			}, seen.fields...)...)
		}()
		next.ServeHTTP(seen, r)
	})
}

func asPanicError(p any) error {
	err, _ := p.(error)
	return err
}
