// Package pdftest has the documents that tests read, some from the wild, and runs
// the programs that they are compared with.
package pdftest

import (
	"encoding/json"
	"errors"
	"os/exec"
	"testing"
	"time"
)

// corpus is a module whose test data are documents and images from the wild.
const corpus = "github.com/pdfcpu/pdfcpu@v0.15.0"

// Corpus returns a folder with documents and images that others have made,
// which is downloaded where it is not there. The test fails where it cannot be
// had.
func Corpus(t testing.TB) (dir string) {
	t.Helper()
	var out []byte
	var err error
	for pause := 5 * time.Second; pause < time.Minute; pause *= 2 { // a proxy does not always answer
		cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", corpus)
		cmd.Dir = t.TempDir() // not a module, so that nothing is written to ours
		if out, err = cmd.Output(); err == nil {
			break
		}
		t.Logf("%s: %v: %s", corpus, err, out)
		<-time.After(pause)
	}
	var module struct{ Dir string }
	if err := errors.Join(err, json.Unmarshal(out, &module)); err != nil || module.Dir == "" {
		t.Fatalf("%s cannot be had: %v", corpus, err)
	}
	return module.Dir
}
