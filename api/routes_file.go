package api

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
)

// getFile sends a stored result to whoever holds its id. Nothing may cache
// it, so that deletion, expiry and suspension work at once.
func (a *API) getFile(w http.ResponseWriter, r *http.Request) error {
	if a.rateLimits {
		verdict, err := a.limiter.Take(r.Context(), a.limitKey("files", clientIP(r, a.ipHeader)), downloadWindow)
		if err != nil || !verdict.Allowed {
			setRateHeaders(w.Header(), verdict)
			return overRate(verdict, err)
		}
	}
	file, err := a.store.PublicFile(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	body, err := a.openBlob(r.Context(), file.BlobKey)
	if err != nil {
		return err
	}
	defer body.Close()
	h := w.Header()
	a.setService(h, resultIDHeader, file.ID)
	a.setService(h, sizeHeader, strconv.FormatInt(file.Size, 10))
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", disposition("attachment", file.Filename))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("Cache-Control", "private, no-store")
	h.Set("ETag", `"`+file.ID+`"`)
	if r.Method == http.MethodGet {
		if err := a.store.CountDownload(r.Context(), file.ID); err != nil {
			return err
		}
	}
	http.ServeContent(w, r, "", file.CreatedAt, body.content)
	return nil
}
