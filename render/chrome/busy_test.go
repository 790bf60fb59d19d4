package chrome

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPagesThatPollAreRendered: documents whose network is never idle are rendered with a warning.
func TestPagesThatPollAreRendered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("site.test/poll", `<p>POLLS<script>const ask = () => fetch('/now?' + Math.random()); ask(); setInterval(ask, 1000)</script>`)
	// Several of these are open at once: a page that stalls for a moment is not idle.
	s.mux.HandleFunc("site.test/now", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
	})
	s.page("site.test/hangs", `<p>HANGS<script>onload = () => fetch('/never')</script>`)
	s.mux.HandleFunc("site.test/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.page("site.test/early", `<p>EARLY<script>fetch('/never')</script>`)
	s.page("site.test/part", `<p>PART<script>fetch('/half').then(r => r.text())</script>`)
	s.page("site.test/unread", `<p>UNREAD<script>fetch('/half')</script>`)
	s.mux.HandleFunc("site.test/half", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	p := startWithSite(t, s)
	for path, want := range map[string]string{
		"poll": "http://site.test/now is still", "hangs": "http://site.test/never", "early": "http://site.test/never",
		"part": "http://site.test/half", "unread": "http://site.test/half",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			warnings, text := printedWith(t, p, Job{URL: "http://site.test/" + path, WaitUntil: waitNetworkIdle0, Timeout: 30 * time.Second})
			warned(t, warnings, NetworkBusy, want, "never became idle")
			if !strings.Contains(text, strings.ToUpper(path)) {
				t.Errorf("%q", text)
			}
		})
	}
}

// TestResponsesThatAreNoPagesAreNamed: the error has what the server returned.
func TestResponsesThatAreNoPagesAreNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path, kind := range map[string]string{"pdf": "application/pdf", "zip": "application/zip"} {
		s.mux.HandleFunc("site.test/"+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte("%PDF-1.7"))
		})
	}
	s.mux.HandleFunc("site.test/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	p := startWithSite(t, s)
	for path, want := range map[string]string{"pdf": "a PDF (application/pdf)", "zip": "a file of the type application/zip", "none": "status 204"} {
		_, err := p.PDF(t.Context(), Job{Account: "a", URL: "http://site.test/" + path}, PDF{})
		var load *LoadError
		if !errors.As(err, &load) || !strings.Contains(load.Reason, want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
