package api_test

import (
	"archive/zip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf"
)

// inline is a PDF as the value of a field.
func inline(content []byte) string {
	return `"` + base64.StdEncoding.EncodeToString(content) + `"`
}

// words returns the words of a PDF's pages, as poppler reads them.
func words(t *testing.T, content, password string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "document.pdf")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range [][]string{{"qpdf", "--check", "--password=" + password, path}, {"pdftotext", "-upw", password, path, "-"}} {
		out, err := exec.CommandContext(t.Context(), program[0], program[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", program, err, out)
		}
		if program[0] == "pdftotext" {
			return strings.Fields(string(out))
		}
	}
	return nil
}

// TestExamplesRun sends every example of the API's description as it is.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	for path, example := range examples(t, s) {
		if got := s.Send(t, apitest.Request{Path: path, Body: string(example)}); got.Status != http.StatusOK || got.Body == "" {
			t.Errorf("%s: the example got status %d: %.300s", path, got.Status, got.Body)
		}
	}
}

// TestExamplesRunOnUploads sends the examples with uploads instead of their files.
func TestExamplesRunOnUploads(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	uploads := 0
	var upload func(v any)
	upload = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if text, ok := v["file"].(string); ok {
				content, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				answer := s.Send(t, apitest.Request{
					Path: "/v1/files", Body: string(content), Header: http.Header{"Content-Type": {"application/octet-stream"}, "X-Filename": {"x"}},
				})
				var file struct{ ID string }
				if err := json.Unmarshal([]byte(answer.Body), &file); err != nil || answer.Status != http.StatusCreated {
					t.Fatalf("upload: %+v, %v", answer, err)
				}
				delete(v, "file")
				v["fileId"] = file.ID
				uploads++
			}
			for _, member := range v {
				upload(member)
			}
		case []any:
			for _, item := range v {
				upload(item)
			}
		}
	}
	for path, example := range examples(t, s) {
		var body map[string]any
		if err := json.Unmarshal(example, &body); err != nil {
			t.Fatal(err)
		}
		upload(body)
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Send(t, apitest.Request{Path: path, Body: string(text)}); got.Status != http.StatusOK || got.Body == "" {
			t.Errorf("%s: the example got status %d: %.300s", path, got.Status, got.Body)
		}
	}
	if uploads < 15 {
		t.Errorf("only %d files were uploaded", uploads)
	}
}

func TestToolsMakePDFs(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	source := `"file":` + inline(letters("alpha", "beta", "gamma"))
	locked := s.Send(t, apitest.Request{Path: "/v1/pdf/protect", Body: `{` + source + `,"userPassword":"geheim"}`}).OK(t).Body
	for _, test := range []struct {
		path, body, file string
		want             []string
	}{
		{"merge", `{"files":[{` + source + `},{` + source + `,"filename":"b.pdf"}]}`, "merged.pdf", []string{"alpha", "beta", "gamma", "alpha", "beta", "gamma"}},
		{"merge", `{"files":[{"file":` + inline([]byte(locked)) + `,"password":"geheim"},{` + source + `}]}`, "merged.pdf", []string{"alpha", "beta", "gamma", "alpha", "beta", "gamma"}},
		{"extract", `{` + source + `,"pages":"3,1-2"}`, "pages.pdf", []string{"gamma", "alpha", "beta"}},
		{"extract", `{` + source + `,"pages":[3,3,1],"filename":"../x"}`, "x.pdf", []string{"gamma", "gamma", "alpha"}},
		{"extract", `{` + source + `}`, "pages.pdf", []string{"alpha", "beta", "gamma"}},
		{"delete-pages", `{` + source + `,"pages":[2.0]}`, "pages.pdf", []string{"alpha", "gamma"}},
		{"rotate", `{` + source + `,"degrees":-90,"pages":"even"}`, "rotated.pdf", []string{"alpha", "beta", "gamma"}},
		{"unlock", `{"file":` + inline([]byte(locked)) + `,"password":"geheim"}`, "unlocked.pdf", []string{"alpha", "beta", "gamma"}},
		{"compress", `{` + source + `}`, "compressed.pdf", []string{"alpha", "beta", "gamma"}},
		{"repair", `{` + source + `}`, "repaired.pdf", []string{"alpha", "beta", "gamma"}},
		{"crop", `{` + source + `,"margins":{"top":"1mm","left":4},"pages":"1-2"}`, "cropped.pdf", []string{"alpha", "beta", "gamma"}},
		{"optimize", `{` + source + `,"imageQuality":50}`, "optimized.pdf", []string{"alpha", "beta", "gamma"}},
		{"compress-advanced", `{` + source + `,"level":"high"}`, "compressed.pdf", []string{"alpha", "beta", "gamma"}},
		{"resize", `{` + source + `,"format":"A5","fit":"contain","pages":"1-2"}`, "resized.pdf", []string{"alpha", "beta", "gamma"}},
		{"nup", `{` + source + `,"perSheet":4,"format":"A4","border":true,"pages":"2,1"}`, "sheets.pdf", []string{"beta", "alpha"}},
		{"booklet", `{` + source + `,"guides":true}`, "booklet.pdf", []string{"alpha", "beta", "gamma"}},
		{"attachments", `{` + source + `,"action":"add","files":[{"file":"YQ==","filename":"a.txt"}]}`, "document.pdf", []string{"alpha", "beta", "gamma"}},
		{"bookmarks", `{` + source + `,"bookmarks":[{"title":"Ä","page":1,"children":[{"title":"b","page":3.0}]}]}`, "document.pdf", []string{"alpha", "beta", "gamma"}},
	} {
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/" + test.path, Body: test.body}).OK(t)
		if got, want := answer.Header.Get("Content-Disposition"), `attachment; filename="`+test.file+`"`; !strings.HasPrefix(got, want) {
			t.Errorf("%s: disposition %q, want %q", test.path, got, want)
		}
		if got := answer.Header.Get("Content-Type"); got != "application/pdf" {
			t.Errorf("%s: type %q", test.path, got)
		}
		if got := words(t, answer.Body, ""); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: pages %q, want %q", test.path, got, test.want)
		}
	}
	if got, want := words(t, locked, "geheim"), []string{"alpha", "beta", "gamma"}; !reflect.DeepEqual(got, want) {
		t.Errorf("protect: pages %q, want %q", got, want)
	}
	// Neither the result nor the log may contain the password.
	if strings.Contains(s.Log.String(), "geheim") {
		t.Error("the log shows a password")
	}
}

// TestAttachmentsAreExtractedUnchanged puts files into a PDF and gets them out, by every action.
func TestAttachmentsAreExtractedUnchanged(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	send := func(body string) apitest.Response {
		t.Helper()
		return s.Send(t, apitest.Request{Path: "/v1/pdf/attachments", Body: body})
	}
	with := send(`{"file":` + inline(letters("alpha")) + `,"action":"add","files":[{"file":"YQ==","filename":"a.txt","contentType":"text/plain","description":"An a."},{"file":"Yg==","filename":"b"}]}`).OK(t).Body
	source := `"file":` + inline([]byte(with))
	var list pdf.Attachments
	if err := json.Unmarshal([]byte(send(`{`+source+`}`).OK(t).Body), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Attachments) != 2 || list.Attachments[0].Description != "An a." || list.Attachments[0].ContentType != "text/plain" {
		t.Errorf("attached is %+v", list)
	}
	archive := send(`{` + source + `,"action":"extract","names":["b"]}`).OK(t).Body
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil || len(z.File) != 1 || z.File[0].Name != "b" {
		t.Fatalf("taken out is %+v, %v", z, err)
	}
	without := send(`{` + source + `,"action":"remove","names":["a.txt"]}`).OK(t).Body
	if err := json.Unmarshal([]byte(send(`{"file":`+inline([]byte(without))+`}`).OK(t).Body), &list); err != nil || len(list.Attachments) != 1 {
		t.Errorf("left is %+v, %v", list, err)
	}
	refused := send(`{`+source+`,"action":"remove","names":["c"]}`).Refused(t, wire.InvalidRequest)
	want := []wire.Detail{{Field: "names", Message: `has "c", which is not attached. Attachments: "a.txt", "b"`}}
	if !reflect.DeepEqual(refused.Details, want) {
		t.Errorf("details %+v, want %+v", refused.Details, want)
	}
}

func TestInfoAnswersJSON(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	content := letters("alpha", "beta")
	answer := s.Send(t, apitest.Request{Path: "/v1/pdf/info", Body: `{"file":` + inline(content) + `}`}).OK(t)
	var got map[string]any
	if err := json.Unmarshal([]byte(answer.Body), &got); err != nil {
		t.Fatal(err)
	}
	page := func(n float64) map[string]any {
		return map[string]any{"page": n, "width": 300.0, "height": 400.0, "rotation": 0.0}
	}
	want := map[string]any{
		"pageCount": 2.0, "pdfVersion": "1.7", "title": "", "author": "", "subject": "", "keywords": []any{}, "creator": "", "producer": "",
		"createdAt": nil, "modifiedAt": nil, "encrypted": false, "tagged": false, "linearized": false, "hasForm": false, "hasSignatures": false,
		"hasOutline": false, "attachmentCount": 0.0, "sizeBytes": float64(len(content)), "pages": []any{page(1), page(2)},
		"permissions": map[string]any{
			"print": true, "highres": true, "copy": true, "modify": true, "annotate": true, "fill": true, "assemble": true,
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("type %q", kind)
	}
}

func TestToolsAreCharged(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	body := `{"file":` + inline(letters("alpha")) + `,"pages":"1","response":"url"}`
	file := fileURL(t, s.Send(t, apitest.Request{Path: "/v1/pdf/extract", Body: body}))
	want := []string{
		"call pdf.extract done charged 500",
		"ledger hold wallet -500", "ledger hold held 500", "ledger settle held -500", "ledger settle revenue 500",
		fmt.Sprintf("file pages.pdf %d", file.SizeBytes), fmt.Sprintf("blob %d", file.SizeBytes),
	}
	if got := s.Effects(t); !sameLines(got, want) {
		t.Errorf("effects %q, want %q", got, want)
	}
}

// sameLines compares lines in any order.
func sameLines(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestToolsFail(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	content := letters("alpha", "beta", "gamma")
	source := `"file":` + inline(content)
	locked := inline([]byte(s.Send(t, apitest.Request{Path: "/v1/pdf/protect", Body: `{` + source + `,"userPassword":"geheim"}`}).OK(t).Body))
	before, _ := s.Balance(t)
	for _, test := range []struct {
		path, body string
		code       wire.Code
		field      string
		message    string
	}{
		{"compress", `{"file":` + inline([]byte("GIF89a")) + `}`, wire.ProcessingFailed, "file", "is not a PDF"},
		{"info", `{"file":` + inline([]byte("%PDF-1.7\nnothing")) + `}`, wire.ProcessingFailed, "file", "is damaged and could not be repaired"},
		{"extract", `{"file":` + locked + `}`, wire.ProcessingFailed, "password", "is required: the PDF is encrypted"},
		{"unlock", `{"file":` + locked + `,"password":"guess"}`, wire.ProcessingFailed, "password", "is incorrect: it does not open the PDF"},
		{"merge", `{"files":[{` + source + `},{"file":` + locked + `}]}`, wire.ProcessingFailed, "files[1].password", "is required: the PDF is encrypted"},
		{"merge", `{"files":[{` + source + `},{"file":` + inline([]byte("x")) + `}]}`, wire.ProcessingFailed, "files[1].file", "is not a PDF"},
		{"extract", `{` + source + `,"pages":"2-4"}`, wire.InvalidRequest, "pages", "must select pages of the document, which has 3"},
		{"rotate", `{` + source + `,"degrees":90,"pages":[9]}`, wire.InvalidRequest, "pages", "must select pages of the document, which has 3"},
		{"delete-pages", `{` + source + `,"pages":"-3"}`, wire.InvalidRequest, "pages", "must leave at least one page of the document, which has 3"},
		{"crop", `{` + source + `,"box":{"x":10000,"y":0,"width":3,"height":3},"pages":[2]}`, wire.InvalidRequest, "box", "leaves nothing of page 2"},
		{"crop", `{` + source + `,"margins":{"top":"100in","bottom":"100in"}}`, wire.InvalidRequest, "margins", "leaves nothing of page 1"},
		{"crop", `{` + source + `,"margins":{}}`, wire.InvalidRequest, "margins", "must have at least one of top, right, bottom or left above 0"},
		{"nup", `{` + source + `,"perSheet":2,"pages":"2-4"}`, wire.InvalidRequest, "pages", "must select pages of the document, which has 3"},
		{"booklet", `{"file":` + locked + `}`, wire.ProcessingFailed, "password", "is required: the PDF is encrypted"},
		{"unlock", `{` + source + `,"password":""}`, wire.InvalidRequest, "file", "is not encrypted"},
		{"unlock", `{` + source + `,"password":"geheim"}`, wire.InvalidRequest, "file", "is not encrypted"},
		{"unlock", `{"file":` + inline([]byte("x")) + `,"password":"geheim"}`, wire.ProcessingFailed, "file", "is not a PDF"},
		{"attachments", `{` + source + `,"action":"extract"}`, wire.InvalidRequest, "file", "has no attachments"},
		{"extract-images", `{` + source + `}`, wire.InvalidRequest, "file", "has no matching images on these pages"},
		{"split", `{` + source + `,"text":"delta"}`, wire.InvalidRequest, "text", "was not found on any page"},
		{"split", `{` + source + `,"bookmarkLevel":2}`, wire.InvalidRequest, "bookmarkLevel", "must be a level with bookmarks; the document has none of level 2 or above"},
		{"split", `{"file":` + locked + `,"everyPages":1}`, wire.ProcessingFailed, "password", "is required: the PDF is encrypted"},
		{"overlay", `{` + source + `,"overlay":{` + source + `},"pages":"4"}`, wire.InvalidRequest, "pages", "must select pages of the document, which has 3"},
		{"overlay", `{` + source + `,"overlay":{` + source + `},"from":"2-9"}`, wire.InvalidRequest, "from", "must select pages of the overlay, which has 3"},
		{"overlay", `{` + source + `,"overlay":{` + source + `},"repeat":"4"}`, wire.InvalidRequest, "repeat", "must select pages of the overlay, which has 3"},
		{"overlay", `{` + source + `,"overlay":{"file":` + locked + `}}`, wire.ProcessingFailed, "overlay.password", "is required: the PDF is encrypted"},
		{"bookmarks", `{` + source + `,"bookmarks":[{"title":"x","page":4}]}`, wire.InvalidRequest, "bookmarks[0].page", "must select pages of the document, which has 3"},
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/pdf/" + test.path, Body: test.body}).Refused(t, test.code)
		want := []wire.Detail{{Field: test.field, Message: test.message}}
		if !reflect.DeepEqual(failure.Details, want) {
			t.Errorf("%s: details %+v, want %+v", test.path, failure.Details, want)
		}
		if !strings.Contains(failure.Message, test.field+" "+test.message) {
			t.Errorf("%s: message %q does not say %q", test.path, failure.Message, test.message)
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("failed calls cost %d and hold %d, want nothing", before-after, held)
	}
}

func TestSourcesAreFetched(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	for _, path := range []string{"/letters.pdf", "/moved"} {
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/extract", Body: `{"url":"` + lab.files.URL + path + `","pages":"2"}`}).OK(t)
		if got, want := words(t, answer.Body, ""), []string{"beta"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: pages %q, want %q", path, got, want)
		}
	}
	before, _ := s.Balance(t)
	for _, test := range []struct {
		address string
		code    wire.Code
		message string
	}{
		{lab.files.URL + "/gone", wire.ProcessingFailed, "could not be fetched: the server returned status 410"},
		{lab.files.URL + "/loop", wire.ProcessingFailed, "could not be fetched: the URL redirects more than 10 times"},
		{lab.files.URL + "/large", wire.PayloadTooLarge, "must be at most 524288 bytes"},
		{lab.files.URL + "/endless", wire.PayloadTooLarge, "must be at most 524288 bytes"},
		{lab.files.URL + "/empty", wire.InvalidRequest, "returned an empty file"},
		{lab.files.URL + "/inwards", wire.URLNotAllowed, "must be an http or https URL of a public host"},
		{"http://127.0.0.1/", wire.URLNotAllowed, "must be an http or https URL of a public host"},
		{"http://169.254.169.254/latest/meta-data", wire.URLNotAllowed, "must be an http or https URL of a public host"},
		{"file:///etc/passwd", wire.URLNotAllowed, "must be an http or https URL of a public host"},
		{"https://no-such-host.invalid/a.pdf", wire.ProcessingFailed, "could not be fetched: the URL has a host name that does not exist"},
	} {
		good := `{"url":"` + lab.files.URL + `/letters.pdf"}`
		for path, call := range map[string]struct{ body, field string }{
			"info":  {`{"url":"` + test.address + `"}`, "url"},
			"merge": {`{"files":[` + good + `,{"url":"` + test.address + `"}]}`, "files[1].url"},
		} {
			failure := s.Send(t, apitest.Request{Path: "/v1/pdf/" + path, Body: call.body}).Refused(t, test.code)
			if want := []wire.Detail{{Field: call.field, Message: test.message}}; !reflect.DeepEqual(failure.Details, want) {
				t.Errorf("%s of %s: details %+v, want %+v", path, test.address, failure.Details, want)
			}
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("failed calls cost %d and hold %d, want nothing", before-after, held)
	}
}

func TestSourcesAreEarlierResults(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	body := `{"url":"` + lab.files.URL + `/letters.pdf","pages":"3,1","response":"url"}`
	id := fileURL(t, s.Send(t, apitest.Request{Path: "/v1/pdf/extract", Body: body})).ID
	read := apitest.Request{Path: "/v1/pdf/extract", Body: `{"fileId":"` + id + `","pages":"2"}`}
	if got, want := words(t, s.Send(t, read).OK(t).Body, ""), []string{"alpha"}; !reflect.DeepEqual(got, want) {
		t.Errorf("pages %q, want %q", got, want)
	}
	_, _, stranger := s.NewAccount(t, "stranger@example.com")
	foreign, missing := read, read
	foreign.Header = http.Header{"Authorization": {"Bearer " + stranger}}
	missing.Body = strings.Replace(read.Body, id, "file_missing", 1)
	var failures []apitest.Failure
	for _, q := range []apitest.Request{foreign, missing} {
		failures = append(failures, s.Send(t, q).Refused(t, wire.InvalidRequest))
	}
	s.Clock.Advance(25 * time.Hour)
	failures = append(failures, s.Send(t, read).Refused(t, wire.InvalidRequest))
	for i, failure := range failures {
		failure.RequestID = failures[0].RequestID
		if failures[0].RequestID = failure.RequestID; !reflect.DeepEqual(failure, failures[0]) || failure.Details[0].Field != "fileId" {
			t.Errorf("case %d: %+v differs from %+v", i, failure, failures[0])
		}
	}
}
