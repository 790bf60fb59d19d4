package api_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// unpack returns the names and the contents of an archive.
func unpack(t *testing.T, archive string) (names, contents []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.zip")
	if err := os.WriteFile(path, []byte(archive), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "unzip", "-tqq", path).CombinedOutput(); err != nil {
		t.Fatalf("unzip: %v\n%s", err, out)
	}
	reader, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range reader.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		_ = content.Close()
		names, contents = append(names, f.Name), append(contents, string(text))
	}
	return names, contents
}

func TestZip(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	document := string(letters("alpha", "beta", "gamma"))
	id := fileURL(t, s.Send(t, apitest.Request{Path: "/v1/zip", Body: `{"files":[{"file":"YQ","filename":"a"}],"response":"url"}`})).ID
	before, _ := s.Balance(t)
	answer := s.Send(t, apitest.Request{Path: "/v1/zip", Body: `{"filename":"Spring: 2026","files":[
		{"url":"` + lab.files.URL + `/letters.pdf","filename":"Übersicht/日本.pdf"},
		{"file":` + inline([]byte(document)) + `,"filename":"Übersicht/日本.pdf"},
		{"file":"data:text/plain;base64,aGk=","filename":"../../etc/cron.d/hi"},
		{"fileId":"` + id + `","filename":"C:\\a.zip"}]}`}).OK(t)
	names, contents := unpack(t, answer.Body)
	if want := []string{"Übersicht/日本.pdf", "Übersicht/日本 (2).pdf", "hi", "a.zip"}; !reflect.DeepEqual(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if contents[0] != document || contents[1] != document || contents[2] != "hi" {
		t.Errorf("contents %.40q", contents)
	}
	if inner, text := unpack(t, contents[3]); !reflect.DeepEqual(append(inner, text...), []string{"a", "a"}) {
		t.Errorf("the archive inside holds %q and %q", inner, text)
	}
	if got, want := answer.Header.Get("Content-Disposition"), `attachment; filename="Spring: 2026.zip"`; !strings.HasPrefix(got, want) {
		t.Errorf("disposition %q, want %q", got, want)
	}
	if got := answer.Header.Get("Content-Type"); got != "application/zip" {
		t.Errorf("type %q", got)
	}
	if after, held := s.Balance(t); before-after != 200 || held != 0 {
		t.Errorf("it cost %d and holds %d, want 200 and 0", before-after, held)
	}
}

// TestZipTakesEmptyFiles: an empty file may come in the request and from a URL.
func TestZipTakesEmptyFiles(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	answer := s.Send(t, apitest.Request{Path: "/v1/zip", Body: `{"files":[
		{"url":"` + lab.files.URL + `/empty","filename":"a.txt"},{"file":"","filename":"b.txt"},{"file":"YQ","filename":"c.txt"}]}`}).OK(t)
	names, contents := unpack(t, answer.Body)
	if got, want := slices.Concat(names, contents), []string{"a.txt", "b.txt", "c.txt", "", "", "a"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestZipOfThirty(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	var files []string
	var want []string
	for i := range 30 {
		content := bytes.Repeat([]byte{byte('a' + i%26)}, 1000*i+1)
		files = append(files, fmt.Sprintf(`{"file":%s,"filename":"%d"}`, inline(content), i))
		want = append(want, string(content))
	}
	answer := s.Send(t, apitest.Request{Path: "/v1/zip", Body: `{"files":[` + strings.Join(files, ",") + `]}`}).OK(t)
	if _, got := unpack(t, answer.Body); !reflect.DeepEqual(got, want) {
		t.Error("the contents are not those of the files in their order")
	}
	files = append(files, files[0])
	failure := s.Send(t, apitest.Request{Path: "/v1/zip", Body: `{"files":[` + strings.Join(files, ",") + `]}`}).Refused(t, wire.InvalidRequest)
	if want := []wire.Detail{{Field: "files", Message: "must be an array of 1 to 30 items; got an array of 31 items"}}; !reflect.DeepEqual(failure.Details, want) {
		t.Errorf("details %+v, want %+v", failure.Details, want)
	}
}

func TestZipFails(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	before, _ := s.Balance(t)
	const sources = "Send exactly one of url, file, fileId"
	good := `{"file":"YQ","filename":"a"}`
	for _, test := range []struct {
		body string
		code wire.Code
		want []wire.Detail
	}{
		{`{}`, wire.InvalidRequest, []wire.Detail{{Field: "files", Message: "is required"}}},
		{`{"files":[{"file":"YQ"},{"filename":"b"},{"file":"YQ","url":"https://a.example","filename":"c"}]}`, wire.InvalidRequest, []wire.Detail{
			{Field: "files[0].filename", Message: "is required"},
			{Field: "files[1].file", Message: "is required unless another source is given. " + sources},
			{Field: "files[2].file", Message: "is mutually exclusive with files[2].url. " + sources}}},
		{`{"files":[` + good + `,{"url":"` + lab.files.URL + `/gone","filename":"b"}]}`, wire.ProcessingFailed, []wire.Detail{
			{Field: "files[1].url", Message: "could not be fetched: the server returned status 410"}}},
		{`{"files":[` + good + `,{"url":"http://169.254.169.254/","filename":"b"}]}`, wire.URLNotAllowed, []wire.Detail{
			{Field: "files[1].url", Message: "must be an http or https URL of a public host"}}},
		{`{"files":[` + good + `,{"url":"` + lab.files.URL + `/large","filename":"b"}]}`, wire.PayloadTooLarge, []wire.Detail{
			{Field: "files[1].url", Message: "must be at most 524288 bytes"}}},
		{`{"files":[` + good + `,{"fileId":"file_missing","filename":"b"}]}`, wire.InvalidRequest, []wire.Detail{
			{Field: "files[1].fileId", Message: "is not the ID of a stored file of this account. Files expire, after 24 hours by default"}}},
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/zip", Body: test.body}).Refused(t, test.code)
		if !reflect.DeepEqual(failure.Details, test.want) {
			t.Errorf("%s: details %+v, want %+v", test.body, failure.Details, test.want)
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("failed calls cost %d and hold %d, want nothing", before-after, held)
	}
}
