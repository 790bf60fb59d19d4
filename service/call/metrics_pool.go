package call

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/render"
)

// poolCollector shows the pools of the renderer, each with its name as a label.
type poolCollector struct {
	stats                                    func() render.Stats
	slots, busy, waiting, places, turnedAway *prometheus.Desc
}

func newPoolCollector(stats func() render.Stats) *poolCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("relaypdf_pool_"+name, help, []string{"pool"}, nil)
	}

	return &poolCollector{
		stats: stats,
		slots: desc("slots",
			"Jobs that can run at once, by pool: browser, files, texts or office; previews and preview-files once somebody has edited."),
		busy:       desc("busy", "Number of running jobs."),
		waiting:    desc("waiting", "Jobs that wait for a slot."),
		places:     desc("places", "Jobs that may wait for a slot."),
		turnedAway: desc("refused_total", "Jobs turned away because the queue was full, or the wait too long."),
	}
}

// Describe sends the descriptors of all metrics.
func (p *poolCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{p.slots, p.busy, p.waiting, p.places, p.turnedAway} {
		out <- desc
	}
}

// Collect reads them, all at one moment.
func (p *poolCollector) Collect(out chan<- prometheus.Metric) {
	stats := p.stats()
	pools := stats.Pools
	if stats.Previews != nil {
		pools = slices.Concat(pools, stats.Previews.Pools)
	}

	for _, pool := range pools {
		gauge := func(desc *prometheus.Desc, value int) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), pool.Name)
		}
		gauge(p.slots, pool.Slots)
		gauge(p.busy, pool.Busy)
		gauge(p.waiting, pool.Waiting)
		gauge(p.places, pool.Limit)
		out <- prometheus.MustNewConstMetric(p.turnedAway, prometheus.CounterValue, float64(pool.Refused), pool.Name)
	}
}
