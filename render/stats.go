package render

import "github.com/relaypdf/relaypdf/render/queue"

// Stats is the state of a Renderer at one moment.
type Stats struct {
	Pools    []Pool // the browser's first
	Renders  int64  // results made so far
	Restarts int64  // browsers replaced as planned
	Crashes  int64  // pages and browsers that crashed
	Memory   int64  // memory of the browser's processes in bytes
	// Previews is the state of the Renderer that Background uses; nil if it has not started.
	Previews *Stats
}

// Pool is the state of one kind of process and of its queue.
type Pool struct {
	// Name is browser, files, texts or office.
	Name string
	queue.State
}

// Full reports whether the queue is full.
func (p Pool) Full() bool { return p.Waiting > 0 && p.Waiting >= p.Limit }

// Stats returns the present state.
func (r *Renderer) Stats() Stats {
	now := r.browser.Stats()
	stats := Stats{
		Pools: []Pool{
			{"browser", now.Queue}, {"files", r.engines.Load()}, {"texts", r.markup.Load()}, {"office", r.office.Load()},
		},
		Renders: now.Renders, Restarts: now.Restarts, Crashes: now.Crashes, Memory: now.MemoryBytes,
	}

	if behind := r.behind.running(); behind != nil {
		now := behind.browser.Stats()
		stats.Previews = &Stats{
			Pools:   []Pool{{"previews", now.Queue}, {"preview-files", behind.engines.Load()}},
			Renders: now.Renders, Restarts: now.Restarts, Crashes: now.Crashes, Memory: now.MemoryBytes,
		}
	}
	return stats
}
