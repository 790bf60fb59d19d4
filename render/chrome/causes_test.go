package chrome

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// TestPagesThatAreNotLoadedHaveTheirCause: PDFs and images of URLs that lead nowhere fail with the cause, before the
// timeout.
func TestPagesThatAreNotLoadedHaveTheirCause(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	redirect := func(from, to string) { s.mux.Handle("site.test"+from, http.RedirectHandler(to, http.StatusFound)) }
	redirect("/itself", "/itself")
	redirect("/there", "/back")
	redirect("/back", "/there")
	for i := range 40 {
		redirect(fmt.Sprint("/far/", i), fmt.Sprint("/far/", i+1))
	}
	redirect("/topdf", "/pdf")
	redirect("/tofile", "file:///etc/passwd")
	redirect("/toftp", "ftp://site.test/")
	redirect("/tojavascript", "javascript:alert(1)")
	redirect("/todata", "data:text/html,<p>data")
	redirect("/toabout", "about:blank")
	redirect("/toupper", "JavaScript:alert(1)")
	redirect("/todatatwice", "/todata")
	redirect("/tocustom", "intent:other")
	redirect("/tonothing", "/gone")
	s.mux.HandleFunc("site.test/pdf", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = w.Write([]byte("%PDF-1.7\n"))
	})
	s.mux.HandleFunc("site.test/attached", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Disposition", `attachment; filename="a.html"`)
		_, _ = w.Write([]byte("<p>a"))
	})
	s.mux.HandleFunc("site.test/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusGone) })
	s.mux.HandleFunc("site.test/secret", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="a"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	s.page("site.test/refreshes", `<meta http-equiv=refresh content="0; url=/refreshes"><p>REFRESHES`)
	s.page("site.test/reloads", `<script>location.reload()</script><p>RELOADS`)
	s.page("site.test/ping", `<script>location = '/pong'</script><p>PING`)
	s.page("site.test/pong", `<script>location = '/ping'</script><p>PONG`)
	p := startWithSite(t, s)

	const job = 60 * time.Second
	for path, want := range map[string]string{
		"itself": "redirects too many times", "there": "redirects too many times", "far/0": "redirects too many times",
		"refreshes": "without end", "reloads": "without end", "ping": "without end",
		"topdf": "a PDF (application/pdf)", "attached": "as a download (Content-Disposition: attachment)",
		"tofile": `the scheme "file"`, "toftp": `the scheme "ftp"`, "tojavascript": `the scheme "javascript"`, "todata": `the scheme "data"`,
		"toabout": `the scheme "about"`, "toupper": `the scheme "javascript"`, "todatatwice": `the scheme "data"`, "tocustom": `the scheme "intent"`,
		"tonothing": "410", "secret": "401",
	} {
		for kind, render := range map[string]func(Job) error{
			"PDF": func(j Job) error {
				doc, err := p.PDF(t.Context(), j, PDF{})
				if err == nil {
					_ = doc.Body.Close()
				}
				return err
			},
			"image": func(j Job) error {
				image, err := p.Screenshot(t.Context(), j, Screenshot{})
				if err == nil {
					_ = image.Body.Close()
				}
				return err
			},
		} {
			tries := 1
			if want == "without end" {
				tries = 5 // A machine that stalls between two loads seems idle, and the document is printed.
			}
			var err error
			var took time.Duration
			for ; tries > 0 && err == nil; tries-- {
				began := time.Now()
				err = render(Job{Account: "a", URL: "http://site.test/" + path, Timeout: job, WaitUntil: waitNetworkIdle0})
				took = time.Since(began)
			}

			text := ""
			var load *LoadError
			if errors.As(err, &load) {
				if text = ReasonText(load.Reason); load.Status != 0 {
					text = fmt.Sprint(load.Status)
				}
			} else if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, want) || took > job/2 {
				t.Errorf("%s of %s: %q after %v (%v), want %q", kind, path, text, took.Round(time.Millisecond), err, want)
			}
		}
	}
}

// TestEncodingsOfPages: a page is read in the encoding that its byte order mark or its server names.
func TestEncodingsOfPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const text = "Grüße an Łukasz"
	page := `<!doctype html><title>t</title><p>` + text
	inUTF16 := func(order binary.AppendByteOrder) (b []byte) {
		for _, unit := range utf16.Encode([]rune("\ufeff" + page)) {
			b = order.AppendUint16(b, unit)
		}
		return b
	}
	latin := []byte(strings.NewReplacer("ü", "\xfc", "ß", "\xdf", "Ł", "\xa3").Replace(page)) // ISO 8859-2 and Windows-1250
	for path, c := range map[string]struct {
		kind string
		body []byte
	}{
		"le":        {"text/html", inUTF16(binary.LittleEndian)},
		"be":        {"text/html", inUTF16(binary.BigEndian)},
		"leagainst": {"text/html; charset=utf-8", inUTF16(binary.LittleEndian)},
		"beagainst": {"text/html; charset=windows-1252", inUTF16(binary.BigEndian)},
		"lebare":    {"text/html; charset=utf-16le", inUTF16(binary.LittleEndian)[2:]},
		"bebare":    {"text/html; charset=utf-16be", inUTF16(binary.BigEndian)[2:]},
		"mark":      {"text/html", []byte("\ufeff" + page)},
		"meta":      {"text/html", append([]byte("<!doctype html><meta charset=windows-1250>"), latin...)},
		"against":   {"text/html; charset=windows-1252", []byte("\ufeff" + page)},
		"header":    {"text/html; charset=iso-8859-2", latin},
	} {
		s.mux.HandleFunc("site.test/"+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			_, _ = w.Write(c.body)
		})
	}
	p := startWithSite(t, s)
	for _, path := range []string{"le", "be", "leagainst", "beagainst", "lebare", "bebare", "mark", "against", "header", "meta"} {
		if warnings, got := printedWith(t, p, Job{URL: "http://site.test/" + path}); strings.TrimSpace(got) != text || len(warnings) > 0 {
			t.Errorf("%s: %q, %v", path, got, warnings)
		}
	}
	for name, job := range map[string]Job{"html": {HTML: "\ufeff" + page}, "script": {HTML: "\ufeff<script></script>" + page, RenderMode: ModeRealm}, "assets": {HTML: "\ufeff" + page, Assets: []Asset{}, RenderMode: ModeOnce}} {
		if _, got := printedWith(t, p, job); strings.TrimSpace(got) != text {
			t.Errorf("%s: %q", name, got)
		}
	}
}
