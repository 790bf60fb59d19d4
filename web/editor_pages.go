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
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/editorlink"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/views"
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

// storedPages holds the keys of the pages that this process has stored last, by account and template: pages of text
// that is being typed replace one another. Forgotten ones are swept after a day.
type storedPages struct {
	sync.Mutex

	keys map[string]string
}

// maxStoredPages bounds the number of templates in storedPages.
const maxStoredPages = 10_000

// swap sets the key of a template and returns the one before.
func (s *storedPages) swap(template, key string) (before string) {
	s.Lock()
	defer s.Unlock()
	if s.keys == nil || len(s.keys) >= maxStoredPages {
		s.keys = map[string]string{}
	}
	before = s.keys[template]
	s.keys[template] = key
	return before
}

// storePages stores the first pages of a preview under the hash of its source.
func (w *Web) storePages(v *pageRequest, source []byte, scale float64, made call.Preview) {
	var t wire.Template
	last := lastPages{Scale: scale}
	size := 0
	for _, image := range made.Images[:min(len(made.Images), maxLastPages)] {
		size += len(image)
		if size > maxLastBytes {
			break
		}
		last.Images = append(last.Images, image)
	}

	ctx := context.WithoutCancel(v.ctx())
	partials, err := w.templates.Partials(ctx, v.caller(), struct{}{})
	decoder := json.NewDecoder(bytes.NewReader(source))
	decoder.DisallowUnknownFields() // Pages of other data are not those of the draft.
	if err != nil || decoder.Decode(&t) != nil || t.HTML == nil || len(last.Images) == 0 {
		return
	}

	body, err := json.Marshal(last)
	if err == nil {
		key := imageKey(pagesKind, v.account.ID, t, partials)
		_, err = w.store.Blobs().Put(ctx, key, bytes.NewReader(body))
		if before := w.previewPages.swap(v.account.ID+"/"+v.ref().ID, key); before != "" && before != key {
			err = errors.Join(err, w.store.Blobs().Delete(ctx, before))
		}
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
		err = json.Unmarshal(stored, &last)
		return last, err
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
		w.log.LogAttrs(
			v.ctx(), slog.LevelWarn, "stored pages not read",
			slog.String("template", t.ID), slog.Any("error", err),
		)
		return nil
	}

	for i, image := range last.Images {
		size, err := png.DecodeConfig(bytes.NewReader(image))
		if err != nil {
			continue
		}
		shown = append(shown, views.LastPage{
			URL:    path + "/pages/" + strconv.Itoa(i+1),
			Width:  size.Width,
			Height: size.Height,
			Scale:  last.Scale,
		})
	}

	return shown
}

// showLastPage responds with the image of a stored page.
func (w *Web) showLastPage(v *pageRequest) error {
	if v.embedded != nil && !v.embedded.May(editorlink.Preview) {
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
