// Package pdftest has the documents that tests read, some from the wild, and runs
// the programs that they are compared with.
package pdftest

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	// corpus is a module whose test data are documents and images from the wild.
	corpus = "github.com/pdfcpu/pdfcpu@v0.15.0"
	// mailbox is one whose test data are emails from the wild.
	mailbox = "github.com/jhillyerd/enmime/v2@v2.3.0"
)

// Corpus returns a folder with documents and images of other authors, which is downloaded if it is missing. The
// test fails if this is impossible.
func Corpus(t testing.TB) (dir string) {
	t.Helper()
	return download(t, corpus)
}

// Mails returns the files of emails that others have written, well and badly.
func Mails(t testing.TB) (files []string) {
	t.Helper()
	dir := filepath.Join(download(t, mailbox), "testdata")
	for _, kind := range []string{"mail", "low-quality"} {
		found, err := filepath.Glob(filepath.Join(dir, kind, "*.raw"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no emails in %s of %s: %v", kind, mailbox, err)
		}
		files = append(files, found...)
	}
	return files
}

func download(t testing.TB, module string) (dir string) {
	t.Helper()
	var out []byte
	var err error
	for pause := 5 * time.Second; pause < time.Minute; pause *= 2 { // a proxy does not always answer
		cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
		cmd.Dir = t.TempDir() // not a module, so that nothing is written to ours
		if out, err = cmd.Output(); err == nil {
			break
		}
		t.Logf("%s: %v: %s", module, err, out)
		<-time.After(pause)
	}
	var found struct{ Dir string }
	if err := errors.Join(err, json.Unmarshal(out, &found)); err != nil || found.Dir == "" {
		t.Fatalf("%s cannot be had: %v", module, err)
	}
	return found.Dir
}
