package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"relaypdf/api/call"
	"relaypdf/api/embedding"
	"relaypdf/api/wire"
	"relaypdf/store/blob"
	"relaypdf/views"
)

// maxLastPages and maxLastBytes bound the pages of a draft that are stored for its next visit.
const (
	maxLastPages = 3
	maxLastBytes = 512 << 10
)

// lastPages are the first pages of the last preview of a draft, which the editor shows until new ones are rendered.
type lastPages struct {
	Scale  float64  // pixels of the images for one CSS pixel
	Images [][]byte // PNG
}

// storePages stores the first pages of a preview under the hash of its source.
func (w *Web) storePages(v *pageRequest, source []byte, scale float64, made call.Preview) {
	var t wire.Template
	last := lastPages{Scale: scale}
	size := 0
	for _, image := range made.Images[:min(len(made.Images), maxLastPages)] {
		if size += len(image); size > maxLastBytes {
			break
		}
		last.Images = append(last.Images, image)
	}
	partials, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	decoder := json.NewDecoder(bytes.NewReader(source))
	decoder.DisallowUnknownFields() // Pages of other data are not those of the draft.
	if err != nil || decoder.Decode(&t) != nil || t.HTML == nil || len(last.Images) == 0 {
		return
	}
	body, err := json.Marshal(last)
	if err == nil {
		_, err = w.store.Blobs().Put(context.WithoutCancel(v.ctx()), imageKey(pagesKind, v.account.ID, t, partials), bytes.NewReader(body))
	}
	if err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelWarn, "pages not stored", slog.Any("error", err))
	}
}

// lastPagesOf returns the stored pages of a draft, or its image in the list, or none.
func (w *Web) lastPagesOf(v *pageRequest, t wire.Template) (last lastPages, err error) {
	partials, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	if err != nil {
		return last, err
	}
	stored, err := readBlob(v.ctx(), w.store.Blobs(), imageKey(pagesKind, v.account.ID, t, partials))
	if err == nil {
		return last, json.Unmarshal(stored, &last)
	}
	if errors.Is(err, blob.ErrMissing) {
		stored, err = readBlob(v.ctx(), w.store.Blobs(), imageKey(thumbnailKind, v.account.ID, t, partials))
	}
	switch {
	case errors.Is(err, blob.ErrMissing):
		return last, nil
	case err != nil:
		return last, err
	}
	return lastPages{thumbnailScale, [][]byte{stored}}, nil
}

// lastPagesIn returns the stored pages as the editor shows them. An editor without them still opens.
func (w *Web) lastPagesIn(v *pageRequest, t wire.Template, path string) (shown []views.LastPage) {
	last, err := w.lastPagesOf(v, t)
	if err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelWarn, "stored pages not read", slog.String("template", t.ID), slog.Any("error", err))
		return nil
	}
	for i, image := range last.Images {
		size, err := png.DecodeConfig(bytes.NewReader(image))
		if err != nil {
			continue
		}
		shown = append(shown, views.LastPage{URL: path + "/pages/" + strconv.Itoa(i+1), Width: size.Width, Height: size.Height, Scale: last.Scale})
	}
	return shown
}

// showLastPage responds with the image of a stored page.
func (w *Web) showLastPage(v *pageRequest) error {
	if v.embedded != nil && !v.embedded.May(embedding.Preview) {
		return errLinkDenies
	}
	found, err := v.template()
	if err != nil {
		return err
	}
	last, err := w.lastPagesOf(v, found.Template)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(chi.URLParam(v.r, "page"))
	if err != nil || n < 1 || n > len(last.Images) {
		return errNotFound
	}
	v.w.Header().Set("Content-Type", "image/png")
	v.w.WriteHeader(http.StatusOK)
	if _, err := v.w.Write(last.Images[n-1]); err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelDebug, "stored page not delivered", slog.Any("error", err))
	}
	return nil
}
