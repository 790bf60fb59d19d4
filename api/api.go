// Package api is the HTTP API of the service: its routes, its description, and its access control.
package api

import (
	"net/http"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/ratelimit"
)

// Options are the settings of an API besides those of its services.
type Options struct {
	// MaxBody is the maximum size of a request, in bytes.
	MaxBody int64
	// RedirectFiles sends downloads of results to the bucket that has them.
	RedirectFiles bool
	// Version is shown by /health.
	Version string
}

// API serves the services over HTTP. Its methods are safe for concurrent use.
type API struct {
	*service.Services

	options Options
	reads   *ratelimit.Gate
	openapi func() ([]byte, error) // written when it is first asked for
	handler *chi.Mux
	person  http.Handler
	paths   []string // of routes, without those that hold an id
	links   linker   // nil where downloads are not sent elsewhere
}

// New returns the API of the services.
func New(services *service.Services, options Options) *API {
	a := &API{Services: services, options: options, reads: ratelimit.NewGate(maxReads)}
	if options.RedirectFiles {
		a.links, _ = a.Store.Blobs().(linker)
	}
	a.openapi = sync.OnceValues(a.describe)

	a.handler = a.router(a.routes())
	a.person = a.sessionRouter()
	return a
}

// NewHealth returns an API that has only the routes of the server's state, for a process without other routes.
func NewHealth(services *service.Services, options Options) *API {
	a := &API{Services: services, options: options}
	a.handler = a.router(a.healthRoutes())
	return a
}

// MountAgents adds the endpoint for agents. It must be called before requests are served.
func (a *API) MountAgents(agents http.Handler) {
	a.handler.Method(http.MethodPost, AgentPath, a.serve(func(w http.ResponseWriter, r *http.Request) error {
		agents.ServeHTTP(w, r)
		return nil
	}))
	a.handler.Method(http.MethodOptions, AgentPath, preflight("POST", agentHeaders))
}
