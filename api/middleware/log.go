package middleware

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/store"
)

// StatusClientClosed is the status in the log for a client that left before its response; it is never sent.
const StatusClientClosed = 499

// ResponseRecord records a handler's response for the log.
type ResponseRecord struct {
	http.ResponseWriter
	// Status is 0 until it has been sent.
	Status int

	route  string
	size   int64
	fields []slog.Attr
}

// retryAfter is the default Retry-After, in seconds, of a response that asks the client to come back.
const retryAfter = "5"

// WriteHeader sends the status, and remembers it. Each 429 and 503 has a Retry-After in
// whole seconds, whichever handler wrote it.
func (a *ResponseRecord) WriteHeader(status int) {
	if a.Status == 0 {
		a.Status = status
		busy := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
		if busy && a.Header().Get("Retry-After") == "" {
			a.Header().Set("Retry-After", retryAfter)
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *ResponseRecord) Write(p []byte) (int, error) {
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.size += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *ResponseRecord) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// ResponseRecordOf returns the Answer that Log put around w, or wraps w in a new one.
func ResponseRecordOf(w http.ResponseWriter) *ResponseRecord {
	for inner := w; ; {
		if a, ok := inner.(*ResponseRecord); ok {
			return a
		}
		wrapper, ok := inner.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return &ResponseRecord{ResponseWriter: w}
		}
		inner = wrapper.Unwrap()
	}
}

// Note adds a field to the request's log line.
func Note(w http.ResponseWriter, field slog.Attr) {
	a := ResponseRecordOf(w)
	a.fields = append(a.fields, field)
}

// ClientClosed sets the status for a client that left before its response, so the log does not show 200. The client receives
// nothing.
func ClientClosed(w http.ResponseWriter) {
	if ResponseRecordOf(w).Status == 0 {
		w.WriteHeader(StatusClientClosed)
	}
}

// SetRoute names the route that a request took, for the log and the metrics.
func SetRoute(w http.ResponseWriter, pattern string) { ResponseRecordOf(w).route = pattern }

// latencyBuckets reach from the paid path (below a millisecond) to the longest
// render, in seconds.
var latencyBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// requestsMetric is the name under which Log counts requests.
const requestsMetric = "relaypdf_request_seconds"

// Log logs one line for each request and counts it: by the route's pattern and never the path, which may hold a
// file's id, nor the query, which may hold a key. It must be outside of every handler that may respond. The request's
// span has the same attributes. Requests of an account are also passed to account, which may be nil.
func Log(
	log *slog.Logger, registry prometheus.Registerer, tracer *telemetry.Tracer, account func(store.Request),
) func(http.Handler) http.Handler {
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: requestsMetric, Help: "HTTP requests by route and status.", Buckets: latencyBuckets,
	}, []string{"method", "route", "status"})
	registry.MustRegister(requests)

	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begin := time.Now()
			seen := &ResponseRecord{ResponseWriter: w, route: "unmatched"}
			var span *telemetry.Span
			// asked for all the time
			if !strings.HasPrefix(r.URL.Path, "/health") && !strings.HasPrefix(r.URL.Path, "/static/") {
				r, span = tracer.Receive(r, methodLabel(r.Method))
			}

			next.ServeHTTP(seen, r)
			took := time.Since(begin)
			endSpan(span, r, seen)
			record(r, seen.Status, took, account)
			requests.WithLabelValues(methodLabel(r.Method), seen.route,
				strconv.Itoa(seen.Status)).Observe(took.Seconds())

			log.LogAttrs(r.Context(), slog.LevelInfo, "request", append([]slog.Attr{
				slog.String("requestId", RequestID(r.Context())),
				slog.String("method", r.Method),
				slog.String("route", seen.route),
				slog.Int("status", seen.Status),
				slog.Int64("bytes", seen.size),
				slog.Float64("tookMs", float64(took.Microseconds())/1000),
			}, seen.fields...)...)
		})
	}
}

// endSpan sets the attributes of a request's span to those of its log line.
func endSpan(span *telemetry.Span, r *http.Request, seen *ResponseRecord) {
	if span == nil {
		return
	}

	span.Rename(methodLabel(r.Method) + " " + seen.route)
	span.Set("http.request.method", methodLabel(r.Method))
	span.Set("http.route", seen.route)
	span.SetInt("http.response.status_code", seen.Status)
	span.Set("relaypdf.request", RequestID(r.Context()))

	for _, field := range seen.fields {
		if field.Key == "call" {
			span.Set("relaypdf.call", field.Value.String())
		}
	}
	if status := seen.Status; status >= http.StatusInternalServerError {
		span.Fail(strconv.Itoa(status))
	}
	span.End()
}

// methodLabel returns a method's label in the metrics. Clients invent methods, and each label exists for ever.
func methodLabel(method string) string {
	if slices.Contains(Methods(), method) {
		return method
	}
	return "other"
}
