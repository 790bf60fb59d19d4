package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// samplePatience bounds the start of a sample, a compilation included.
const samplePatience = 2 * time.Minute

// TestSamples runs the sample programs of docs/guides/webhooks.md unchanged, and sends them valid and invalid signatures.
func TestSamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range []struct {
		language, file string
		command        func(dir, port string) []string
	}{
		{"go", "main.go", func(dir, _ string) []string { return []string{filepath.Join(dir, "receiver")} }},
		{"javascript", "receiver.mjs", func(dir, _ string) []string { return []string{"node", filepath.Join(dir, "receiver.mjs")} }},
		{"python", "receiver.py", func(dir, _ string) []string { return []string{"python3", filepath.Join(dir, "receiver.py")} }},
		{"php", "receiver.php", func(dir, port string) []string {
			return []string{"php", "-S", "127.0.0.1:" + port, filepath.Join(dir, "receiver.php")}
		}},
	} {
		t.Run(sample.language, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("starts the samples")
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, sample.file), codeBlock(t, string(text), sample.language), 0o600); err != nil {
				t.Fatal(err)
			}
			if sample.language == "go" {
				build := exec.CommandContext(t.Context(), "go", "build", "-o", "receiver", "main.go")
				build.Dir = dir
				build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds, whose cache it shares
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("the sample does not compile: %v\n%s", err, out)
				}
			}
			port := storetest.FreePort(t)
			judge(t, startSample(t, port, sample.command(dir, port)))
		})
	}
}

// codeBlock returns the one block of a language in a Markdown text.
func codeBlock(t *testing.T, text, language string) []byte {
	t.Helper()
	parts := strings.Split(text, "\n```"+language+"\n")
	if len(parts) != 2 {
		t.Fatalf("the page has %d programs in %s, want 1", len(parts)-1, language)
	}
	code, _, ok := strings.Cut(parts[1], "\n```\n")
	if !ok {
		t.Fatalf("the program in %s has no end", language)
	}
	return []byte(code + "\n")
}

// startSample starts a program that ends with its test, and returns its URL once it accepts connections.
func startSample(t *testing.T, port string, command []string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port, "WEBHOOK_SECRET="+secret)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; make setup installs what the samples need", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // It is killed.
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("the sample said:\n%s", &out)
		}
	})
	for deadline := time.Now().Add(samplePatience); time.Now().Before(deadline); {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
			return "http://127.0.0.1:" + port
		}
		select {
		case <-ended:
			t.Fatal("the sample ended at once")
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("the sample takes no connections after %v", samplePatience)
	return ""
}

// judge sends deliveries to a sample and compares its responses.
func judge(t *testing.T, address string) {
	t.Helper()
	for n := range attempts(time.Now()) {
		// The samples' clock is the real one. A minute is left for slow machines.
		c := attempts(time.Now())[n]
		if got, err := post(t, address, c.header, c.body); err != nil || got != c.want {
			t.Errorf("%s: got status %d, %v, want %d", c.name, got, err, c.want)
		}
	}
}

// attempt is a valid or forged delivery, and the response of a sample.
type attempt struct {
	name, header string
	body         []byte
	want         int
}

func attempts(now time.Time) []attempt {
	good := webhook.Sign(secret, now, body)
	stamp := strconv.FormatInt(now.Unix(), 10)
	_, hex, _ := strings.Cut(good, "v1=")
	wrong := strings.Repeat("00", 32)
	return []attempt{
		{"good", good, body, http.StatusNoContent},
		{"two signatures", "t=" + stamp + ",v1=" + wrong + ",v1=" + hex, body, http.StatusNoContent},
		{"four minutes ago", webhook.Sign(secret, now.Add(-4*time.Minute), body), body, http.StatusNoContent},
		{"four minutes ahead", webhook.Sign(secret, now.Add(4*time.Minute), body), body, http.StatusNoContent},
		{"too old", webhook.Sign(secret, now.Add(-301*time.Second), body), body, http.StatusBadRequest},
		{"too far ahead", webhook.Sign(secret, now.Add(6*time.Minute), body), body, http.StatusBadRequest},
		{"another secret", webhook.Sign(another, now, body), body, http.StatusBadRequest},
		{"another body", good, bytes.TrimSpace(body), http.StatusBadRequest},
		{"another time", "t=" + strconv.FormatInt(now.Unix()-1, 10) + ",v1=" + hex, body, http.StatusBadRequest},
		{"shortened", good[:len(good)-2], body, http.StatusBadRequest},
		{"no hex", "t=" + stamp + ",v1=zz", body, http.StatusBadRequest},
		{"no signature", "t=" + stamp, body, http.StatusBadRequest},
		{"no time", "v1=" + hex, body, http.StatusBadRequest},
		{"no number", "t=x1,v1=" + hex, body, http.StatusBadRequest},
		{"no header", "", body, http.StatusBadRequest},
	}
}

func post(t *testing.T, address, header string, body []byte) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	if header != "" {
		r.Header.Set(webhook.SignatureHeader, header)
	}
	client := &http.Client{Timeout: samplePatience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return 0, fmt.Errorf("post: %w", err)
	}
	return response.StatusCode, response.Body.Close()
}
