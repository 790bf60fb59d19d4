package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"strings"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/static"
	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/views"
)

// publicPolicy is the content security policy of a page that is the same for all users: it cannot have a nonce.
const publicPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// serveAll makes a handler of a public page.
func (w *Web) serveAll(p pageRoute) http.Handler {
	refuse := func(rw http.ResponseWriter, r *http.Request, err error) {
		w.serve(pageRoute{need: noLogin, handle: func(*pageRequest) error { return err }}).ServeHTTP(rw, r)
	}

	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		made := &middleware.Recorder{}
		v := &pageRequest{web: w, w: made, r: r, public: true}
		var failed error
		handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			failed = readForm(v, rw, maxLiveForm)
			if failed == nil {
				failed = p.handle(v)
			}
		})
		recovered := func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err }
		middleware.Recover(recovered)(handler).ServeHTTP(made, r)

		if failed != nil {
			refuse(rw, r, failed)
			return
		}
		if err := sendPublic(rw, r, made); err != nil {
			w.log.LogAttrs(r.Context(), slog.LevelInfo, "page not delivered", slog.Any("error", err))
		}
	})
}

// readForm reads the fields of a form.
func readForm(v *pageRequest, rw http.ResponseWriter, maximum int64) error {
	if v.r.Method != http.MethodPost {
		return nil
	}
	v.r.Body = http.MaxBytesReader(rw, v.r.Body, maximum)
	if err := v.r.ParseForm(); err != nil {
		return errForm
	}
	return nil
}

// sendPublic sends a rendered page, or 304 if the visitor has it already.
func sendPublic(rw http.ResponseWriter, r *http.Request, made *middleware.Recorder) error {
	h := rw.Header()
	h.Set("Content-Security-Policy", publicPolicy)
	for name, values := range made.Header() {
		h[name] = values
	}

	content := made.Body.Bytes()
	h.Add("Vary", "Accept-Encoding") // a 304 has it, too
	if r.Method != http.MethodPost && made.Status == http.StatusOK {
		sum := sha256.Sum256(content)
		tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
		h.Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			rw.WriteHeader(http.StatusNotModified)
			return nil
		}
	}

	if len(content) <= 1000 || strings.HasPrefix(h.Get("Content-Type"), "image/") {
		rw.WriteHeader(made.Status)
		_, err := rw.Write(content)
		return err
	}
	return sendZipped(rw, r, made.Status, content, "")
}

// sendZipped responds with content, compressed if the client accepts that. The comment is part of the compressed data
// and invisible.
func sendZipped(w http.ResponseWriter, r *http.Request, status int, content []byte, comment string) error {
	h := w.Header()
	if static.TakesGzip(r) {
		var short bytes.Buffer
		zip := gzip.NewWriter(&short)
		zip.Comment = comment
		_, err := zip.Write(content)
		if err := errors.Join(err, zip.Close()); err != nil {
			return err
		}
		h.Set("Content-Encoding", "gzip")
		content = short.Bytes()
	}

	w.WriteHeader(status)
	_, err := w.Write(content)
	return err
}

// publicPage returns the data that a public page needs in addition to its model.
func (w *Web) publicPage(title, description, open, path string) views.Page {
	return views.Page{
		Title: title, Open: open, Version: w.cfg.Version, Asset: w.assets.URL,
		Public: &views.Public{
			Description: description,
			URL:         w.cfg.BaseURL + path,
			Image:       w.cfg.BaseURL + publicImagePath + w.card(path),
			SignUp:      w.signUpOpen(),
			Links:       w.customLinks(),
		},
	}
}

// text responds with a file that is not a page.
func (v *pageRequest) text(kind, content string) error {
	v.w.Header().Set("Content-Type", kind)
	_, err := v.w.Write([]byte(content))
	return err
}

// ErrBusy is returned by Host.Draw while API calls use all slots.
var ErrBusy = errors.New("all rendering slots are busy")

// DocumentError is an error of a document, in words for users.
type DocumentError struct{ Text string }

func (e *DocumentError) Error() string { return e.Text }

// RenderRequest is a document to render without an account or a network.
type RenderRequest struct {
	HTML string
	// Template is filled with Data where HTML is empty.
	Template  string
	Data      []byte
	Format    string // A4, Letter, …
	Landscape bool
	// Page is the page whose image is requested; 0 means none. Only means to print no other page.
	Page int
	Only bool
	DPI  int
	// Width and Height, in pixels, request an image of the HTML as on a screen instead of a document.
	Width, Height int
}

// RenderedSheet is the output for a Sheet.
type RenderedSheet struct {
	PDF, Image []byte // the image is a PNG
}

// public yields the public pages, as the sitemap has them. Those of the operations are last: the first request for them
// waits until the API is described.
func (w *Web) public() iter.Seq[publicPage] {
	return func(yield func(publicPage) bool) {
		for _, list := range []func() []publicPage{w.listed, w.operations} {
			for _, p := range list() {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// list returns the public pages except those of the operations.
func (w *Web) list() []publicPage {
	list := []publicPage{{"/", homeTitle, homeDescription}, {galleryPath, "PDF templates", galleryDescription}}
	for _, g := range gallery.Groups() {
		list = append(list, publicPage{galleryPath + "/" + g.Slug, g.Name, galleryDescription})
	}
	for _, category := range w.gallery.Categories() {
		list = append(list, publicPage{
			galleryPath + "/" + category, categoryName(category) + " templates", galleryDescription,
		})
	}
	for _, l := range w.gallery.List("", "") {
		list = append(list, publicPage{l.Href(), l.Name, l.Description})
	}

	list = append(
		list, publicPage{pricingPath, "Pricing", pricingDescription},
		publicPage{statusPath, "Status", statusDescription},
		publicPage{changelogPath, changelogTitle, changelogDescription},
		publicPage{docsPath, docsTitle, docsDescription},
	)
	for _, g := range w.docs.Guides {
		list = append(list, publicPage{docsPath + "/" + g.Slug, g.Title, g.Description})
	}

	list = append(list, publicPage{referencePath, referenceTitle, referenceDescription})
	for _, own := range w.cfg.CustomPages {
		list = append(list, publicPage{own.Path, own.Title, customPageDescription(own)})
	}
	return list
}

func (w *Web) listOperations() (list []publicPage) {
	for _, o := range w.docs.Operations() {
		list = append(list, publicPage{operationPath(o.ID), o.Summary, o.About()})
	}
	return list
}
