package e2e

import (
	"io"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestProcessesOfOneDatabaseAgree: a process on another machine whose files or whose secret key are not those of the
// first one does not start, and its error names the setting and the remedy. One that shares both starts.
func TestProcessesOfOneDatabaseAgree(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	first := startPages(t, func(c *app.Config) { c.DatabaseURL = db.URL })

	start := func(change func(*app.Config)) error {
		config := loadConfig(t, []string{"--data-dir=" + t.TempDir(), "--listen=127.0.0.1:0", "--render-slots=1"}, "RELAYPDF_METRICS_LISTEN=")
		config.DatabaseURL = db.URL
		change(&config)
		hooks := unhurried
		hooks.Renderer = sharedRenderer(t)
		a, err := app.New(t.Context(), config, app.NewLogger(config.LogLevel, io.Discard), hooks)
		if err != nil {
			return err
		}
		return a.Close()
	}

	err := start(func(*app.Config) {})
	if err == nil || !strings.Contains(err.Error(), "RELAYPDF_BLOBS: ") || !strings.Contains(err.Error(), "every machine") {
		t.Errorf("a folder of its own: %v", err)
	}
	err = start(func(c *app.Config) { c.Blobs = first.Config.Blobs })
	if err == nil || !strings.Contains(err.Error(), "RELAYPDF_SECRET_KEY: ") || !strings.Contains(err.Error(), "every machine") {
		t.Errorf("a secret key of its own: %v", err)
	}
	if err := start(func(c *app.Config) { c.DataDir, c.Blobs = first.Config.DataDir, first.Config.Blobs }); err != nil {
		t.Errorf("a process that shares both: %v", err)
	}
}
