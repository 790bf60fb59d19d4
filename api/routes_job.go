package api

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"relaypdf/store"
)

// getJob tells an account what has become of its job.
func (a *API) getJob(w http.ResponseWriter, r *http.Request) error {
	call, err := a.store.Job(r.Context(), callerFrom(r.Context()).Account.ID, chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	status := a.accepted(call.ResultID)
	switch call.Status {
	case store.CallFailed:
		status = a.failed(call, call.Failure)
	case store.CallDone:
		status = JobStatus{ID: call.ResultID, Status: jobCompleted, PollURL: a.jobURL(call.ResultID)}
		file, err := a.store.PublicFile(r.Context(), call.ResultID)
		switch {
		case err == nil:
			status = a.completed(call, &file)
		case !errors.Is(err, store.ErrNotFound):
			return err
		case call.EndedAt != nil:
			expired := call.EndedAt.Add(fileLifetime)
			status.ExpiresAt = shownTime(&expired)
		}
	default:
		w.Header().Set("Retry-After", "1")
	}
	return writeJSON(w, http.StatusOK, status)
}
