package call

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/store/credit"
)

// metrics are the metrics of calls on the private port.
type metrics struct {
	steps *prometheus.HistogramVec
	calls *prometheus.CounterVec
	money *prometheus.CounterVec
}

// latencyBuckets reach from the paid path (below a millisecond) to the longest
// render, in seconds.
var latencyBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func newMetrics(registry prometheus.Registerer, stats func() render.Stats) *metrics {
	m := &metrics{
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relaypdf_step_seconds", Help: "Steps of paid calls by operation.", Buckets: latencyBuckets,
		}, []string{"operation", "step"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relaypdf_calls_total",
			Help: "Paid calls by operation and outcome: ok, enqueued, replayed, canceled, returned or the error's code.",
		}, []string{"operation", "outcome"}),
		money: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relaypdf_charged_microdollars_total", Help: "Money charged by operation.",
		}, []string{"operation"}),
	}
	registry.MustRegister(m.steps, m.calls, m.money)

	gauge := func(name, help string, read func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	registry.MustRegister(newPoolCollector(stats))
	gauge("relaypdf_browser_memory_bytes", "Memory of the browser's processes.",
		func() float64 { return float64(stats().Memory) })

	counter := func(name, help string, read func() float64) {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
	}
	counter("relaypdf_browser_restarts_total", "Browsers replaced, planned or not.",
		func() float64 { return float64(stats().Restarts) })
	counter("relaypdf_browser_crashes_total", "Pages and browsers that crashed.",
		func() float64 { return float64(stats().Crashes) })

	previews := func(read func(render.Stats) int64) func() float64 {
		return func() float64 {
			if behind := stats().Previews; behind != nil {
				return float64(read(*behind))
			}
			return 0
		}
	}
	gauge("relaypdf_preview_browser_memory_bytes",
		"Memory of the processes of the previews' browser; 0 where it has not started.",
		previews(func(s render.Stats) int64 { return s.Memory }))
	counter("relaypdf_preview_browser_restarts_total", "Previews' browsers replaced, planned or not.",
		previews(func(s render.Stats) int64 { return s.Restarts }))
	counter("relaypdf_preview_browser_crashes_total", "Pages and browsers of previews that crashed.",
		previews(func(s render.Stats) int64 { return s.Crashes }))

	return m
}

func (m *metrics) step(operation, step string, took time.Duration) {
	m.steps.WithLabelValues(operation, step).Observe(took.Seconds())
}

func (m *metrics) call(operation, outcome string, charged credit.Amount) {
	m.calls.WithLabelValues(operation, outcome).Inc()
	m.money.WithLabelValues(operation).Add(float64(charged))
}
