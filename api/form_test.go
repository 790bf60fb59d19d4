package api_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// formRequest is a request whose body has a part for each pair of name and content;
// a name may have a file's name behind an @.
func formRequest(t *testing.T, fields ...string) apitest.Request {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		name, file, isFile := strings.Cut(fields[i], "@")
		header := `form-data; name="` + name + `"`
		if isFile {
			header += `; filename="` + file + `"`
		}
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {header}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return apitest.Request{Path: echo, Body: body.String(), Header: http.Header{"Content-Type": {w.FormDataContentType()}}}
}

// A form is the input that its JSON is: same result, same key, same faults, same
// limits.
func TestInputAsForm(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	form := formRequest(t, "text", "7", "count", "3", "file@a.bin", "content")
	if got := s.Send(t, form).OK(t); got.Body != "777" {
		t.Errorf("got %q, want 777", got.Body)
	}
	form.Header.Set("Idempotency-Key", "k")
	s.Send(t, form).OK(t)
	again := withKey(t, s, "k", echo, `{"text":"7","count":3,"file":"Y29udGVudA=="}`).OK(t)
	if again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the same input in JSON is another request")
	}
	plain := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","count":0,"labl":"a"}`}).Refused(t, wire.InvalidRequest)
	if got := s.Send(t, formRequest(t, "text", "a", "count", "0", "labl", "a")).Refused(t, wire.InvalidRequest); got.Message != plain.Message {
		t.Errorf("as a form: %q, as JSON: %q", got.Message, plain.Message)
	}
	large := strings.Repeat("x", 512<<10+1)
	s.Send(t, formRequest(t, "text", "a", "file@a", large)).Refused(t, wire.PayloadTooLarge)
	s.Send(t, formRequest(t, "text", "a", "file@a", large+large)).Refused(t, wire.PayloadTooLarge)
	broken := formRequest(t, "text", "a")
	broken.Body = broken.Body[:len(broken.Body)-8]
	s.Send(t, broken).Refused(t, wire.InvalidRequest)
	none := apitest.Request{Path: echo, Body: "x", Header: http.Header{"Content-Type": {"multipart/form-data"}}}
	s.Send(t, none).Refused(t, wire.InvalidRequest)
	expectBalance(t, s, apitest.Trial-2*apitest.EchoPrice)
}
