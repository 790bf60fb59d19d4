package web

import (
	"io"
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/service/templates"
)

// framesPerMinute bounds how often a user's templates are filled, which every key that is pressed may cause.
const framesPerMinute = 300

// framePolicy is the policy of a filled template: no script, no network, and an opaque origin.
const framePolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// showFilled responds with the HTML of a draft, for the frame that shows it without page breaks. For a draft
// that cannot be filled the response is empty, and the frame keeps its content; the error is shown with the pages.
func (w *Web) showFilled(v *pageRequest) error {
	if _, err := v.template(); err != nil {
		return err
	}

	in, wrong := v.draft()
	if wrong != "" {
		return nothing(v.w)
	}

	return w.fillFrame(
		v, map[string]any{"html": in.HTML, "sampleData": in.SampleData, "options": in.Options}, framePolicy,
	)
}

// fillFrame responds with the filled template.
func (w *Web) fillFrame(v *pageRequest, in map[string]any, policy string) error {
	if _, ok := w.allow(v.ctx(), "filled:"+actorOf(v), framesPerMinute, time.Minute); !ok {
		return nothing(v.w)
	}

	input, err := templates.Encode(in)
	if err != nil {
		return err
	}
	html, err := w.templates.Fill(v.ctx(), v.caller(), input)
	switch {
	case v.ctx().Err() != nil:
		return v.ctx().Err()
	case err != nil:
		_ = v.fault(err)
		return nothing(v.w)
	}

	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	if v.embedded == nil {
		h.Set("X-Frame-Options", "SAMEORIGIN")
	}
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Referrer-Policy", "no-referrer")

	v.w.WriteHeader(http.StatusOK)
	_, err = io.WriteString(v.w, html)
	return err
}

// nothing responds without a page: the browser stays on the current one.
func nothing(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}
