package web_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/web"
)

// endless is a form of a size that is made as it is read.
type endless struct{ left, read int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	for i := range p[:n] {
		p[i] = 'a'
	}
	if e.read == 0 {
		copy(p, "html=")
	}
	e.left, e.read = e.left-n, e.read+n
	return int(n), nil
}

func (*endless) Close() error { return nil }

// allocated returns the number of bytes that do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLittleIsReadFromAnonymousVisitors sends 99 MB to every form without a login. The hash of a password alone
// takes 19 MiB; half of the sent size is far from both.
func TestLittleIsReadFromAnonymousVisitors(t *testing.T) {
	h := sqliteHouse(t, nil)
	handler := h.handler
	for _, page := range h.web.Pages() {
		if page.Method != http.MethodPost {
			continue
		}
		for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"} {
			body, w, used := new(endless), httptest.NewRecorder(), uint64(math.MaxUint64)
			for range 5 { // the least, as other goroutines allocate too
				body = &endless{left: 99 << 20}
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, pathOf(page), body)
				r.ContentLength = body.left
				r.Header = http.Header{"Content-Type": {kind}, "Sec-Fetch-Site": {"same-origin"}}
				w = httptest.NewRecorder()
				if used = min(used, allocated(func() { handler.ServeHTTP(w, r) })); used <= 48<<20 {
					break
				}
			}
			maximum := int64(65 << 10)
			if page.Pattern == "/" {
				maximum = 257 << 10 // the page that visitors try has HTML of 64 KiB
			}
			if body.read > maximum || used > 48<<20 {
				t.Errorf("POST %s as %s: read %d bytes and allocated %d", page.Pattern, kind, body.read, used)
			}
			if page.Need == "manages" && w.Code != http.StatusSeeOther {
				t.Errorf("POST %s as %s: got status %d", page.Pattern, kind, w.Code)
			}
		}
	}
}

// TestLargeFormsShareABudget has forms that stay under way take all of it: the next one
// is not read, and one is once they have ended.
func TestLargeFormsShareABudget(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) { c.Hooks.MaxForms = 4 << 20; c.Hooks.FormWait = 1 })
	v := h.join(t, "maya@example.com")
	v.newTemplate("Bill")
	base, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	handler := h.handler
	send := func(ctx context.Context, body io.Reader, length int64) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/dashboard/templates/partials", body)
		r.ContentLength = length
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
		for _, cookie := range v.client.Jar.Cookies(base) {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	blocked, writer := io.Pipe()
	done := make(chan int)
	go func() { done <- send(t.Context(), blocked, 3<<20) }()
	if _, err := writer.Write([]byte("name=")); err != nil { // It is being read.
		t.Fatal(err)
	}
	body := &endless{left: 2 << 20}
	if got := send(t.Context(), body, 2<<20); got != http.StatusServiceUnavailable || body.read > 0 {
		t.Errorf("beyond the budget: got status %d, and %d bytes were read", got, body.read)
	}
	_ = writer.Close()
	<-done
	if got := send(t.Context(), strings.NewReader("name=x&html=y"+strings.Repeat(" ", 2<<20)), -1); got == http.StatusServiceUnavailable {
		t.Errorf("once it has ended: got status %d", got)
	}
}

// TestZipsUnpackToABound imports small zips that unpack to very much.
func TestZipsUnpackToABound(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	zeros := bytes.Repeat([]byte{' '}, 4<<20)
	pack := func(add func(archive *zip.Writer)) *http.Request {
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		part, err := parts.CreateFormFile("file", "bomb.zip")
		if err != nil {
			t.Fatal(err)
		}
		archive := zip.NewWriter(part)
		add(archive)
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		if err := parts.Close(); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/dashboard/templates/import", &form)
		r.Header = http.Header{"Content-Type": {parts.FormDataContentType()}, "Sec-Fetch-Site": {"same-origin"}}
		base, err := url.Parse(h.url)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range v.client.Jar.Cookies(base) {
			r.AddCookie(cookie)
		}
		return r
	}
	file := func(archive *zip.Writer, name string, content []byte) {
		to, err := archive.Create(name)
		if err == nil {
			_, err = to.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	handler := h.handler
	for name, c := range map[string]struct {
		add    func(archive *zip.Writer)
		status int
		says   string
	}{
		"200 files of 4 MiB": {func(archive *zip.Writer) {
			file(archive, "template.html", []byte("<p>Hello"))
			for i := range 200 {
				file(archive, fmt.Sprintf("partials/p%d.html", i), zeros)
			}
		}, http.StatusUnprocessableEntity, "exceed 24 MiB in total"},
		"an odd name": {func(archive *zip.Writer) {
			file(archive, "template.html", []byte("<p>Hello"))
			file(archive, "partials/a b%zz\n?#\xff.html", []byte("x"))
		}, http.StatusUnprocessableEntity, ""},
		"a path": {func(archive *zip.Writer) {
			file(archive, "template.html", []byte("<p>Hello"))
			file(archive, "partials/../../keys.html", []byte("x"))
		}, http.StatusUnprocessableEntity, ""},
	} {
		r, w := pack(c.add), httptest.NewRecorder()
		used := allocated(func() { handler.ServeHTTP(w, r) })
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: got status %d: %s", name, w.Code, textOf(w.Body.String()))
		}
		if used > 128<<20 {
			t.Errorf("%s: allocated %d bytes", name, used)
		}
	}
}
