package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
)

func TestFilesUploadAndDelete(t *testing.T) {
	b := newBench(t, nil)
	path := sharedtest.WriteFile(t, "Übersicht 1.txt", "content")
	for _, tt := range []struct {
		stdin string
		args  []string
		name  string
		size  int64
	}{
		{"", []string{path}, "Übersicht 1.txt", 7},
		{"", []string{path, "--filename", "b.txt"}, "b.txt", 7},
		{"from stdin", []string{"-"}, "upload", 10},
	} {
		r := b.run(tt.stdin, append([]string{"files", "upload", "--json"}, tt.args...)...)
		if r.code != 0 {
			t.Fatalf("%q: got %+v", tt.args, r)
		}
		file := decodeJSON[wire.Upload](t, r.out)
		if file.Filename != tt.name || file.SizeBytes != tt.size {
			t.Errorf("%q: got %+v, want %q of %d bytes", tt.args, file, tt.name, tt.size)
		}
	}
	id := strings.TrimSpace(b.run("", "files", "upload", path).out)
	if _, err := b.Store.AccountFile(t.Context(), b.Account.ID, id); err != nil {
		t.Errorf("what was printed, %q, is not the id of the file: %v", id, err)
	}
	if r := b.run("", "files", "delete", id); r.code != 0 || r.out != "" {
		t.Errorf("delete: got %+v", r)
	}
	for _, tt := range []struct {
		code int
		args []string
	}{
		{exitNotFound, []string{"delete", id}}, {exitUsage, []string{"upload", "nowhere"}}, {exitUsage, []string{"upload", t.TempDir()}}, {exitUsage, []string{"upload"}},
		{exitInput, []string{"upload", sharedtest.WriteFile(t, "empty", "")}},
	} {
		if r := b.run("", append([]string{"files"}, tt.args...)...); r.code != tt.code || r.out != "" {
			t.Errorf("files %q: got %+v, want exit code %d", tt.args, r, tt.code)
		}
	}
}

// TestFilesTakedown: the operator deletes a file on the machine, and leaves a log line that identifies it without its
// ID.
func TestFilesTakedown(t *testing.T) {
	dir, data := dataDir(t)
	s := openData(t, dir)
	account, err := s.AccountByEmail(t.Context(), "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Close()
	result := store.NewID("file")
	call := store.NewCall{
		ID: store.CallID(result), ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "url",
		Lease: lease.ID(), Quote: credit.Millicent,
	}
	key := store.ResultKey(call.ID, 0)
	_, err = s.Blobs().Put(t.Context(), key, strings.NewReader("x"))
	file := &store.File{Filename: "bad.pdf", Size: 1, BlobKey: key, ExpiresAt: time.Now().Add(time.Hour)}
	err = errors.Join(err, s.Begin(t.Context(), call), s.Settle(t.Context(), store.Settlement{CallID: call.ID, File: file}))
	if err != nil {
		t.Fatal(err)
	}
	r := relaypdf(t, "files", "takedown", call.ResultID, "--reason", "phishing", data)
	if r.code != 0 || r.out != "Deleted bad.pdf of ada@example.com\n" {
		t.Errorf("got %+v", r)
	}
	for _, said := range []string{"file taken down", call.ID, account.ID, "reason=phishing", "filename=bad.pdf"} {
		if !strings.Contains(r.err, said) {
			t.Errorf("the audit line is %q, want %q in it", r.err, said)
		}
	}
	if strings.Contains(r.err, call.ResultID) {
		t.Error("the audit line shows the file's id")
	}
	if _, err := s.PublicFile(t.Context(), call.ResultID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the file can be opened: %v", err)
	}
	if _, _, err := s.Blobs().Open(t.Context(), key); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("the bytes are there: %v", err)
	}
	if r := relaypdf(t, "files", "takedown", call.ResultID, data); r.code != exitUsage {
		t.Errorf("again: got %+v, want exit code 2", r)
	}
}

// TestJobs runs a job from start to result on the command line.
func TestJobs(t *testing.T) {
	b := newBench(t, nil)
	html := sharedtest.WriteFile(t, "page.html", "hello")
	enqueue := func(args ...string) wire.JobStatus {
		t.Helper()
		r := b.run("", append([]string{"doc", "print", "--response", "async", "--json-output"}, args...)...)
		if r.code != 0 || r.err != "" {
			t.Fatalf("%q: got %+v", args, r)
		}
		return decodeJSON[wire.JobStatus](t, r.out)
	}
	r := b.run("", "doc", "print", html, "--response", "async", "-q")
	id, poll, ok := strings.Cut(strings.TrimSpace(r.out), "\t")
	if !ok || poll != b.URL+"/v1/jobs/"+id || r.err != "" {
		t.Errorf("got %+v, want the job's id and address", r)
	}
	job := enqueue(html)
	if r := b.run("", "jobs", "get", job.ID); r.code != 0 || r.out != job.ID+"  processing\n" {
		t.Errorf("get: got %+v", r)
	}
	if r := b.run("", "jobs", "wait", job.ID, "-o", filepath.Join(t.TempDir(), "x"), "--timeout", "1ms"); r.code != exitFailed || !strings.Contains(r.err, "the job has not ended after 1ms") {
		t.Errorf("an impatient wait: got %+v", r)
	}
	b.Work(t)
	out := filepath.Join(t.TempDir(), "out.pdf")
	r = b.run("", "jobs", "wait", job.ID, "-o", out, "--json")
	if d := decodeJSON[download](t, r.out); r.code != 0 || d != (download{job.ID, "printed.pdf", out, 10}) {
		t.Errorf("wait: got %+v, %+v", r, d)
	}
	if content, err := os.ReadFile(out); err != nil || string(content) != "%PDF-hello" {
		t.Errorf("the result is %q, %v", content, err)
	}
	if r := b.run("", "doc", "print", html, "--response", "async", "-o", "-"); r.code != 0 || r.out != "%PDF-hello" || r.err != "" {
		t.Errorf("a call that waits for its job: got %+v", r)
	}
	if r := b.run("", "jobs", "get", job.ID); r.out != job.ID+"  completed  printed.pdf  10 B  "+b.URL+"/v1/files/"+job.ID+"\n" {
		t.Errorf("get: got %+v", r)
	}
	if got := decodeJSON[wire.JobStatus](t, b.run("", "jobs", "get", job.ID, "--json").out); got.Status != "completed" || got.SizeBytes != 10 {
		t.Errorf("get as JSON: got %+v", got)
	}
	if r := b.run("", "jobs", "wait", job.ID, "-o", "-"); r.code != 0 || r.out != "%PDF-hello" {
		t.Errorf("wait to standard output: got %+v", r)
	}
	b.Clock.Advance(25 * time.Hour)
	if r := b.run("", "jobs", "wait", job.ID, "-o", "-"); r.code != exitNotFound || !strings.Contains(r.err, "expired") {
		t.Errorf("wait for an expired result: got %+v", r)
	}
	if r := b.run("", "jobs", "get", job.ID); r.out != job.ID+"  completed  its result has expired\n" {
		t.Errorf("get of an expired result: got %+v", r)
	}
}

// TestFailedJobs end the command with the exit code of their error, and leave
// no file.
func TestFailedJobs(t *testing.T) {
	b := newBench(t, nil)
	b.Work(t)
	folder := t.TempDir()
	for code, want := range map[wire.Code]int{wire.RenderFailed: 6, wire.ConvertUnavailable: 7, wire.InvalidRequest: exitInput, wire.InternalError: exitFailed} {
		r := b.run("", "doc", "print", sharedtest.WriteFile(t, "a.html", string(code)), "--response", "async", "-q")
		id, _, _ := strings.Cut(r.out, "\t")
		if r := b.run("", "jobs", "wait", id, "-o", folder); r.code != want || r.out != "" || r.err != "relaypdf: "+(&wire.Error{Code: code}).Error()+"\n" {
			t.Errorf("%s: got %+v, want exit code %d", code, r, want)
		}
	}
	if r := b.run("", "jobs", "wait", "file_none", "-o", folder); r.code != exitNotFound {
		t.Errorf("no job: got %+v, want exit code 10", r)
	}
	if r := b.run("", "jobs", "wait", "x", "-o", "-", "--json"); r.code != exitUsage {
		t.Errorf("two things on standard output: got %+v, want exit code 2", r)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v; want nothing", left, err)
	}
}
