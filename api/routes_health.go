package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Health is the answer of GET /health.
type Health struct {
	OK        bool   `json:"ok" jsonschema:"required" jsonschema_description:"Always true: the process answers."`
	Service   string `json:"service" jsonschema:"required" jsonschema_description:"Name of the service."`
	Version   string `json:"version,omitempty" jsonschema_description:"Version of the program."`
	RequestID string `json:"requestId" jsonschema_description:"Id of this request."`
}

// getHealth touches nothing: it tells that the process runs, not that it works.
func (a *API) getHealth(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, Health{OK: true, Service: "relaypdf", Version: a.version, RequestID: requestID(r.Context())})
}

// Readiness is the answer of GET /health/ready, with status 503 when not ok.
type Readiness struct {
	OK     bool              `json:"ok" jsonschema:"required" jsonschema_description:"Whether work is accepted."`
	Checks map[string]string `json:"checks" jsonschema:"required" jsonschema_description:"The outcome of each check: ok, failed, stopping or full."`
	Queue  QueueState        `json:"queue" jsonschema:"required" jsonschema_description:"How busy the renderer is."`
}

// QueueState tells how busy the renderer is.
type QueueState struct {
	Slots  int `json:"slots" jsonschema:"required" jsonschema_description:"Renders that can run at once."`
	Busy   int `json:"busy" jsonschema:"required" jsonschema_description:"Renders that run."`
	Queued int `json:"queued" jsonschema:"required" jsonschema_description:"Renders that wait."`
}

// readyTimeout bounds each check; a balancer asks again soon.
const readyTimeout = 3 * time.Second

// getReady makes a real call to the browser and to the database.
func (a *API) getReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	stats := a.renderStats()
	ready := Readiness{
		OK:     true,
		Checks: map[string]string{},
		Queue:  QueueState{Slots: stats.Slots, Busy: stats.Busy, Queued: stats.Queued},
	}
	check := func(name string, err error) {
		ready.Checks[name] = "ok"
		if err != nil {
			ready.OK, ready.Checks[name] = false, "failed"
			a.log.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.String("check", name), slog.Any("error", err))
		}
	}
	check("database", a.store.Ping(ctx))
	if a.render != nil {
		check("browser", a.render.Ready(ctx))
	}
	if a.stopping.Load() {
		ready.OK, ready.Checks["process"] = false, "stopping"
	}
	if stats.Queued > 0 && stats.Queued >= stats.QueueLimit {
		ready.OK, ready.Checks["queue"] = false, "full"
	}
	status := http.StatusOK
	if !ready.OK {
		status = http.StatusServiceUnavailable
	}
	return writeJSON(w, status, ready)
}
