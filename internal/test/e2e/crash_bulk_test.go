package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestKilledBulkWorkerRepeatsNoRecord kills a server with -9 in the middle of a bulk job: after a chunk, while the next
// one is stored and not yet settled, and before its end. Each time another server continues, and each record is in the
// result once and charged once.
func TestKilledBulkWorkerRepeatsNoRecord(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		c := newCrashBench(t, db)
		server := c.start("none")
		template := c.sendBulk(t, server, "/v1/templates", `{"name":"Letter","html":"<p>{{name}}</p>","options":{"format":"A6"}}`)
		c.sendBulk(t, server, "/v1/templates/"+template.ID+"/publish", `{}`)
		for _, step := range []string{"chunk", "kept", "run", "stored"} {
			server.arm(t, step)
			job := c.sendBulk(t, server, "/v1/pdf/bulk", bulkRecords(120))
			server.await(t, "reached "+step)
			server.end(syscall.SIGKILL)
			if report, err := c.store.CheckLedger(t.Context()); err != nil || len(report.Problems) > 0 {
				t.Errorf("after %s: ledger %+v, %v", step, report, err)
			}
			before, err := c.store.Bulk(t.Context(), store.CallID(job.ID))
			if want := map[string]int{"chunk": 50, "run": 120, "stored": 120}[step]; err != nil || before.Processed != want {
				t.Errorf("after %s: %d records are settled, want %d; %v", step, before.Processed, want, err)
			}
			server = c.start("none")
			ctx, cancel := context.WithTimeout(t.Context(), crashPatience)
			c.awaitJob(ctx, job.ID, step)
			cancel()
			if got := c.pageWords(t, server, job.ID); got != strings.Join(bulkNames(120), " ") {
				t.Errorf("after %s: the pages read %s", step, got)
			}
			c.spent += 119 * 2000 // and one more
			c.expectCharge(step)
		}
		server.end(syscall.SIGTERM)
	})
}

func bulkNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return names
}

func bulkRecords(n int) string {
	return `{"templateId":"letter","output":"merged","records":[{"name":"` + strings.Join(bulkNames(n), `"},{"name":"`) + `"}]}`
}

// sendBulk POSTs JSON, and returns the ID of the response.
func (c *crashBench) sendBulk(t *testing.T, server *crashServer, path, body string) (made struct {
	ID string `json:"id"`
},
) {
	t.Helper()
	response, err := c.send(t.Context(), server.url+path, "", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// pageWords returns the words of a stored PDF.
func (c *crashBench) pageWords(t *testing.T, server *crashServer, id string) string {
	t.Helper()
	response, err := (&http.Client{Timeout: crashPatience}).Get(server.url + "/v1/files/" + id)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read := exec.CommandContext(t.Context(), "pdftotext", "-", "-")
	read.Stdin = response.Body
	out, err := read.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
