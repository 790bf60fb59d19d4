package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store/blob"
)

// watchLimits shows how often a limiter that counts for several processes could not.
func watchLimits(registry prometheus.Registerer, limiter ratelimit.Limiter) {
	shared, ok := limiter.(sharedLimiter)
	if !ok {
		return
	}
	registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "relaypdf_limits_alone_total", Help: "Rate limits checked by this process for itself, because Redis did not answer.",
	}, func() float64 { return float64(shared.Alone()) }))
}

// watchFiles measures the duration and the failures of a bucket's requests, if files are in one.
func watchFiles(registry prometheus.Registerer, blobs blob.Store) {
	if bucket, ok := blobs.(prometheus.Collector); ok {
		registry.MustRegister(bucket)
	}
}

// watchSandbox shows the level of the sandbox: 1 at the one in force.
func (a *API) watchSandbox() {
	if a.render == nil {
		return
	}
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "relaypdf_sandbox", Help: "How well browsers and engines are locked in: 1 at the level in force.",
	}, []string{"level"})
	level, _ := a.render.Sandbox()
	for _, one := range render.Sandboxes() {
		gauge.WithLabelValues(string(one)).Set(0)
	}
	gauge.WithLabelValues(string(level)).Set(1)
	a.registry.MustRegister(gauge)
}
