package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// says waits until a log has the messages.
func says(t *testing.T, log *apitest.Log, messages ...string) {
	t.Helper()
	for _, message := range messages {
		for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(log.String(), `"msg":"`+message+`"`); <-time.After(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the runbook has %q, the log does not:\n%s", message, log.String())
			}
		}
	}
}

// becomesReady waits until /health/ready has the words.
func becomesReady(t *testing.T, app *app.App, words ...string) {
	t.Helper()
	for _, word := range words {
		for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(50 * time.Millisecond) {
			ready := textOf(t, app.PrivateURL+"/health/ready")
			if strings.Contains(ready, word) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("want %s, /health/ready is %s", word, ready)
			}
		}
	}
}

// startFailing starts a server without engines, with the settings in addition to the common ones.
func startFailing(t *testing.T, data string, settings ...string) (*app.App, *apitest.Log) {
	t.Helper()
	config := loadConfig(t, []string{data, "--listen=127.0.0.1:0", "--render-slots=1"}, append([]string{
		"RELAYPDF_METRICS_LISTEN=127.0.0.1:0", "RELAYPDF_ENGINES=none", "RELAYPDF_ALLOW_HOSTS=127.0.0.1",
	}, settings...)...)
	log := &apitest.Log{}
	return startApp(t, config, log), log
}

// TestDatabaseGone cuts every connection to the database for a time.
func TestDatabaseGone(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	through, cutter := storetest.BehindCutter(t, storetest.Postgres(t))
	_, data := dataDir(t)
	app, log := startFailing(t, data, "RELAYPDF_DATABASE_URL="+through.URL, "RELAYPDF_SECRET_KEY="+strings.Repeat("k", 44))
	becomesReady(t, app, `"database":"ok"`)
	cutter.Often(1)
	becomesReady(t, app, runbook(t, "Ready")["1"]...)
	says(t, log, runbook(t, "Log")["1"]...)
	cutter.Disarm()
	becomesReady(t, app, `"database":"ok"`)
}

// TestLostSecretKey runs a job and notifies an endpoint on a server without the key that sealed the job's input and
// the endpoint's secret.
func TestLostSecretKey(t *testing.T) { //nolint:tparallel // the server that accepts the job has ended when the other one starts
	sharedtest.Slow(t)
	t.Parallel()
	_, data := dataDir(t)
	key := strings.TrimSpace(mustRun(t, "keys", "create", "--account", "ada@example.com", data))
	t.Run("accepted", func(t *testing.T) {
		app, _ := startFailing(t, data, "RELAYPDF_ROLES=api", "RELAYPDF_SECRET_KEY="+strings.Repeat("a", 44))
		for _, ask := range []struct {
			path, body string
			want       int
		}{
			{"/v1/webhooks", `{"url":"` + apitest.NewReceiver(t, nil).URL + `","events":["job.failed"]}`, http.StatusCreated},
			{"/v1/pdf", `{"html":"<p>a</p>","response":"async"}`, http.StatusAccepted},
		} {
			response, err := paidPost{url: app.URL + ask.path, secret: key}.send(t.Context(), &http.Client{Timeout: pagePatience}, strings.NewReader(ask.body))
			if err != nil {
				t.Fatal(err)
			}
			if _ = response.Body.Close(); response.StatusCode != ask.want {
				t.Fatalf("%s: status %d, want %d", ask.path, response.StatusCode, ask.want)
			}
		}
	})
	_, log := startFailing(t, data, "RELAYPDF_ROLES=worker", "RELAYPDF_SECRET_KEY="+strings.Repeat("b", 44))
	says(t, log, runbook(t, "Log")["10"]...)
}

// TestBrowsersCannotStart kills the browser of a server when no other can be started, and
// lets one start again.
func TestBrowsersCannotStart(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	browser, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatal(err)
	}
	dir := chaosFolder(t)
	program, started, may := filepath.Join(dir, "browser"), filepath.Join(dir, "started"), filepath.Join(dir, "may")
	script := fmt.Sprintf("#!/bin/sh\n[ -e %s ] || exit 1\necho $$ >>%s\nexec %s \"$@\"\n", may, started, browser)
	if err := errors.Join(os.WriteFile(program, []byte(script), 0o755), os.WriteFile(may, nil, 0o644), os.WriteFile(started, nil, 0o666), os.Chmod(started, 0o666)); err != nil {
		t.Fatal(err)
	}
	_, data := dataDir(t)
	app, log := startFailing(t, data, "RELAYPDF_CHROMIUM="+program)
	becomesReady(t, app, `"browser":"ok"`)
	if err := os.Remove(may); err != nil {
		t.Fatal(err)
	}
	pids, err := os.ReadFile(started)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.FieldsSeq(string(pids)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		command, err := os.ReadFile("/proc/" + text + "/cmdline")
		if err != nil || !strings.Contains(string(command), "--remote-debugging-pipe") {
			continue // It has ended.
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) { // It has just ended.
			t.Error(err)
		}
	}
	becomesReady(t, app, runbook(t, "Ready")["6"]...)
	says(t, log, "browser died, starting another", "start browser failed")
	if err := os.WriteFile(may, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	becomesReady(t, app, `"browser":"ok"`)
}

// TestQueueIsFull requests more documents at all times than there are places; the first waits for an image that never
// comes.
func TestQueueIsFull(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	_, data := dataDir(t)
	key := strings.TrimSpace(mustRun(t, "keys", "create", "--account", "ada@example.com", data))
	app, _ := startFailing(t, data, "RELAYPDF_RATE_LIMITS=off")
	becomesReady(t, app, `"browser":"ok"`)
	open := make(chan struct{})
	picture := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-open }))
	t.Cleanup(picture.Close)
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	t.Cleanup(func() {
		stop()
		close(open)
		asking.Wait()
	})
	for range 40 { // one is rendered and 32 wait
		asking.Go(func() {
			for ctx.Err() == nil {
				body := strings.NewReader(`{"html":"<img src='` + picture.URL + `/held.png'>"}`)
				response, err := paidPost{url: app.URL + "/v1/pdf", secret: key}.send(ctx, &http.Client{Timeout: pagePatience}, body)
				if err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}
		})
	}
	becomesReady(t, app, `"ok":false`, runbook(t, "Ready")["8"][0])
}
