package api

import (
	"context"
	"net/http"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
)

// getHealth touches nothing: it reports that the process runs, not that it works.
func (a *API) getHealth(ctx context.Context, _ call.Caller, _ noInput) (wire.Health, error) {
	return wire.Health{
		OK: true, Service: "relaypdf", Version: a.options.Version, RequestID: middleware.RequestID(ctx),
	}, nil
}

// readiness has the status 503 if the service is not ready.
type readiness struct{ wire.Readiness }

func (r readiness) head(http.Header) int {
	if !r.OK {
		return http.StatusServiceUnavailable
	}
	return 0
}

func (a *API) ready(ctx context.Context, _ call.Caller, _ noInput) (readiness, error) {
	return readiness{a.Readiness(ctx)}, nil
}
