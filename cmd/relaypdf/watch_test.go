package main

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"relaypdf/api/apitest"
	"relaypdf/internal/slow"
)

// elsewhere are metrics of other programs, which the rules ask for as well.
var elsewhere = []string{"probe_ssl_earliest_cert_expiry"}

// TestDashboardAndRulesNameWhatIsThere has Prometheus's own parser read the rules
// and the dashboard, and looks for each metric and label that they name in what a
// service shows whose Redis and bucket do not answer. It runs a call, a job and a
// delivery before.
func TestDashboardAndRulesNameWhatIsThere(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	_, data := dataDir(t)
	key := strings.TrimSpace(mustRun(t, "keys", "create", "--account", "ada@example.com", "--test", data))
	config, err := loadConfig(flagsOf(t, data, "--listen=127.0.0.1:0", "--render-slots=1"), user(
		"RELAYPDF_METRICS_LISTEN=127.0.0.1:0", "RELAYPDF_REDIS_URL=redis://127.0.0.1:1/0", "RELAYPDF_BLOBS=s3://bucket?endpoint=http://127.0.0.1:1",
		"RELAYPDF_S3_ACCESS_KEY=a", "RELAYPDF_S3_SECRET_KEY=b", "RELAYPDF_BLOBS_CACHE=1GiB", "RELAYPDF_ALLOW_HOSTS=127.0.0.1",
	))
	if err != nil {
		t.Fatal(err)
	}
	log := &apitest.Log{}
	app := startApp(t, config, log)
	receiver := apitest.NewReceiver(t, nil).URL // whose certificate nobody knows here
	for body, want := range map[string]int{
		`{"html":"<p>a</p>"}`: http.StatusOK,
		// One job waits for the bucket for two minutes, and one fails at once.
		`{"html":"<p>a</p>","response":"async"}`: http.StatusAccepted,
		`{"html":"<img src='https://127.0.0.1/x.png'>","options":{"failOnResourceError":true},"response":"async","callbackUrl":"` + receiver + `"}`: http.StatusAccepted,
	} {
		response, err := paidPost{url: app.URL + "/v1/pdf", secret: key}.send(t.Context(), &http.Client{Timeout: pagePatience}, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if _ = response.Body.Close(); response.StatusCode != want {
			t.Fatalf("%s: status %d", body, response.StatusCode)
		}
	}
	const put = `relaypdf_bucket_request_seconds_count{method="PUT",outcome="unreachable"}`
	var shown string
	for deadline := time.Now().Add(3 * time.Minute); !strings.Contains(shown, "\nrelaypdf_delivery_attempts_total") || !strings.Contains(shown, put); <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the end of the job was not told, or its file not written to the bucket:\n%s", shown)
		}
		shown = textOf(t, app.PrivateURL+"/metrics")
	}
	for _, part := range []string{"3", "4"} { // Redis and the bucket
		for _, address := range []string{app.URL, app.PrivateURL} {
			ready := textOf(t, address+"/health/ready")
			for _, word := range runbook(t, "Ready")[part] {
				if !strings.Contains(ready, word) {
					t.Errorf("the runbook has %s, /health/ready %s", word, ready)
				}
			}
		}
		for _, word := range runbook(t, "Log")[part] {
			if !strings.Contains(log.String(), `"msg":"`+word+`"`) {
				t.Errorf("the runbook has %q, the log does not:\n%s", word, log.String())
			}
		}
	}
	parse := exec.CommandContext(t.Context(), "go", "run", "-modfile=.ci/promql.mod", "./.ci/promql", "deploy/prometheus/rules.yml", "deploy/grafana/relaypdf.json")
	parse.Dir = root
	var said strings.Builder
	parse.Stderr = &said
	asked, err := parse.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	ours := 0
	for line := range strings.Lines(string(asked)) {
		words := strings.Fields(line)
		if slices.Contains(elsewhere, words[0]) {
			continue
		}
		if strings.HasPrefix(words[0], "relaypdf_") {
			ours++
		}
		sample := regexp.MustCompile(`(?m)^` + words[0] + `(\{.*\})? .*$`).FindString(shown)
		if sample == "" {
			t.Errorf("%s is not in /metrics", words[0])
		}
		for _, label := range words[1:] {
			if !strings.Contains(sample, label+`="`) {
				t.Errorf("%s has no label %s: %s", words[0], label, sample)
			}
		}
	}
	if ours < 40 {
		t.Errorf("rules and dashboard ask for our metrics %d times, want 40 at least", ours)
	}
	for _, want := range []string{`step="run/queue"`, `step="wait"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// textOf is what is at an address, whatever its status.
func textOf(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Timeout: pagePatience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return bodyOf(t, response)
}

// bodyOf reads an answer to its end.
func bodyOf(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
