package apitest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// updateVariable, set to 1, makes the tests write the golden files instead of
// comparing with them.
const updateVariable = "UPDATE_GOLDEN"

// Golden compares the result of a test with the file of that name in the testdata folder of its package. `make
// golden` rewrites the files: their diff shows the changes that users will see.
func Golden(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv(updateVariable) == "1" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run `make golden` to write it", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	line, gotLine, wantLine := firstDifference(got, want)
	t.Errorf("%s has changed; run `make golden` and read the diff. Line %d:\n got  %s\n want %s", path, line, gotLine, wantLine)
}

// firstDifference returns the first line, counted from 1, in which two texts
// differ.
func firstDifference(got, want []byte) (line int, gotLine, wantLine []byte) {
	gotLines := bytes.Split(got, []byte("\n"))
	wantLines := bytes.Split(want, []byte("\n"))
	for i := range max(len(gotLines), len(wantLines)) {
		gotLine = nil
		wantLine = nil
		if i < len(gotLines) {
			gotLine = gotLines[i]
		}
		if i < len(wantLines) {
			wantLine = wantLines[i]
		}
		if !bytes.Equal(gotLine, wantLine) {
			return i + 1, gotLine, wantLine
		}
	}
	return 0, nil, nil
}
