package api_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// stored calls test.echo, which must answer with the address of a file, and
// returns the file's id.
func stored(t *testing.T, s *apitest.Server, body string) string {
	t.Helper()
	return fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: body})).ID
}

func fileURL(t *testing.T, got apitest.Response) wire.FileURL {
	t.Helper()
	var file wire.FileURL
	if err := json.Unmarshal([]byte(got.OK(t).Body), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestURLMode(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	answer := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"ab","count":3,"response":"url","filename":"letter"}`})
	got := fileURL(t, answer)
	want := wire.FileURL{
		ID: got.ID, Status: "completed", URL: s.URL + "/v1/files/" + got.ID, Filename: "letter.txt", SizeBytes: 6,
		ExpiresAt: apitest.Start().Add(24 * time.Hour),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if id := answer.Header.Get("x-service-id"); id != got.ID {
		t.Errorf("x-service-id is %q, want %q", id, got.ID)
	}
	for _, header := range []string{"x-service-size", "Content-Disposition"} {
		if value := answer.Header.Get(header); value != "" {
			t.Errorf("%s is %q, want none: the body is not the file", header, value)
		}
	}
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + got.ID, Header: without()}).OK(t)
}

func TestDownloadHeaders(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	id := stored(t, s, `{"text":"0123456789","response":"url"}`)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		got := s.Send(t, apitest.Request{Method: method, Path: "/v1/files/" + id, Header: bearerOf("pdf_live_ignored")}).OK(t)
		for header, want := range map[string]string{
			"Content-Type": "application/octet-stream", "Content-Disposition": `attachment; filename="echo.txt"; filename*=UTF-8''echo.txt`,
			"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox", "Cache-Control": "private, no-store",
			"x-service-id": id, "x-service-size": "10", "x-relaypdf-id": id, "x-relaypdf-size": "10", "Content-Length": "10",
			"Accept-Ranges": "bytes", "Access-Control-Allow-Origin": "*",
		} {
			if value := got.Header.Get(header); value != want {
				t.Errorf("%s: %s is %q, want %q", method, header, value, want)
			}
		}
		if want := map[string]string{"GET": "0123456789", "HEAD": ""}[method]; got.Body != want {
			t.Errorf("%s: body %q, want %q", method, got.Body, want)
		}
	}
}

func TestDownloadParts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	id := stored(t, s, `{"text":"0123456789","response":"url"}`)
	get := func(header http.Header) apitest.Response {
		return s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id, Header: header})
	}
	etag := get(nil).OK(t).Header.Get("ETag")
	for _, q := range []struct {
		name   string
		header http.Header
		status int
		body   string
	}{
		{"a range", http.Header{"Range": {"bytes=2-4"}}, http.StatusPartialContent, "234"},
		{"the end", http.Header{"Range": {"bytes=-3"}}, http.StatusPartialContent, "789"},
		{"a range of this version", http.Header{"Range": {"bytes=2-4"}, "If-Range": {etag}}, http.StatusPartialContent, "234"},
		{"a range of another version", http.Header{"Range": {"bytes=2-4"}, "If-Range": {`"x"`}}, http.StatusOK, "0123456789"},
		{"the same content", http.Header{"If-None-Match": {etag}}, http.StatusNotModified, ""},
		{"other content", http.Header{"If-None-Match": {`"x"`}}, http.StatusOK, "0123456789"},
	} {
		if got := get(q.header); got.Status != q.status || got.Body != q.body {
			t.Errorf("%s: got %d %q, want %d %q", q.name, got.Status, got.Body, q.status, q.body)
		}
	}
	if got := get(http.Header{"Range": {"bytes=10-"}}); got.Status != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("beyond the end: status %d, want 416", got.Status)
	}
}

func TestFilenames(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for requested, want := range map[string]string{
		`report`:               `attachment; filename="report.txt"; filename*=UTF-8''report.txt`,
		`Report.TXT`:           `attachment; filename="Report.txt"; filename*=UTF-8''Report.txt`,
		`a+b c.txt`:            `attachment; filename="a+b c.txt"; filename*=UTF-8''a%2Bb%20c.txt`,
		`Übersicht €.txt`:      `attachment; filename="_bersicht _.txt"; filename*=UTF-8''%C3%9Cbersicht%20%E2%82%AC.txt`,
		`../../etc/passwd`:     `attachment; filename="passwd.txt"; filename*=UTF-8''passwd.txt`,
		`..\\..\\boot.ini`:     `attachment; filename="boot.ini.txt"; filename*=UTF-8''boot.ini.txt`,
		`a\"b;c=%41.txt`:       `attachment; filename="a_b;c=_41.txt"; filename*=UTF-8''a%22b%3Bc%3D%2541.txt`,
		`a\r\nSet-Cookie: x=1`: `attachment; filename="aSet-Cookie: x=1.txt"; filename*=UTF-8''aSet-Cookie%3A%20x%3D1.txt`,
		`a\u0000b`:             `attachment; filename="ab.txt"; filename*=UTF-8''ab.txt`,
		`txt.\u202egpj`:        `attachment; filename="txt.gpj.txt"; filename*=UTF-8''txt.gpj.txt`,
		`..`:                   `attachment; filename="echo.txt"; filename*=UTF-8''echo.txt`,
		`.txt`:                 `attachment; filename="txt.txt"; filename*=UTF-8''txt.txt`,
		`/`:                    `attachment; filename="echo.txt"; filename*=UTF-8''echo.txt`,
		``:                     `attachment; filename="echo.txt"; filename*=UTF-8''echo.txt`,
	} {
		got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","filename":"` + requested + `"}`}).OK(t)
		if value := got.Header.Get("Content-Disposition"); value != want {
			t.Errorf("filename %s:\n got  %s\n want %s", requested, value, want)
		}
		if got.Header.Get("Set-Cookie") != "" {
			t.Errorf("filename %s set a cookie", requested)
		}
	}
	long := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","response":"url","filename":"` + strings.Repeat("ü", 255) + `"}`})
	if got := fileURL(t, long).Filename; len(got) > 200 || !strings.HasSuffix(got, "ü.txt") {
		t.Errorf("a long filename became %q (%d bytes), want at most 200 bytes and whole characters", got, len(got))
	}
}

func TestFilesEnd(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	get := func(id string) apitest.Response {
		return s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id, Header: without()})
	}
	missing := get("file_unknown").Refused(t, wire.NotFound).Message
	sameAsMissing := func(what, id string) {
		t.Helper()
		if got := get(id).Refused(t, wire.NotFound).Message; got != missing {
			t.Errorf("%s: message %q, want that of a file that never was, %q", what, got, missing)
		}
	}
	expiring := stored(t, s, `{"text":"a","response":"url"}`)
	s.Clock.Advance(24*time.Hour - time.Second)
	get(expiring).OK(t)
	s.Clock.Advance(time.Second)
	sameAsMissing("expired", expiring)

	deleted := stored(t, s, `{"text":"a","response":"url"}`)
	if err := s.Store.DeleteFile(t.Context(), s.Account.ID, deleted); err != nil {
		t.Fatal(err)
	}
	sameAsMissing("deleted", deleted)

	suspended := stored(t, s, `{"text":"a","response":"url"}`)
	if err := s.Store.Suspend(t.Context(), s.Account.ID, "test"); err != nil {
		t.Fatal(err)
	}
	sameAsMissing("suspended", suspended)
	if err := s.Store.Resume(t.Context(), s.Account.ID); err != nil {
		t.Fatal(err)
	}
	get(suspended).OK(t)
}

func TestDownloadsAreCounted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	id := stored(t, s, `{"text":"a","response":"url"}`)
	for _, method := range []string{"GET", "HEAD", "GET"} {
		s.Send(t, apitest.Request{Method: method, Path: "/v1/files/" + id}).OK(t)
	}
	awaitDownloads(t, s, id, 2)
}

// awaitDownloads waits until so many downloads of a file have been written.
func awaitDownloads(t *testing.T, s *apitest.Server, id string, want int64) {
	t.Helper()
	var got int64
	for range 3000 {
		file, err := s.Store.PublicFile(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got = file.Downloads; got == want {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("%d downloads are counted, want %d", got, want)
}

// TestDownloadsWaitForNoWrite downloads a result during another write to the database that does not end.
func TestDownloadsWaitForNoWrite(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db})
		id := stored(t, s, `{"text":"0123456789","response":"url"}`)
		release := lockFiles(t, db)
		for _, header := range []http.Header{nil, {"Range": {"bytes=2-4"}}, {"Range": {"bytes=10-"}}} {
			s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id, Header: header})
		}
		if file, err := s.Store.PublicFile(t.Context(), id); err != nil || file.Downloads != 0 {
			t.Errorf("%d downloads are counted (%v) although nothing can be written", file.Downloads, err)
		}
		release()
		awaitDownloads(t, s, id, 2) // The third asked for nothing that is there.
	})
}

// lockFiles begins a transaction that keeps others from writing to files, until
// release is called.
func lockFiles(t *testing.T, db storetest.DB) (release func()) {
	t.Helper()
	driver, source, lock := "pgx", db.URL, []string{"BEGIN", "LOCK TABLE files IN SHARE MODE"}
	if path, ok := strings.CutPrefix(db.URL, "sqlite://"); ok {
		driver, source, lock = "sqlite", "file:"+path+"?_pragma=busy_timeout(60000)", []string{"BEGIN IMMEDIATE"} // The server may be writing.
	}
	pool, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range lock {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
	}
}

// TestStorageFailure makes the folder of the blobs unusable and restores it.
func TestStorageFailure(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	id := stored(t, s, `{"text":"a","response":"url"}`)
	blobs := db.DataDir + "/blobs"
	if err := os.Rename(blobs, blobs+".away"); err != nil {
		t.Fatal(err)
	}
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id}).Refused(t, wire.StorageUnavailable)
	s.Send(t, apitest.Request{Path: echo, Body: `{"text":"b","response":"url"}`}).Refused(t, wire.StorageUnavailable)
	if err := os.Rename(blobs+".away", blobs); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"call test.echo done charged 2000", "call test.echo failed charged 0 storage_unavailable",
		"ledger hold wallet -2000", "ledger hold held 2000", "ledger settle held -2000", "ledger settle revenue 2000",
		"ledger hold wallet -2000", "ledger hold held 2000", "ledger release held -2000", "ledger release wallet 2000",
		"file echo.txt 1", "blob 1",
	}
	if got := s.Effects(t); !slices.Equal(got, want) {
		t.Errorf("effects are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(s.Log.String(), "put blob") {
		t.Error("the log does not tell the cause")
	}
}
