package app

import (
	"net/http"
	"strconv"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/views"
)

// poolPurposes describes the purpose of a pool.
var poolPurposes = map[string]string{
	"browser": "pages to PDFs and images", "files": "PDF editing and reading",
	"texts": "Markdown and templates", "office": "office documents",
}

// engines returns the state of the render engines, for operators.
func (a *App) engines(started time.Time) views.Engines {
	stats := a.render.Stats()
	level, _ := a.render.Sandbox()
	shown := views.Engines{
		Documents: stats.Renders, Restarts: stats.Restarts, Crashes: stats.Crashes,
		Bytes: stats.Memory, Sandbox: string(level), Since: started,
	}

	for _, p := range stats.Pools {
		shown.Pools = append(shown.Pools, views.EnginePool{
			Name: p.Name, Does: poolPurposes[p.Name], Slots: p.Slots, Busy: p.Busy,
			Waiting: p.Waiting, Limit: p.Limit, Refused: p.Refused,
		})
	}
	return shown
}

// answers lists the classes of responses that operators look for first.
var answers = []struct {
	name, note string
	counts     func(status int) bool
}{
	{"2xx and 3xx", "success", func(status int) bool { return status >= 200 && status < 400 }},
	{"401", "missing, wrong, expired or revoked API key", is(http.StatusUnauthorized)},
	{"402", "insufficient balance, or spending limit reached", is(http.StatusPaymentRequired)},
	{"403", "suspended account, or role without permission", is(http.StatusForbidden)},
	{"429", "rate limit reached, or queue full", is(http.StatusTooManyRequests)},
	{"other 4xx", "invalid requests", func(status int) bool { return status >= 400 && status < 500 }},
	{"5xx", "server errors, and unreachable resources of documents", func(status int) bool { return status >= 500 }},
}

func is(want int) func(int) bool { return func(status int) bool { return status == want } }

// counters returns how requests to this process were answered. Each request
// counts in the first line that fits.
func (a *App) counters() []views.Counter {
	list := make([]views.Counter, len(answers))
	for i, answer := range answers {
		list[i] = views.Counter{Name: answer.name, Note: answer.note}
	}

	counts, err := middleware.Answered(a.registry)
	if err != nil {
		a.log.Warn("count requests failed", "error", err)
	}

	for text, count := range counts {
		status, err := strconv.Atoi(text)
		if err != nil {
			continue
		}
		for i, answer := range answers {
			if answer.counts(status) {
				list[i].Count += count
				break
			}
		}
	}

	return list
}

// settings returns the settings in force, for operators.
func (a *App) settings() []views.Setting {
	var list []views.Setting
	for _, s := range a.Config.settings() {
		list = append(list, views.Setting{Name: s.Name, Value: s.Value, From: s.From, Doc: s.Doc})
	}
	return list
}
