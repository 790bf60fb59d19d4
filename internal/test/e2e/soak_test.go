package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

var soakDocuments = flag.Int("soak", 200, "how many documents TestSoak renders")

// TestSoak renders PDFs and images, with and without scripts, for several accounts. At the end the processes of the
// server have at most 1.2 times the memory that they had after a tenth of the documents. With fewer than 10,000
// documents the limit is 2, because browsers still fill their caches.
func TestSoak(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const accounts, atOnce, steps = 4, 4, 10 // more at once than slots, so that the queue is in use too
	db := storetest.SQLite(t)
	var keys []string
	books := &chaos{t: t, store: db.Open(t, nil)}
	for i := range accounts {
		keys = append(keys, books.newCustomer(fmt.Sprintf("soak%d@example.com", i)).key)
	}
	server := &chaosServer{program: plainProgram(t), env: []string{
		actAsProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + db.DataDir, "RELAYPDF_LISTEN=127.0.0.1:0", "RELAYPDF_METRICS_LISTEN=",
		"RELAYPDF_DATA_DIR=" + db.DataDir, "RELAYPDF_DATABASE_URL=" + db.URL, "RELAYPDF_RATE_LIMITS=off", "RELAYPDF_RENDER_SLOTS=2",
	}}
	if err := server.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.end(syscall.SIGTERM) })

	var memory []int
	for step := range steps {
		var callers sync.WaitGroup
		for caller := range atOnce {
			callers.Go(func() {
				for i := step**soakDocuments/steps + caller; i < (step+1)**soakDocuments/steps && !t.Failed(); i += atOnce {
					if err := soakCall(t.Context(), server.address(), keys[i/20%accounts], i); err != nil {
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
		if t.Failed() {
			t.Fatal(server.logged(loggedLines))
		}
		memory = append(memory, restingMemory(t, server.pid())>>20)
		t.Logf("%d documents: %d MiB", (step+1)**soakDocuments/steps, memory[step])
	}
	if len(descendants(server.pid())) == 0 || memory[0] < 50 {
		t.Fatalf("the processes of the server have %d MiB: too few are measured", memory[0])
	}
	limit := memory[0] * 2
	if *soakDocuments >= 10_000 {
		limit = memory[0] * 6 / 5
	}
	if last := memory[steps-1]; last > limit {
		t.Errorf("%d MiB at the end, %d MiB after a tenth of the documents; want at most %d", last, memory[0], limit)
	}
}

// soakCall renders a document: one in five has a script, and one in five is an image.
func soakCall(ctx context.Context, address, key string, i int) error {
	path, magic := "/v1/pdf", "%PDF-"
	html := "<h1>Invoice " + fmt.Sprint(i) + "</h1><table>" + strings.Repeat("<tr><td>Widget with a long name<td>7.50", 29) + "</table>"
	if i%5 == 3 {
		html += `<canvas id=c></canvas><script>c.getContext("2d").fillRect(9, 9, 99, 99); document.title = "drawn"</script>`
	}
	if i%5 == 0 {
		path, magic = "/v1/images", "\x89PNG"
	}
	body, err := json.Marshal(map[string]string{"html": html})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
	response, err := chaosHTTP.Do(request)
	if err != nil {
		return err
	}
	answer, err := readChaos(response)
	if err == nil && !strings.HasPrefix(string(answer.body), magic) {
		err = fmt.Errorf("document %d: status %d: %.300q", i, answer.status, answer.body)
	}
	return err
}

// restingMemory returns the least that memoryOf returns within some seconds: work that ends takes memory for a while.
func restingMemory(t *testing.T, root int) int {
	t.Helper()
	minimum := memoryOf(t, root)
	for range 4 {
		<-time.After(2 * time.Second)
		minimum = min(minimum, memoryOf(t, root))
	}
	return minimum
}

// memoryOf returns the memory in bytes of a process and its descendants: their proportional set sizes, in which a
// shared page counts once. Of a process that only root may read, it counts the resident memory.
func memoryOf(t *testing.T, root int) (total int) {
	t.Helper()
	for _, pid := range append(descendants(root), root) {
		process, err := procfs.NewProc(pid)
		if err != nil {
			continue // It has just ended.
		}
		if sizes, err := process.ProcSMapsRollup(); err == nil {
			total += int(sizes.Pss)
		} else if stat, err := process.Stat(); err == nil {
			total += stat.ResidentMemory()
		}
	}
	return total
}
