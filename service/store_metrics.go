package service

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/relaypdf/relaypdf/store"
)

// lagTimeout bounds the queries of a scrape.
const lagTimeout = 5 * time.Second

// lagCollector exports the delay of waiting work in the database. It queries the database at each scrape, and
// exports nothing if the database does not respond.
type lagCollector struct {
	store             *store.Store
	job, outbox, task *prometheus.Desc
}

// Describe sends the descriptors of all metrics.
func (c *lagCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.job, c.outbox, c.task} {
		out <- desc
	}
}

// Collect reads them.
func (c *lagCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
	defer cancel()

	lag, err := c.store.Lag(ctx)
	if err != nil {
		return
	}

	out <- prometheus.MustNewConstMetric(c.job, prometheus.GaugeValue, lag.OldestJob.Seconds())
	out <- prometheus.MustNewConstMetric(c.outbox, prometheus.GaugeValue, lag.Outbox.Seconds())
	out <- prometheus.MustNewConstMetric(c.task, prometheus.GaugeValue, lag.Tasks.Seconds())
}

// watchStore exports the state of the database: waiting work, the connection pools, and the result of the ledger
// checks.
func (s *Services) watchStore() {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

	s.Registry.MustRegister(&lagCollector{
		store: s.Store,
		job:   desc("relaypdf_oldest_job_seconds", "Age of the job that has waited the longest, of all processes."),
		outbox: desc("relaypdf_outbox_lag_seconds",
			"How long the most overdue delivery has been due, of all processes."),
		task: desc("relaypdf_tasks_lag_seconds",
			"How long the most overdue periodic task has been due, reaping among them, of all processes."),
	}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "relaypdf_ledger_problems",
		Help: "Contradictions that the last check of a closed month has found, by the process that did it.",
	}, func() float64 { return float64(s.Store.LedgerProblems()) }), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "relaypdf_payment_errors_total",
		Help: "Payments, refunds and disputes at Stripe that this process could not apply and that need an operator.",
	}, func() float64 { return float64(s.Store.CountPaymentErrors()) }), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "relaypdf_failed_deletions_total",
		Help: "Stored files whose time was over and that could not be deleted, each try by itself. They are tried again for as long as it takes.",
	}, func() float64 { return float64(s.Store.FailedDeletions()) }), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "relaypdf_unlogged_requests_total",
		Help: "Requests that this process has left out of the log of their account: too many at once, or the database accepted no writes.",
	}, func() float64 { return float64(s.Store.DroppedRequests()) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "relaypdf_clock_error_seconds",
		Help: "How far the clock of this machine is ahead of PostgreSQL's, or behind it where negative. 0 with SQLite.",
	}, func() float64 { return s.Store.ClockOff().Seconds() }))

	for name, pool := range s.Store.Pools() {
		s.Registry.MustRegister(collectors.NewDBStatsCollector(pool, name))
	}
}
