package operation

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/spool"
)

const redSquare = `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40"><text y="30" font-size="20">REMOTE</text></svg>`

// TestAssetsInHeaders: headers and footers show images from the network and from the assets, and missing ones cause
// warnings.
func TestAssetsInHeaders(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/logo.svg":
			fmt.Fprint(w, redSquare)
		case "/page":
			fmt.Fprint(w, "<html>no picture")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	a := newDeps(t, strings.TrimPrefix(site.URL, "http://")).Render
	one := 1.0
	settings := render.PDF{
		Margin: render.Margin{Top: &one, Bottom: &one},
		Header: `<img src="` + site.URL + `/logo.svg" style="height:40px"><img src="own/mark.svg" alt="" style="height:40px">`,
		Footer: `<link rel=stylesheet href="https://a.example/x.css"><img src="` + site.URL + `/absent"><img src="` + site.URL + `/page"><img src="http://10.0.0.1/x.png"><img src="nowhere.png"><style>@import "https://b.example/y.css";</style>`,
	}
	src := render.Source{HTML: "<p>body", Assets: []chrome.Asset{{Name: "own/mark.svg", Content: spool.FromBytes([]byte(strings.ReplaceAll(redSquare, "REMOTE", "OWN")))}}}
	doc, err := a.PDF(t.Context(), src, render.PageSettings{}, settings)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range doc.Warnings {
		said = append(said, w.Code+" "+w.String())
	}
	if text := textOf(t, doc.Body); !strings.Contains(text, "REMOTE") || !strings.Contains(text, "OWN") || !strings.Contains(text, "body") {
		t.Errorf("printed %q", text)
	}
	for _, want := range []string{
		"https://a.example/x.css the footer does not load style sheets", "/absent the footer has a missing image: the server returned status 404",
		"/page the footer has a missing image: the URL does not return an image", "http://10.0.0.1/x.png the footer has a missing image",
		"nowhere.png the footer has a missing image: its URL is relative", "the footer does not load URLs in styles",
	} {
		if !strings.Contains(strings.Join(said, "\n"), "resource_failed "+want) && !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
	_, err = a.PDF(t.Context(), src, render.PageSettings{Strict: chrome.FailOn{Resources: true}}, settings)
	var faults *chrome.WarningsError
	if !errors.As(err, &faults) || len(faults.Faults) != 6 {
		t.Errorf("under failOnResourceError: %v", err)
	}

	// Content as wide as the paper, with padding, is not cut.
	settings.Header, settings.Footer = `<div style="width:100%;padding:0 20mm;text-align:right">LAST</div>`, ""
	doc, err = a.PDF(t.Context(), render.Source{HTML: "<p>body"}, render.PageSettings{}, settings)
	if err != nil {
		t.Fatal(err)
	}
	_, word, _ := strings.Cut(textOf(t, doc.Body, "-bbox"), "<word")
	var left, top, right float64
	if _, err := fmt.Sscanf(word, ` xMin="%f" yMin="%f" xMax="%f"`, &left, &top, &right); err != nil || right > 8.5*72-50 {
		t.Errorf("the last word of the header ends at %.1f of 612 pt (%v)", right, err)
	}
}
