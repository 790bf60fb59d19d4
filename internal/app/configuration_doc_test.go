package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// The table of settings in docs/reference/configuration.md is between these lines.
const (
	settingsBegin = "<!-- settings: written by `make golden` -->\n"
	settingsEnd   = "<!-- settings: end -->\n"
)

// TestConfigurationPageListsSettings compares the table of the page with the settings.
func TestConfigurationPageListsSettings(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := bytes.Cut(page, []byte(settingsBegin))
	_, after, ends := bytes.Cut(rest, []byte(settingsEnd))
	if !begins || !ends {
		t.Fatalf("configuration.md lacks the lines %q and %q", settingsBegin, settingsEnd)
	}
	var table bytes.Buffer
	if err := WriteSettingsMarkdown(&table); err != nil {
		t.Fatal(err)
	}
	want := bytes.Join([][]byte{before, []byte(settingsBegin), table.Bytes(), []byte(settingsEnd), after}, nil)
	apitest.Golden(t, filepath.Join("..", "..", "..", "docs", "reference", "configuration.md"), want)
}
