package pdf

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
)

// everyNth keeps the run short. The files are sorted, and consecutive ones are alike.
const everyNth = 25

// TestRealDocuments does everything to documents from the wild: what comes out
// is sound and has the right pages, and what cannot be done is refused in
// words.
func TestRealDocuments(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	paths := pdftest.Documents(t)
	done := 0
	for i := 0; i < len(paths); i += everyNth {
		content := pdftest.Load(t, paths[i])
		name := filepath.Base(paths[i])
		result, err := runJob(t, InfoJob.Name, input(""), content)
		var failed *job.Error
		if errors.As(err, &failed) && failed.Kind != job.Exhausted {
			t.Logf("%s: %s", name, failed.Kind)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var about Info
		if err := json.Unmarshal(result.Body, &about); err != nil {
			t.Fatal(err)
		}
		done++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doEverything(t, content, about)
		})
	}
	if done < len(paths)/everyNth/2 {
		t.Errorf("only %d of %d documents could be read", done, len(paths)/everyNth)
	}
}

// doEverything does to one document what can be done to any.
func doEverything(t *testing.T, content []byte, about Info) {
	t.Helper()
	n := about.PageCount
	for _, test := range []struct {
		job   string
		args  any
		pages int
	}{
		{ExtractJob.Name, Selection{Input: input(""), Pages: "last,1"}, 2},
		{RotateJob.Name, RotateArgs{Selection{Input: input("")}, 90}, n},
		{CompressJob.Name, input(""), n},
		{OptimizeJob.Name, OptimizeArgs{Input: input(""), Linearize: true, Quality: 60, MaxDPI: 100}, n},
		{ResizeJob.Name, ResizeArgs{Selection: Selection{Input: input("")}, Width: 595, Height: 842}, n},
		{BookmarksJob.Name, Outline{Input: input(""), Bookmarks: []Bookmark{{Title: "x", Page: n}}}, n},
		{ProtectJob.Name, ProtectArgs{Input: input(""), UserPassword: "u", OwnerPassword: "o"}, n},
	} {
		result, err := runJob(t, test.job, test.args, content)
		if err != nil {
			t.Errorf("%s: %v", test.job, err)
			continue
		}
		path := pdftest.Save(t, read(t, result))
		if got := strings.TrimSpace(pdftest.Tool(t, "qpdf", "--no-warn", "--password=u", "--show-npages", path)); got != fmt.Sprint(test.pages) {
			t.Errorf("%s: %s pages, want %d", test.job, got, test.pages)
		}
		checkLike(t, test.job, content, path)
	}
	redactThe(t, content, n)
	if about.Encrypted || n > job.MaxPages/2 {
		return
	}
	result, err := runJob(t, MergeJob.Name, mergeOf([]string{"", ""}, []string{"a", "b"}), content, content)
	if err != nil {
		t.Errorf("merge: %v", err)
		return
	}
	if got := strings.TrimSpace(pdftest.Tool(t, "qpdf", "--no-warn", "--show-npages", pdftest.Save(t, read(t, result)))); got != fmt.Sprint(2*n) {
		t.Errorf("merge: %s pages, want %d", got, 2*n)
	}
}

// redactThe takes a word out of a document that most have.
func redactThe(t *testing.T, content []byte, pages int) {
	t.Helper()
	result, err := runJob(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"the"}}, content)
	var failed *job.Error
	if errors.As(err, &failed) && failed.Kind == job.NoMatch {
		return
	}
	if err != nil {
		t.Errorf("%s: %v", redact.Job.Name, err)
		return
	}
	made := read(t, result)
	path := pdftest.Save(t, made)
	if got := strings.TrimSpace(pdftest.Tool(t, "qpdf", "--no-warn", "--show-npages", path)); got != fmt.Sprint(pages) {
		t.Errorf("%s: %s pages, want %d", redact.Job.Name, got, pages)
	}
	checkLike(t, redact.Job.Name, content, path)
	if text := strings.ToLower(pdftest.Tool(t, "pdftotext", "-q", path, "-")); strings.Contains(text, "the") {
		t.Errorf("%s: the word is still there", redact.Job.Name)
	}
}

// checkLike fails the test when a result has errors that the original lacks.
// Streams that cannot be decoded stay as they are.
func checkLike(t *testing.T, jobName string, original []byte, path string) {
	t.Helper()
	check := func(path string) error {
		return exec.CommandContext(t.Context(), "qpdf", "--check", "--password=u", path).Run()
	}
	if err := check(path); err != nil && check(pdftest.Save(t, original)) == nil {
		t.Errorf("%s: qpdf --check: %v, while the original is sound", jobName, err)
	}
}
