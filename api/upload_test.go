package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// copyInput is the input of test.copy, which responds with a stored file.
type copyInput struct {
	schema.Common
	operation.FileSource
	Fields map[string]any `json:"fields,omitempty" jsonschema_description:"Names that the caller chose."`
}

const copying = "/v1/test/copy"

// copies starts a server whose operations are test.echo and test.copy.
func copies(t *testing.T, db *storetest.DB) *apitest.Server {
	t.Helper()
	file := "file_x"
	row := schema.TypedDefinition[*operation.Deps, copyInput]{
		Info:    schema.Info{Name: "test.copy", Summary: "Answer with a file", Price: apitest.EchoPrice, Produces: []string{"text/plain"}},
		Example: copyInput{FileSource: operation.FileSource{FileID: &file}},
		Run: func(ctx context.Context, deps *operation.Deps, in *copyInput) (schema.Result, error) {
			body, err := deps.Stored(ctx, *in.FileID)
			if errors.Is(err, store.ErrNotFound) {
				return schema.Result{}, schema.FieldErrors{{Field: "fileId", Message: "is gone"}}
			}
			return schema.Result{Stem: "copy", Extension: ".txt", ContentType: "text/plain", Body: body}, err
		},
	}
	return apitest.New(t, apitest.Options{DB: db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(nil), row}, Change: quiet})
}

// uploaded reads the response to an upload.
func uploaded(t *testing.T, answer apitest.Response) wire.Upload {
	t.Helper()
	var file wire.Upload
	if err := json.Unmarshal([]byte(answer.Body), &file); err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("got %d %s (%v), want 201 and a file", answer.Status, answer.Body, err)
	}
	return file
}

// send uploads raw bytes and returns the file's id.
func send(t *testing.T, s *apitest.Server, content string) string {
	t.Helper()
	return uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: content})).ID
}

// formOf is the body of a form and its content type. Parts are written as they
// are given: name, file name, content.
func formOf(t *testing.T, parts ...[3]string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for _, part := range parts {
		header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + part[0] + `"; filename="` + part[1] + `"`}}
		w, err := form.CreatePart(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(part[2])); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), form.FormDataContentType()
}

func TestUpload(t *testing.T) {
	t.Parallel()
	pdf := string(letters("alpha"))
	form, formType := formOf(t, [3]string{"note", "", "ignored"}, [3]string{"file", "form.pdf", pdf})
	nameless, namelessType := formOf(t, [3]string{"file", "", "text"})
	for name, q := range map[string]struct {
		body   string
		header http.Header
		want   wire.Upload
		file   string // the content of a form's body
	}{
		"raw":                  {pdf, http.Header{"X-Filename": {"a.pdf"}, "Content-Type": {"application/pdf"}}, wire.Upload{Filename: "a.pdf", ContentType: "application/pdf"}, ""},
		"a brand's header":     {"text", http.Header{"X-Relaypdf-Filename": {"a.txt"}, "Content-Type": {"text/csv; charset=x"}}, wire.Upload{Filename: "a.txt", ContentType: "text/csv"}, ""},
		"without a name":       {pdf, http.Header{"Content-Type": nil}, wire.Upload{Filename: "upload", ContentType: "application/pdf"}, ""},
		"curl's own type":      {pdf, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, wire.Upload{Filename: "upload", ContentType: "application/pdf"}, ""},
		"percent-encoded":      {"x", http.Header{"X-Filename": {"%C3%9Cbersicht%20%E2%82%AC.pdf"}}, wire.Upload{Filename: "Übersicht €.pdf", ContentType: "application/json"}, ""},
		"UTF-8":                {"x", http.Header{"X-Filename": {"Übersicht 100%.pdf"}}, wire.Upload{Filename: "Übersicht 100%.pdf", ContentType: "application/json"}, ""},
		"a path":               {"x", http.Header{"X-Filename": {`..\..%2F../etc/passwd`}}, wire.Upload{Filename: "passwd", ContentType: "application/json"}, ""},
		"a form":               {form, http.Header{"Content-Type": {formType}}, wire.Upload{Filename: "form.pdf", ContentType: "application/pdf"}, pdf},
		"a form without names": {nameless, http.Header{"Content-Type": {namelessType}, "X-Filename": {"b.txt"}}, wire.Upload{Filename: "b.txt", ContentType: "text/plain"}, "text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			answer := s.Send(t, apitest.Request{Path: "/v1/files", Body: q.body, Header: q.header})
			got := uploaded(t, answer)
			q.want.ID, q.want.ExpiresAt, q.want.SizeBytes = got.ID, apitest.Start().Add(24*time.Hour), got.SizeBytes
			if got != q.want {
				t.Errorf("got %+v, want %+v", got, q.want)
			}
			if kept := s.Content(t, got.ID); kept != cmp.Or(q.file, q.body) || got.SizeBytes != int64(len(kept)) {
				t.Errorf("%q was kept, of %d bytes; want what was sent", kept, got.SizeBytes)
			}
			if answer.Header.Get("RateLimit") == "" {
				t.Error("the upload was not counted in the rate limits")
			}
			if after, _ := s.Balance(t); after != int64(apitest.Trial) {
				t.Errorf("the upload cost %d", int64(apitest.Trial)-after)
			}
		})
	}
}

func TestUploadRefused(t *testing.T) {
	t.Parallel()
	const limit = 512 << 10
	large := strings.Repeat("x", limit+1)
	form := func(parts ...[3]string) apitest.Request {
		body, contentType := formOf(t, parts...)
		return apitest.Request{Body: body, Header: http.Header{"Content-Type": {contentType}}}
	}
	cut := form([3]string{"file", "a", "content"})
	cut.Body = cut.Body[:len(cut.Body)-8]
	s := apitest.New(t, apitest.Options{Change: quiet})
	for name, q := range map[string]struct {
		request apitest.Request
		code    wire.Code
		said    string
	}{
		"nothing":            {apitest.Request{}, wire.InvalidRequest, "must not be empty"},
		"too large":          {apitest.Request{Body: large}, wire.PayloadTooLarge, "file must be at most 524288 bytes"},
		"far too large":      {apitest.Request{Body: strings.Repeat(large, 4)}, wire.PayloadTooLarge, "file must be at most"},
		"too large a form":   {form([3]string{"file", "a", large}), wire.PayloadTooLarge, "file must be at most 524288 bytes"},
		"much else in it":    {form([3]string{"other", "a", strings.Repeat(large, 4)}, [3]string{"file", "a", "x"}), wire.PayloadTooLarge, "file must be at most 524288 bytes"},
		"an empty form":      {form(), wire.InvalidRequest, "is required"},
		"another field":      {form([3]string{"document", "a", "x"}), wire.InvalidRequest, "is required in the form"},
		"an empty file":      {form([3]string{"file", "a", ""}), wire.InvalidRequest, "must not be empty"},
		"two files":          {form([3]string{"file", "a", "x"}, [3]string{"file", "b", "x"}), wire.InvalidRequest, "more than once"},
		"a form cut short":   {cut, wire.InvalidRequest, "is incomplete"},
		"a form without end": {apitest.Request{Body: "x", Header: http.Header{"Content-Type": {"multipart/form-data"}}}, wire.InvalidRequest, "boundary"},
		"no key":             {apitest.Request{Body: large, Header: without()}, wire.Unauthorized, "key is required"},
	} {
		q.request.Path = "/v1/files"
		if got := s.Send(t, q.request).Refused(t, q.code); !strings.Contains(got.Message, q.said) {
			t.Errorf("%s: message %q, want it to say %q", name, got.Message, q.said)
		}
	}
	s.Send(t, apitest.Request{Path: "/v1/files", Body: large[:limit]})
	expectEffects(t, s, "file upload 524288", "blob 524288")
}

// TestUploadThatBreaksOff leaves nothing, not even a part of a blob.
func TestUploadThatBreaksOff(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	for _, how := range []string{"Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nfffff\r\n"} {
		line, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(line, "POST /v1/files HTTP/1.1\r\nHost: x\r\nX-Request-Id: cut\r\nAuthorization: Bearer "+s.Secret+"\r\n"+how+strings.Repeat("x", 70_000))
		if err := errors.Join(err, line.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(5 * time.Minute); strings.Count(s.Log.String(), `"requestId":"cut"`) < 2; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the requests did not end")
		}
	}
	expectEffects(t, s)
	err := filepath.WalkDir(db.DataDir+"/blobs", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUploadQuotaIsNamed: the quota itself is tested in the store.
func TestUploadQuotaIsNamed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	large := store.File{
		ID: "file_large", AccountID: s.Account.ID, Filename: "large", BlobKey: "large", Size: store.MaxUploadBytes, ExpiresAt: s.Clock.Now().Add(time.Hour),
	}
	if err := s.Store.AddUpload(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	got := s.Send(t, apitest.Request{Path: "/v1/files", Body: "x"}).Refused(t, wire.InvalidRequest)
	want := "1 of 1000 files, 5368709120 bytes of 5 GiB. Delete some, or wait: the first expires at " + large.ExpiresAt.UTC().Format(time.RFC3339) + "."
	if !strings.Contains(got.Message, want) {
		t.Errorf("message %q, want %q in it", got.Message, want)
	}
	expectEffects(t, s, "file large 5368709120")
}

func TestUploadsAreSources(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	id := send(t, s, string(letters("alpha", "beta")))
	for _, source := range []string{id, fileURL(t, s.Send(t, apitest.Request{Path: "/v1/pdf/extract", Body: `{"fileId":"` + id + `","response":"url"}`})).ID} {
		got := s.Send(t, apitest.Request{Path: "/v1/pdf/extract", Body: `{"fileId":"` + source + `","pages":"2"}`}).OK(t)
		if got, want := words(t, got.Body, ""), []string{"beta"}; !reflect.DeepEqual(got, want) {
			t.Errorf("pages %q, want %q", got, want)
		}
	}
}

// TestJobKeepsItsFiles deletes a job's upload while the job waits, and lets a day pass: only the job can read the
// file until it has ended.
func TestJobKeepsItsFiles(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := copies(t, &db)
		id := send(t, s, "content")
		s.Clock.Advance(2 * time.Hour) // The job waits for less than a day, and the file expires.
		body := `{"fileId":"` + id + `","response":"async","fields":{"fileId":"a name"}}`
		job := s.Enqueue(t, apitest.Request{Path: copying, Body: body})
		s.Send(t, apitest.Request{Method: "DELETE", Path: "/v1/files/" + id}).OK(t)
		s.Clock.Advance(23 * time.Hour)
		s.API.Calls.Reaper().Once(t.Context())
		s.Send(t, apitest.Request{Method: "DELETE", Path: "/v1/files/" + id}).Refused(t, wire.NotFound)
		s.Send(t, apitest.Request{Path: copying, Body: body}).Refused(t, wire.InvalidRequest)
		s.Work(t)
		if job = s.Await(t, job.ID); job.Status != "completed" {
			t.Fatalf("the job is %+v, its error %+v", job, job.Error)
		}
		got := s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + job.ID}).OK(t)
		if got.Body != "content" {
			t.Errorf("the result is %q, want content", got.Body)
		}
		s.API.Calls.Reaper().Once(t.Context())
		want := append([]string{"call test.copy done charged 2000"}, settled...)
		expectEffects(t, s, append(want, "job ended tries 1", "file copy.txt 7", "blob 7")...)
	})
}

// TestJobNeedsItsFiles: the same refusal on each field at fault, before anything is held or stored.
func TestJobNeedsItsFiles(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := copies(t, &db)
		_, _, secret := s.NewAccount(t, "eve@example.com")
		foreign := uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: "x", Header: bearerOf(secret)})).ID
		expired := send(t, s, "x")
		s.Clock.Advance(24 * time.Hour)
		s.API.Calls.Reaper().Once(t.Context())
		want := []wire.Detail{{Field: "fileId", Message: "is not the ID of a stored file of this account. Files expire, after 24 hours by default"}}
		for _, id := range []string{"file_none", foreign, expired} {
			got := s.Send(t, apitest.Request{Path: copying, Body: `{"fileId":"` + id + `","response":"async"}`}).Refused(t, wire.InvalidRequest)
			if !reflect.DeepEqual(got.Details, want) || got.Message != "fileId "+want[0].Message+"." {
				t.Errorf("details %+v, message %q; want %+v", got.Details, got.Message, want)
			}
		}
		expectEffects(t, s)
	})
}

func TestDeleteFile(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	_, _, eve := s.NewAccount(t, "eve@example.com")
	upload, result := send(t, s, "x"), stored(t, s, `{"text":"a","response":"url"}`)
	waiting := s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID
	remove := func(id string, header http.Header) apitest.Response {
		return s.Send(t, apitest.Request{Method: "DELETE", Path: "/v1/files/" + id, Header: header})
	}
	for _, id := range []string{upload, result} {
		remove(id, without()).Refused(t, wire.Unauthorized)
		missing := remove("file_none", bearerOf(eve)).Refused(t, wire.NotFound)
		if foreign := remove(id, bearerOf(eve)).Refused(t, wire.NotFound); foreign.Message != missing.Message {
			t.Errorf("another account's file: %q, want what a missing one gets, %q", foreign.Message, missing.Message)
		}
		if got := remove(id, nil).OK(t); strings.TrimSpace(got.Body) != `{"ok":true}` {
			t.Errorf("got %s, want ok", got.Body)
		}
		remove(id, nil).Refused(t, wire.NotFound)
		s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id}).Refused(t, wire.NotFound)
	}
	remove(waiting, nil).Refused(t, wire.NotFound)
	for _, effect := range s.Effects(t) {
		if strings.HasPrefix(effect, "file ") {
			t.Errorf("%s is left", effect)
		}
	}
}

// TestUploadIsItsOwners downloads an upload with the key of its account, and
// with none, another's and a wrong one.
func TestUploadIsItsOwners(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	id := uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: "mine", Header: http.Header{"X-Filename": {"a.txt"}}})).ID
	_, _, other := s.NewAccount(t, "other@example.com")
	path := "/v1/files/" + id
	got := s.Send(t, apitest.Request{Method: "GET", Path: path}).OK(t)
	if disposition := got.Header.Get("Content-Disposition"); got.Body != "mine" || !strings.Contains(disposition, `filename="a.txt"`) {
		t.Errorf("the owner got %q, %s", got.Body, disposition)
	}
	want := s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/file_none"}).Refused(t, wire.NotFound).Message
	for name, header := range map[string]http.Header{"none": without(), "another's": bearerOf(other), "a wrong one": bearerOf("pdf_live_wrong")} {
		if message := s.Send(t, apitest.Request{Method: "GET", Path: path, Header: header}).Refused(t, wire.NotFound).Message; message != want {
			t.Errorf("%s: message %q, want that of a file that never was, %q", name, message, want)
		}
	}
}

// TestKeysHaveTheUploadsTheyMade: a key that may not use all operations gets, lists and
// deletes the uploads that it sent, and no others.
func TestKeysHaveTheUploadsTheyMade(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		narrow := func() http.Header {
			_, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Operations: []string{"test.echo"}})
			return bearerOf(secret)
		}
		own, other := narrow(), narrow()
		ask := func(method, path string, header http.Header) apitest.Response {
			return s.Send(t, apitest.Request{Method: method, Path: path, Header: header})
		}
		mine := uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: "mine", Header: own})).ID
		theirs := send(t, s, "theirs")
		if got := ask("GET", "/v1/files/"+mine, own).OK(t); got.Body != "mine" {
			t.Errorf("its own upload is %q", got.Body)
		}
		for id, headers := range map[string][]http.Header{mine: {other, without()}, theirs: {own, other, without()}} {
			for _, header := range headers {
				ask("GET", "/v1/files/"+id, header).Refused(t, wire.NotFound)
			}
		}
		for name, q := range map[string]struct {
			header http.Header
			want   []string
		}{"own": {own, []string{mine}}, "other": {other, nil}, "full": {nil, []string{theirs, mine}}} {
			var list wire.FileList
			if err := json.Unmarshal([]byte(ask("GET", "/v1/files", q.header).OK(t).Body), &list); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, file := range list.Files {
				got = append(got, file.ID)
			}
			slices.Sort(got) // both uploads have the same time
			slices.Sort(q.want)
			if !slices.Equal(got, q.want) {
				t.Errorf("the %s key lists %v, want %v", name, got, q.want)
			}
		}
		ask("DELETE", "/v1/files/"+mine, other).Refused(t, wire.NotFound)
		ask("DELETE", "/v1/files/"+theirs, own).Refused(t, wire.NotFound)
		ask("DELETE", "/v1/files/"+mine, own).OK(t)
		ask("GET", "/v1/files/"+mine, nil).Refused(t, wire.NotFound)
		ask("DELETE", "/v1/files/"+theirs, nil).OK(t)
	})
}
