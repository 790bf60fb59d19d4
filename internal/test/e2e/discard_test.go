package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// TestEarlyAnswersReachTheirClients sends 30 MB to a route that refuses it before it has read that much, by clients
// of four languages that read no response before they have sent everything.
func TestEarlyAnswersReachTheirClients(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const size = 30_000_000
	_, data := dataDir(t)
	app, _ := startFailing(t, data, "RELAYPDF_MAX_BODY=20MiB")
	account, err := app.Store.CreateAccount(t.Context(), "sender@example.com", 0)
	if err != nil {
		t.Fatal(err)
	}
	newKey := func() string {
		_, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "sender"})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	url := app.URL + "/v1/pdf"
	for name, send := range map[string]func(t *testing.T, targets []string) string{
		"go":     sendByGo(size),
		"python": sendBy("python3", "testdata/senders/sender.py", size),
		"node":   sendBy("node", "testdata/senders/sender.mjs", size),
		"java":   sendBy("java", "testdata/senders/Sender.java", size),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spent := newKey()
			want := "429 rate_limited\n429 rate_limited\n413 payload_too_large\n413 payload_too_large\n401 unauthorized\n401 unauthorized\n"
			var got string
			for tries := 0; got != want && tries < 5; tries++ { // the window may empty before a slow program has begun
				for post(t, url, spent, []byte("{}")) != "429 rate_limited" {
				}
				stop := keepSpent(t, url, spent)
				got = send(t, []string{spent + "@" + url, newKey() + "@" + url, "pdf_live_nobody@" + url})
				stop()
				if !strings.HasPrefix(got, "413 ") && !strings.HasPrefix(got, "429 rate_limited\n413 payload_too_large\n413 payload_too_large\n413") {
					break
				}
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// keepSpent uses up what a key may send, as it becomes free, until stop is called.
func keepSpent(t *testing.T, url, key string) (stop func()) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for every := time.Tick(20 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-every:
				post(t, url, key, []byte("{}"))
			}
		}
	}()
	return func() { close(done); <-ended }
}

// sendBy runs a program that sends a body to targets, each a key and a URL, and prints a line for each response.
func sendBy(program, script string, size int) func(*testing.T, []string) string {
	return func(t *testing.T, targets []string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, append([]string{script, strconv.Itoa(size)}, targets...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", program, err)
		}
		return string(out)
	}
}

// sendByGo does the same with net/http: with a length and in chunks.
func sendByGo(size int) func(*testing.T, []string) string {
	return func(t *testing.T, targets []string) string {
		t.Helper()
		var lines strings.Builder
		body := []byte(`{"html":"` + strings.Repeat("a", size) + `"}`)
		for _, target := range targets {
			key, url, _ := strings.Cut(target, "@")
			for _, content := range []io.Reader{bytes.NewReader(body), io.MultiReader(bytes.NewReader(body))} {
				lines.WriteString(postFrom(t, url, key, content) + "\n")
			}
		}
		return lines.String()
	}
}

func post(t *testing.T, url, key string, body []byte) string {
	t.Helper()
	return postFrom(t, url, key, bytes.NewReader(body))
}

// postFrom returns the status of a response and its error code.
func postFrom(t *testing.T, url, key string, body io.Reader) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := new(http.Client).Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	var failure struct{ Error struct{ Code string } }
	if err := json.NewDecoder(answer.Body).Decode(&failure); err != nil {
		return err.Error()
	}
	return fmt.Sprint(answer.StatusCode, " ", failure.Error.Code)
}
