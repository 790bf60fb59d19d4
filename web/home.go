package web

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/docs"
)

const (
	homeTitle       = "HTML in, PDF out"
	homeDescription = "An open-source document API. Convert HTML, URLs, Markdown and templates to PDFs and images. " +
		"Merge, stamp, fill and convert documents. Self-hosted or hosted."
)

// Limits of visitors without an account: the length of the HTML, and the number of pages made for one IP address and
// in total.
const (
	maxLiveHTML = 64 << 10
	// maxLiveForm limits the form with it: some characters are encoded as three.
	maxLiveForm = 4 * maxLiveHTML
	livePerHour = 20
	liveAll     = 600
	liveWindow  = time.Hour
	// liveDPI renders a page twice as wide as displayed.
	liveDPI = 80
	// maxLivePage is the largest document that is put into the response.
	maxLivePage = 4 << 20
)

var livePapers = []string{"A4", "Letter", "A5"}

// exampleHTML is the initial content of the box.
//
//go:embed example.html
var exampleHTML string

// shownFirst are the operations on the first page.
var shownFirst = []string{
	"pdf.create", "images.create", "convert.create", "pdf.merge",
	"pdf.form.fill", "pdf.raster", "barcodes.create", "zip.create",
}

// shownLayouts are the layouts on the first page.
var shownLayouts = []string{"invoice-atelier", "report-signal", "certificate-laurel", "ticket-marquee", "menu-verbena"}

func (w *Web) home() views.Home {
	d := exampleDrawing()
	m := views.Home{
		SignUp: w.signUpOpen(), Trial: w.cfg.Trial, Count: len(w.offered), PDF: w.cfg.Prices["pdf.create"],
		LayoutsAll: fmt.Sprintf("%d templates in %d groups", len(w.gallery.List("", "")), len(gallery.Groups())),
		Live: views.Live{
			HTML: exampleHTML, Paper: livePapers[0], Papers: livePapers,
			Limit: fmt.Sprintf("%d pages per hour", livePerHour),
			Page: views.LivePage{
				Image:  publicImagePath + d.nameOf("example"),
				Width:  595,
				Height: 842,
				Facts:  "A4 · rendered from this HTML",
			},
		},
		Samples: docs.Samples(docs.Request{
			Method: http.MethodPost,
			URL:    w.cfg.BaseURL + "/v1/pdf",
			Body:   `{"html":"<h1>Order 1042</h1>"}`,
			File:   "order.pdf",
		}),
		Fault:    docs.Sample("Response to a typo, 400", "json", homeFault),
		SelfHost: docs.Sample("Docker or Podman", "sh", "docker compose -f deploy/compose.yaml up --build"),
	}

	for _, line := range w.priceLines() {
		if slices.Contains(shownFirst, line.Name) {
			m.Prices = append(m.Prices, line)
		}
	}

	for _, id := range shownLayouts {
		if l, ok := w.gallery.Get(id); ok {
			card := layoutCard(l)
			card.Note = ""
			m.Layouts = append(m.Layouts, card)
		}
	}

	return m
}

// homeFault is the API's response to {"html":"<h1>Order 1042</h1>","options":{"formt":"A4"}}.
const homeFault = `{
  "error": {
    "code": "invalid_request",
    "message": "options.formt is not a known field; did you mean options.format?",
    "details": [
      {
        "field": "options.formt",
        "message": "is not a known field; did you mean options.format?"
      }
    ]
  }
}`

func (w *Web) showHome(v *pageRequest) error {
	return v.show(http.StatusOK, views.HomePage(w.publicPage(homeTitle, homeDescription, "", "/"), w.home()))
}

// tryLive renders a visitor's text. The response is the first page; nothing is stored.
func (w *Web) tryLive(v *pageRequest) error {
	m := w.home()
	m.Live.HTML = strings.TrimPrefix(v.r.PostFormValue("html"), "\r\n")
	m.Live.Paper = v.value("paper")

	page, status, err := w.makeLive(v, m.Live)
	var wrong *DocumentError
	switch {
	case errors.As(err, &wrong):
		m.Live.Problem = wrong.Text
	case err != nil:
		return err
	default:
		m.Live.Page = page
	}

	if wrong != nil && status == http.StatusRequestEntityTooLarge {
		m.Live.HTML = ""
	}
	return v.show(status, views.HomePage(w.publicPage(homeTitle, homeDescription, "", "/"), m))
}

// makeLive renders the page, or returns a *DocumentError with the reason.
func (w *Web) makeLive(v *pageRequest, m views.Live) (page views.LivePage, status int, err error) {
	refuse := func(status int, format string, args ...any) (views.LivePage, int, error) {
		return views.LivePage{}, status, &DocumentError{fmt.Sprintf(format, args...)}
	}

	switch {
	case len(m.HTML) > maxLiveHTML:
		return refuse(
			http.StatusRequestEntityTooLarge, "The HTML is %s; the limit is %d KiB here, and 10 MiB with an API key.",
			views.Bytes(int64(len(m.HTML))), maxLiveHTML>>10,
		)
	case strings.TrimSpace(m.HTML) == "":
		return refuse(
			http.StatusUnprocessableEntity, "HTML is required. Enter some, or reload the page for the example.",
		)
	case !slices.Contains(livePapers, m.Paper):
		return refuse(http.StatusUnprocessableEntity, "Paper must be one of %s.", strings.Join(livePapers, ", "))
	}

	if wait, ok := w.allow(v.ctx(), "live:"+middleware.ClientIP(v.ctx()), livePerHour, liveWindow); !ok {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		return refuse(
			http.StatusTooManyRequests,
			"Limit reached: %d pages per hour without an account. Try again in %s, or use an API key.", livePerHour,
			views.Duration(wait.Round(time.Second)),
		)
	}
	if _, ok := w.allow(v.ctx(), "live", liveAll, liveWindow); !ok {
		return refuse(
			http.StatusTooManyRequests,
			"Limit reached: too many visitors are rendering pages. Try again later, or sign up for an API key.",
		)
	}

	start := w.now()
	made, err := w.cfg.Host.Draw(v.ctx(), RenderRequest{
		HTML:   m.HTML,
		Format: m.Paper,
		Page:   1,
		Only:   true,
		DPI:    liveDPI,
	})
	if errors.Is(err, ErrBusy) {
		v.w.Header().Set("Retry-After", "5")
		return refuse(http.StatusServiceUnavailable, busyText)
	}
	var wrong *DocumentError
	if errors.As(err, &wrong) {
		return refuse(http.StatusUnprocessableEntity, "%s", wrong.Text)
	}
	if err != nil {
		return views.LivePage{}, 0, err
	}

	took := w.now().Sub(start)
	if len(made.PDF) > maxLivePage || len(made.Image) > maxLivePage {
		return refuse(
			http.StatusUnprocessableEntity, "The page is %s; the limit here is %s.",
			views.Bytes(int64(max(len(made.PDF), len(made.Image)))), views.Bytes(maxLivePage),
		)
	}
	size, err := png.DecodeConfig(bytes.NewReader(made.Image))
	if err != nil {
		return views.LivePage{}, 0, fmt.Errorf("the image of a page: %w", err)
	}

	return views.LivePage{
		Image: "data:image/png;base64," + base64.StdEncoding.EncodeToString(made.Image),
		Width: size.Width, Height: size.Height,
		PDF:   "data:application/pdf;base64," + base64.StdEncoding.EncodeToString(made.PDF),
		Facts: fmt.Sprintf("1 page · %s · %s · %s", m.Paper, views.Bytes(int64(len(made.PDF))), views.Duration(took)),
	}, http.StatusOK, nil
}

// busy responds to a visitor who requests an image while all slots are busy.
func (v *pageRequest) busy() error {
	v.w.Header().Set("Retry-After", "5")
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.WriteHeader(http.StatusServiceUnavailable)
	_, err := v.w.Write([]byte(busyText + "\n"))
	return err
}
