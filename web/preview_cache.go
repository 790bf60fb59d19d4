package web

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/docs"
)

// maxLooks is the maximum number of bytes of previews in memory.
const maxLooks = 32 << 20

// previewCache holds previews of stored results, which never change, by the results' IDs. Each is made once at a time.
type previewCache struct {
	*byteCache[wire.Look]

	mu     sync.Mutex
	making map[string]chan struct{}
}

func newPreviewCache() *previewCache {
	return &previewCache{byteCache: newByteCache[wire.Look](maxLooks), making: map[string]chan struct{}{}}
}

// get returns a preview, which it makes unless it is in memory, or another request makes it meanwhile. A preview that
// says why it is incomplete may be complete the next time, and is not stored.
func (l *previewCache) get(ctx context.Context, id string, create func() (wire.Look, error)) (wire.Look, error) {
	for {
		l.mu.Lock()
		look, ok := l.find(id)
		other, making := l.making[id]
		if !ok && !making {
			l.making[id] = make(chan struct{})
		}
		l.mu.Unlock()

		if ok {
			return look, nil
		}
		if !making {
			break
		}

		select {
		case <-other:
		case <-ctx.Done():
			return wire.Look{}, ctx.Err()
		}
	}

	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.making[id])
		delete(l.making, id)
	}()

	look, err := create()
	if err == nil && look.Note == "" {
		size := len(look.Text)
		for _, image := range look.Images {
			size += len(image.Data)
		}
		l.store(id, look, size)
	}
	return look, err
}

// filePreview returns the preview of a stored result of the account. Its pages cost nothing, and count as one of the
// account's previews of a day.
func (v *pageRequest) filePreview(resultID string) (wire.Look, error) {
	return v.web.previews.get(v.ctx(), resultID, func() (look wire.Look, err error) {
		answer, err := v.send(
			nil, http.MethodGet, "/v1/files/"+url.PathEscape(resultID)+"/look", http.NoBody, http.Header{},
		)
		if err == nil {
			err = answer.read(&look)
		}

		if r := refused(err); r != nil {
			return wire.Look{Note: r.Error()}, nil
		}
		return look, err
	})
}

// textLanguages maps the media types of readable results to their highlighting languages.
var textLanguages = map[string]string{"application/json": "json", "image/svg+xml": "html", "text/html": "html"}

// previewOf returns a preview as a page shows it. source returns the URL of an image.
func previewOf(look wire.Look, filename string, source func(i int) string) views.ResultPreview {
	m := views.ResultPreview{
		ContentType: look.ContentType,
		Pages:       look.Pages,
		Cut:         look.Cut,
		Note:        look.Note,
		Sheets:      look.ContentType == "application/pdf",
	}

	language := textLanguages[look.ContentType]
	text := look.Text
	if language == "json" {
		text = jsonText([]byte(text))
	}
	m.Text = docs.Own(filename, language, text)

	for i := range look.Images {
		m.Images = append(m.Images, source(i))
	}

	return m
}

// inline returns the URL that holds an image of a preview.
func inline(look wire.Look) func(i int) string {
	return func(i int) string {
		image := look.Images[i]
		return "data:" + image.ContentType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
	}
}

// imageOf returns the URL of an image of a document's preview.
func imageOf(callID string) func(i int) string {
	return func(i int) string { return documentsPath + "/" + callID + "/images/" + strconv.Itoa(i+1) }
}

// showImage sends an image of a document's preview: a page, or the image that the document is.
func (w *Web) showImage(v *pageRequest) error {
	document, err := v.document()
	if err != nil {
		return err
	}
	if _, err := w.store.AccountFile(v.ctx(), v.account.ID, document.ResultID); err != nil {
		return err // It has expired or was deleted.
	}

	look, err := v.filePreview(document.ResultID)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(chi.URLParam(v.r, "n"))
	if err != nil || n < 1 || n > len(look.Images) {
		return store.ErrNotFound
	}

	image := look.Images[n-1]
	v.w.Header().Set("Content-Type", image.ContentType)
	v.w.Header().Set("Cache-Control", "private, max-age=3600")
	_, err = v.w.Write(image.Data)
	return err
}
