package api

import (
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"relaypdf/api/limit"
	"relaypdf/edge"
	"relaypdf/render"
)

// newRegistry returns a registry of metrics that has the process's own.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// watchLimits shows how often a limiter that counts for several processes could not.
func watchLimits(registry prometheus.Registerer, limiter limit.Limiter) {
	shared, ok := limiter.(sharedLimiter)
	if !ok {
		return
	}
	registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "relaypdf_limits_alone_total", Help: "Rate limits checked by this process for itself, because Redis did not answer.",
	}, func() float64 { return float64(shared.Alone()) }))
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

// Answered returns how many requests this process has answered, by status.
func (a *API) Answered() map[string]int64 {
	counts := map[string]int64{}
	families, err := a.registry.Gather()
	if err != nil {
		a.log.Warn("requests not counted", "error", err)
	}
	for _, family := range families {
		if family.GetName() != edge.RequestsMetric {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "status" {
					counts[label.GetValue()] += int64(metric.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return counts
}

// PrivateHandler serves metrics and profiles. It has no authentication and
// belongs on an address that only operators reach.
func (a *API) PrivateHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
