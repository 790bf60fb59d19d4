package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// elsewhere are metrics of other programs, which the rules ask for as well.
var elsewhere = []string{"probe_ssl_earliest_cert_expiry"}

// TestDashboardAndRulesNameWhatIsThere has promtool check the rules and the dashboard's expressions, and checks
// that a service whose Redis and bucket do not respond exports each metric and label that they name. It runs a
// call, a job and a delivery before.
func TestDashboardAndRulesNameWhatIsThere(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	_, data := dataDir(t)
	key := strings.TrimSpace(mustRun(t, "keys", "create", "--account", "ada@example.com", data))
	config := loadConfig(t, []string{data, "--listen=127.0.0.1:0", "--render-slots=1"}, "RELAYPDF_METRICS_LISTEN=127.0.0.1:0", "RELAYPDF_REDIS_URL=redis://127.0.0.1:1/0", "RELAYPDF_BLOBS=s3://bucket?endpoint=http://127.0.0.1:1",
		"RELAYPDF_S3_ACCESS_KEY=a", "RELAYPDF_S3_SECRET_KEY=b", "RELAYPDF_ALLOW_HOSTS=127.0.0.1")
	log := &apitest.Log{}
	app := startApp(t, config, log)
	receiver := apitest.NewReceiver(t, nil).URL // with an unknown certificate
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
	ours := 0
	for _, selector := range selectors(t) {
		if slices.Contains(elsewhere, selector.metric) {
			continue
		}
		if strings.HasPrefix(selector.metric, "relaypdf_") {
			ours++
		}
		sample := regexp.MustCompile(`(?m)^` + selector.metric + `(\{.*\})? .*$`).FindString(shown)
		if sample == "" {
			t.Errorf("%s is not in /metrics", selector.metric)
		}
		for _, label := range selector.labels {
			if !strings.Contains(sample, label+`="`) {
				t.Errorf("%s has no label %s: %s", selector.metric, label, sample)
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

// textOf returns the body at a URL, whatever its status.
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

// bodyOf reads a response to its end.
func bodyOf(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// selector is a metric that an expression asks for, with the labels that it names.
type selector struct {
	metric string
	labels []string
}

var (
	exprOfRule   = regexp.MustCompile(`(?m)^\s+expr: (.*)$`)
	exprGrouping = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	exprTerm     = regexp.MustCompile(`\b([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\}|(\())?`)
	exprMatcher  = regexp.MustCompile(`(\w+)\s*(?:=~|!=|!~|=)\s*"`)
)

// selectors returns the selectors of all rules and panels. Each expression has to pass
// promtool, and each rule has a severity and a summary.
func selectors(t *testing.T) (all []selector) {
	t.Helper()
	rules := filepath.Join("..", "..", "..", "deploy", "prometheus", "rules.yml")
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	alerts := strings.Count(string(text), "- alert: ")
	for _, part := range []string{" expr: ", " severity: ", " summary: "} {
		if n := strings.Count(string(text), part); n != alerts {
			t.Errorf("%d alerts have%s%d times", alerts, part, n)
		}
	}
	var expressions []string
	for _, match := range exprOfRule.FindAllStringSubmatch(string(text), -1) {
		expressions = append(expressions, match[1])
	}
	panels := panelExpressions(t)
	// Rules are YAML, of which JSON is a part.
	recorded := make([]map[string]string, len(panels))
	for i, expression := range panels {
		recorded[i] = map[string]string{"record": "panel:" + strconv.Itoa(i), "expr": expression}
	}
	group, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": recorded}}})
	if err != nil {
		t.Fatal(err)
	}
	recording := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(recording, group, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", "--lint=none", rules, recording).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	for _, expression := range append(expressions, panels...) {
		for _, match := range exprTerm.FindAllStringSubmatch(exprGrouping.ReplaceAllString(expression, ""), -1) {
			if match[3] != "" || slices.Contains([]string{"and", "or", "unless", "bool", "offset"}, match[1]) {
				continue // a function or an operator
			}
			one := selector{metric: match[1]}
			for _, label := range exprMatcher.FindAllStringSubmatch(match[2], -1) {
				one.labels = append(one.labels, label[1])
			}
			all = append(all, one)
		}
	}
	return all
}

// panelExpressions returns the expressions of the dashboard's panels and variables, with durations instead of
// Grafana's variables.
func panelExpressions(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "grafana", "relaypdf.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatal("the dashboard is not JSON")
	}
	for _, match := range regexp.MustCompile(`"expr":\s*("(?:[^"\\]|\\.)*")`).FindAllSubmatch(text, -1) {
		var expression string
		if err := json.Unmarshal(match[1], &expression); err != nil {
			t.Fatal(err)
		}
		list = append(list, regexp.MustCompile(`\$__(rate_interval|interval|range)`).ReplaceAllString(expression, "5m"))
	}
	if len(list) == 0 {
		t.Fatal("the dashboard has no expressions")
	}
	return list
}
