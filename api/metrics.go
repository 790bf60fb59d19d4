package api

import (
	"net/http"
	"net/http/pprof"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"relaypdf/render"
	"relaypdf/store/credit"
)

// metrics is what the private port shows.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	steps    *prometheus.HistogramVec
	calls    *prometheus.CounterVec
	money    *prometheus.CounterVec
	attempts *prometheus.CounterVec
}

// latencyBuckets reach from the paid path (below a millisecond) to the longest
// render, in seconds.
var latencyBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func newMetrics(a *API) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relaypdf_request_seconds", Help: "HTTP requests by route and status.", Buckets: latencyBuckets,
		}, []string{"method", "route", "status"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relaypdf_step_seconds", Help: "Steps of paid calls by operation.", Buckets: latencyBuckets,
		}, []string{"operation", "step"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relaypdf_calls_total", Help: "Paid calls by operation and outcome: ok, enqueued, replayed, canceled, returned or the error's code.",
		}, []string{"operation", "outcome"}),
		money: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relaypdf_charged_microdollars_total", Help: "Money charged by operation.",
		}, []string{"operation"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relaypdf_delivery_attempts_total", Help: "Attempts to deliver an event, by what the delivery is afterwards: delivered, pending or failed.",
		}, []string{"status"}),
	}
	m.registry.MustRegister(m.requests, m.steps, m.calls, m.money, m.attempts,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	gauge("relaypdf_render_slots", "Renders that can run at once.", func() float64 { return float64(a.renderStats().Slots) })
	gauge("relaypdf_render_busy", "Renders that run.", func() float64 { return float64(a.renderStats().Busy) })
	gauge("relaypdf_render_queued", "Renders that wait for a slot.", func() float64 { return float64(a.renderStats().Queued) })
	gauge("relaypdf_browser_memory_bytes", "Memory of the browser's processes.", func() float64 { return float64(a.renderStats().Memory) })
	counter := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
	}
	counter("relaypdf_browser_restarts_total", "Browsers replaced, planned or not.", func() float64 { return float64(a.renderStats().Restarts) })
	counter("relaypdf_browser_crashes_total", "Pages and browsers that crashed.", func() float64 { return float64(a.renderStats().Crashes) })
	return m
}

// renderStats returns how busy the renderer is; one that is not there is idle.
func (a *API) renderStats() render.Stats {
	if a.render == nil {
		return render.Stats{}
	}
	return a.render.Stats()
}

func (m *metrics) request(method, route string, status int, took time.Duration) {
	if !slices.Contains(knownMethods[:], method) {
		method = "other" // clients invent methods, and each label is kept for ever
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

var knownMethods = [...]string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

func (m *metrics) step(operation, step string, took time.Duration) {
	m.steps.WithLabelValues(operation, step).Observe(took.Seconds())
}

func (m *metrics) call(operation, outcome string, charged credit.Amount) {
	m.calls.WithLabelValues(operation, outcome).Inc()
	m.money.WithLabelValues(operation).Add(float64(charged))
}

func (m *metrics) attempt(status string) { m.attempts.WithLabelValues(status).Inc() }

// PrivateHandler serves metrics and profiles. It has no authentication and
// belongs on an address that only operators reach.
func (a *API) PrivateHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
