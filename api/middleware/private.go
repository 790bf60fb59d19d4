package middleware

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry returns a registry of metrics that has the process's own.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// Answered returns the number of completed requests by status, as Log has
// counted them in the registry.
func Answered(registry prometheus.Gatherer) (map[string]int64, error) {
	counts := map[string]int64{}
	families, err := registry.Gather()
	for _, family := range families {
		if family.GetName() != requestsMetric {
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

	return counts, err
}

// OwnHost refuses requests that were sent to a name which anyone may point at this
// address (DNS rebinding). It accepts IP addresses, names without a dot, those of the
// loopback, and the given hosts, with or without a port.
func OwnHost(next http.Handler, hosts ...string) http.Handler {
	own := map[string]bool{}
	for _, host := range hosts {
		own[hostname(host)] = true
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostname(r.Host)
		_, notIP := netip.ParseAddr(host)
		if notIP != nil && strings.Contains(host, ".") && !strings.HasSuffix(host, ".localhost") && !own[host] {
			http.Error(w,
				"The Host header does not name this server. Use its IP address, or a host name without a dot.",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostname is a host in lower case, without its port, brackets and last dot.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// Private serves metrics and profiles. It has no authentication and belongs on
// an address that only operators reach.
func Private(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
