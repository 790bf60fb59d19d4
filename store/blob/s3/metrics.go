package s3

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// newMetrics counts the requests to a bucket, each attempt by itself, by the time
// until its answer begins.
func newMetrics() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "relaypdf_bucket_request_seconds",
		Help:    "Requests to the bucket until the answer begins, by method and outcome: ok, missing, unreachable, canceled or the status of an error.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
	}, []string{"method", "outcome"})
}

// measured measures the requests that pass it.
type measured struct {
	http.RoundTripper
	requests *prometheus.HistogramVec
}

func (m measured) RoundTrip(r *http.Request) (*http.Response, error) {
	begin := time.Now()
	response, err := m.RoundTripper.RoundTrip(r)

	outcome := "ok"
	switch {
	case err != nil && r.Context().Err() != nil:
		outcome = "canceled"
	case err != nil:
		outcome = "unreachable"
	case response.StatusCode == http.StatusNotFound:
		outcome = "missing"
	case response.StatusCode >= http.StatusBadRequest:
		outcome = strconv.Itoa(response.StatusCode)
	}

	m.requests.WithLabelValues(r.Method, outcome).Observe(time.Since(begin).Seconds())
	return response, err
}

// Describe sends the descriptors of all metrics.
func (s *Store) Describe(out chan<- *prometheus.Desc) { s.requests.Describe(out) }

// Collect reads them.
func (s *Store) Collect(out chan<- prometheus.Metric) { s.requests.Collect(out) }
