package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store/blob"
)

// The images of templates in the list are rendered by the engine and stored as blobs under the hash of their source.
// No row refers to them: a swept image is rendered again on the next visit.

// thumbnailScale is the scale of thumbnails: a third of the pages' size is shown, at two pixels each on dense
// screens.
const thumbnailScale = 0.5

// Kinds of stored images, which their keys start with.
const (
	thumbnailKind = "thumb-"
	pagesKind     = "pages-"
)

// blankThumbnail is the image of a template or a document that has no other.
const blankThumbnail = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 210 297" width="595" height="842"><path fill="#fff" d="M0 0h210v297H0z"/><path fill="none" stroke="#8a919e" stroke-width="2" d="m105 128 22 38H83zM105 142v12M105 160v.1" stroke-linecap="round" stroke-linejoin="round"/></svg>`

func (w *Web) showThumbnail(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}

	image, err := w.thumbnail(v, found.Template)
	if err != nil {
		if v.ctx().Err() != nil {
			return err
		}
		if refused(err) == nil {
			w.log.LogAttrs(
				v.ctx(), slog.LevelWarn, "thumbnail not drawn",
				slog.String("template", found.ID), slog.Any("error", err),
			)
		}
	}

	return v.image(image)
}

// image responds with a PNG, or with a blank image if there is none, which may change at any time.
func (v *pageRequest) image(png []byte) error {
	h := v.w.Header()
	h.Set("Content-Type", "image/png")
	h.Set("Cache-Control", "private, max-age=3600")
	if png == nil {
		h.Set("Content-Type", "image/svg+xml")
		h.Set("Cache-Control", "private, max-age=30")
		png = []byte(blankThumbnail)
	}

	v.w.WriteHeader(http.StatusOK)
	if _, err := v.w.Write(png); err != nil {
		v.web.log.LogAttrs(v.ctx(), slog.LevelDebug, "thumbnail not delivered", slog.Any("error", err))
	}
	return nil
}

// thumbnail returns the image of a template's first page.
func (w *Web) thumbnail(v *pageRequest, t wire.Template) ([]byte, error) {
	partials, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	if err != nil {
		return nil, err
	}

	key := imageKey(thumbnailKind, v.account.ID, t, partials)
	image, err := readBlob(v.ctx(), w.store.Blobs(), key)
	if !errors.Is(err, blob.ErrMissing) {
		return image, err
	}

	made, err := v.preview(t, call.PreviewRequest{Pages: 1, Scale: thumbnailScale})
	if err != nil {
		return nil, err
	}
	if len(made.Images) == 0 {
		return nil, errors.New("a preview has no page")
	}

	if _, err := w.store.Blobs().Put(context.WithoutCancel(v.ctx()), key, bytes.NewReader(made.Images[0])); err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelWarn, "thumbnail not kept", slog.Any("error", err))
	}
	return made.Images[0], nil
}

// imageKey is the hash of all that the images of a template are made of, and of whose they are. The space in JSON does
// not count.
func imageKey(kind, accountID string, t wire.Template, partials wire.PartialList) string {
	sum := sha256.New()
	parts := []string{accountID, *t.HTML, compacted(t.SampleData), compacted(t.Options)}
	for _, p := range partials.Partials {
		parts = append(parts, p.Name, p.HTML)
	}
	for _, part := range parts {
		fmt.Fprintf(sum, "%d\n%s\n", len(part), part)
	}
	return kind + hex.EncodeToString(sum.Sum(nil))
}

func compacted(text []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return string(text)
	}
	return out.String()
}

func readBlob(ctx context.Context, blobs blob.Store, key string) ([]byte, error) {
	content, _, err := blobs.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(content)
	return data, errors.Join(err, content.Close())
}
