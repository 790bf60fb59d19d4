package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"relaypdf/api/ratelimit"
	"relaypdf/render"
	"relaypdf/store/blob"
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

// cached keeps copies of files.
type cached interface {
	Hits() int64
	Misses() int64
}

// watchFiles shows how long a bucket takes and how often it fails, where files are
// in one, and counts how often a file was on this machine already.
func watchFiles(registry prometheus.Registerer, blobs blob.Store) {
	if bucket, ok := blob.As[prometheus.Collector](blobs); ok {
		registry.MustRegister(bucket)
	}
	cache, ok := blob.As[cached](blobs)
	if !ok {
		return
	}
	for outcome, count := range map[string]func() int64{"hit": cache.Hits, "miss": cache.Misses} {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "relaypdf_file_cache_total", Help: "Files opened, by whether there was a copy on this machine.", ConstLabels: prometheus.Labels{"outcome": outcome},
		}, func() float64 { return float64(count()) }))
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
