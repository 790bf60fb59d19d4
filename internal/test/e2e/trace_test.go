package e2e

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestTracesOfTheProgram requests a page, a document of a file and a LibreOffice conversion, and finds the waits
// and the steps of each in the collector.
func TestTracesOfTheProgram(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	collector := apitest.NewCollector(t)
	server := startDev(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b")
	const span = "00f067aa0ba902b7"
	file := ""
	calls := []struct{ path, body, parts string }{
		{"/v1/pdf", `{"html":"<p>a</p>"}`, "queue page load print"},
		{"/v1/pdf/rotate", `{"file":"FILE","degrees":90}`, "queue start"},
		{"/v1/convert", `{"file":"YSxiLGMKMSwyLDMKNCw1LDYK","filename":"a.csv"}`, "queue start"},
	}
	traceOf := func(i int) string { return strings.Repeat(string(rune('a'+i)), 32) }
	for i, c := range calls {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+c.path, strings.NewReader(strings.Replace(c.body, "FILE", file, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + server.key}, "Content-Type": {"application/json"}, telemetry.Header: {"00-" + traceOf(i) + "-" + span + "-01"}}
		response, err := (&http.Client{Timeout: pagePatience}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d, %v, %.500q", c.path, response.StatusCode, err, answer)
		}
		file = base64.StdEncoding.EncodeToString(answer)
	}
	if err := server.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = server.process.Wait()
	if key := collector.Header().Get("Api-Key"); key != "a b" {
		t.Errorf("the collector got the key %q", key)
	}
	for i, c := range calls {
		tree := collector.Tree(traceOf(i), span)
		_, run, ran := strings.Cut(tree, "\n  run\n")
		run, _, settled := strings.Cut(run, "\n  settle\n")
		for _, part := range strings.Fields(c.parts) {
			if !ran || !settled || !strings.Contains(run+"\n", "    run/"+part+"\n") {
				t.Errorf("%s: no %s in the run of\n%s", c.path, part, tree)
			}
		}
	}
}

// TestCollectorHangs: a collector that accepts traces and never responds costs the traces, and delays neither a
// request nor the end of the program.
func TestCollectorHangs(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-release
	}))
	t.Cleanup(collector.Close)
	t.Cleanup(func() { close(release) })
	config := loadConfig(t, []string{"--data-dir=" + t.TempDir(), "--listen=127.0.0.1:0", "--render-slots=1"}, "RELAYPDF_METRICS_LISTEN=", "RELAYPDF_OTLP_URL="+collector.URL)
	log := &apitest.Log{}
	t.Cleanup(func() {
		if !strings.Contains(log.String(), "send traces failed") {
			t.Errorf("nothing is said of the collector:\n%s", log)
		}
	})
	app := startApp(t, config, log) // which ends before the collector does, without an error
	textOf(t, app.URL+"/v1/billing/prices")
	select {
	case <-asked:
	case <-time.After(2 * time.Minute):
		t.Fatal("the collector is not asked")
	}
	textOf(t, app.URL+"/v1/billing/prices")
}
