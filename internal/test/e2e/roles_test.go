package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestRoles splits the work: one process accepts jobs and runs none, another runs them and serves no requests.
func TestRoles(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		c := newCrashBench(t, db)
		start := func(role string) (s *chaosServer, private string) {
			told := make(chan string, 1)
			s = &chaosServer{program: os.Args[0], env: append([]string{actAsProgram + "=1", withoutOffice, "RELAYPDF_ROLES=" + role}, c.env...)}
			s.heard = func(line []byte) {
				var ready struct{ Msg, Metrics string }
				if json.Unmarshal(line, &ready) == nil && ready.Msg == "ready" {
					told <- ready.Metrics
				}
			}
			if err := s.start("RELAYPDF_METRICS_LISTEN=127.0.0.1:0"); err != nil {
				t.Fatalf("role %s: %v", role, err)
			}
			t.Cleanup(func() { s.end(syscall.SIGKILL) })
			return s, <-told
		}
		front, _ := start("api")
		ctx, cancel := context.WithTimeout(t.Context(), crashPatience)
		defer cancel()
		c.async = true
		response, err := c.post(ctx, front.address(), "roles")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		id := response.Header.Get("x-service-id")
		if response.StatusCode != http.StatusAccepted {
			t.Fatalf("status %d, want 202", response.StatusCode)
		}
		if call, err := c.store.Job(ctx, c.account.ID, id); err != nil || call.Status != store.CallRunning {
			t.Errorf("without a worker the job is %s, %v", call.Status, err)
		}
		worker, private := start("worker")
		if address := worker.address(); address != "" {
			t.Errorf("a worker listens at %s", address)
		}
		for path, want := range map[string]string{"/health": `"ok":true`, "/health/ready": `"database":`, "/metrics": "relaypdf_"} {
			if text := textOf(t, private+path); !strings.Contains(text, want) {
				t.Errorf("a worker's %s lacks %s: %s", path, want, text)
			}
		}
		c.awaitJob(ctx, id, "roles")
		c.expectCharge("roles")
		for _, s := range []*chaosServer{front, worker} {
			s.end(syscall.SIGTERM)
			if state := s.process.ProcessState; !state.Success() {
				t.Errorf("it left with %v", state)
			}
		}
	})
}

// TestPostgresNeedsASecretKey: machines that share a database need the key in their settings; a single machine makes
// its own.
func TestPostgresNeedsASecretKey(t *testing.T) {
	config := app.Config{DataDir: t.TempDir(), DatabaseURL: "postgres://db/relaypdf", BaseURL: "https://pdf.example.com"}
	if _, err := app.OpenBox(config); err == nil || !strings.Contains(err.Error(), "RELAYPDF_SECRET_KEY") {
		t.Errorf("without a key: %v, want one asked for", err)
	}
	config.SecretKey = strings.Repeat("k", 32)
	if _, err := app.OpenBox(config); err != nil {
		t.Errorf("with a key: %v", err)
	}
	config.SecretKey, config.BaseURL = "", "http://localhost:8787"
	first, err := app.OpenBox(config)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := first.Seal("test", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := app.OpenBox(config)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := second.Open("test", sealed); err != nil || string(plain) != "x" {
		t.Errorf("after a restart: %q, %v", plain, err)
	}
	if found, err := os.ReadDir(config.DataDir); err != nil || len(found) != 1 || found[0].Name() != "secret.key" {
		t.Errorf("the data folder holds %v, %v; want the key alone", found, err)
	}
}
