package service

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/render"
)

// exportMetrics registers the metrics of the parts that the services share.
func (s *Services) exportMetrics() {
	s.watchLimits()
	s.watchFiles()
	s.watchSandbox()
	s.watchStore()
}

// watchLimits shows how often a limiter that counts for several processes could not.
func (s *Services) watchLimits() {
	shared, ok := s.Limiter.(sharedLimiter)
	if !ok {
		return
	}
	s.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "relaypdf_limits_alone_total",
		Help: "Rate limits checked by this process for itself, because Redis did not answer.",
	}, func() float64 { return float64(shared.Alone()) }))
}

// watchFiles measures the duration and the failures of a bucket's requests, if files are in one.
func (s *Services) watchFiles() {
	if bucket, ok := s.Store.Blobs().(prometheus.Collector); ok {
		s.Registry.MustRegister(bucket)
	}
}

// watchSandbox shows the level of the sandbox: 1 at the one in force.
func (s *Services) watchSandbox() {
	if s.Render == nil {
		return
	}
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "relaypdf_sandbox", Help: "How well browsers and engines are locked in: 1 at the level in force.",
	}, []string{"level"})

	level, _ := s.Render.Sandbox()
	for _, one := range render.Sandboxes() {
		gauge.WithLabelValues(string(one)).Set(0)
	}
	gauge.WithLabelValues(string(level)).Set(1)
	s.Registry.MustRegister(gauge)
}
