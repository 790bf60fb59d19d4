package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"relaypdf/api/apitest"
)

// The README's table of settings is between these lines.
const (
	settingsBegin = "<!-- settings: written by `make golden` -->\n"
	settingsEnd   = "<!-- settings: end -->\n"
)

// TestReadmeShowsTheSettings holds the README's table to the settings.
func TestReadmeShowsTheSettings(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := bytes.Cut(readme, []byte(settingsBegin))
	_, after, ends := bytes.Cut(rest, []byte(settingsEnd))
	if !begins || !ends {
		t.Fatalf("README.md lacks the lines %q and %q", settingsBegin, settingsEnd)
	}
	var table bytes.Buffer
	if err := WriteSettingsMarkdown(&table); err != nil {
		t.Fatal(err)
	}
	want := bytes.Join([][]byte{before, []byte(settingsBegin), table.Bytes(), []byte(settingsEnd), after}, nil)
	apitest.Golden(t, filepath.Join("..", "..", "..", "README.md"), want)
}
