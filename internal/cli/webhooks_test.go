package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestAccountWebhooks makes an endpoint, has its events forwarded to a program here,
// and deletes it.
func TestAccountWebhooks(t *testing.T) {
	b := newBench(t, nil)
	if r := b.run("", "webhooks", "listen", "3000"); r.code != exitUsage || !strings.Contains(r.err, "run relaypdf webhooks create https://… first") {
		t.Errorf("without an endpoint: got %+v", r)
	}
	secret := b.run("", "webhooks", "create", "https://example.com/hook", "--events", "job.completed")
	if secret.code != 0 || !strings.HasPrefix(secret.out, "whsec_") || strings.Count(secret.out, "\n") != 1 {
		t.Fatalf("create: got %+v, want the secret", secret)
	}
	list := decodeJSON[struct{ Webhooks []client.WebhookEndpoint }](t, b.run("", "webhooks", "list", "--json").out).Webhooks
	if len(list) != 1 || list[0].URL != "https://example.com/hook" || len(list[0].Events) != 1 {
		t.Fatalf("list: got %+v", list)
	}
	if r := b.run("", "webhooks", "list"); !strings.Contains(r.out, list[0].ID+"  https://example.com/hook  job.completed  yes") {
		t.Errorf("list: got %+v", r)
	}

	type received struct {
		header http.Header
		body   []byte
	}
	came := make(chan received, 10)
	program := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- received{r.Header, body}
	}))
	defer program.Close()
	b.Send(t, apitest.Request{Path: "/v1/webhooks/" + list[0].ID + "/test"}).OK(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	root, err := newProgram(b.rows).root()
	if err != nil {
		t.Fatal(err)
	}
	said, out := io.Pipe()
	root.SetArgs([]string{"webhooks", "listen", program.URL + "/in", "--every", "1s", "--api-url", b.URL, "--api-key", b.Secret})
	root.SetOut(out)
	root.SetErr(io.Discard)
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, root) }()
	line := make([]byte, 256)
	n, err := said.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(line[:n]))
	b.Send(t, apitest.Request{Path: "/v1/webhooks/" + list[0].ID + "/test"}).OK(t)
	got := <-came
	if err := webhook.Verify(key, got.header, got.body, webhook.Options{}); err != nil {
		t.Errorf("the signature is refused: %v", err)
	}
	if err := webhook.Verify(strings.TrimSpace(secret.out), got.header, got.body, webhook.Options{}); err == nil {
		t.Error("the signature is that of the endpoint, whose secret nobody here knows")
	}
	if got.header.Get("Service-Event") != "webhook.test" || !strings.Contains(string(got.body), `"type":"webhook.test"`) || !strings.Contains(string(got.body), got.header.Get("Webhook-Id")) {
		t.Errorf("got %v with %s", got.header, got.body)
	}
	stop()
	if code := <-ended; code != 0 && code != exitInterrupted {
		t.Errorf("got exit code %d", code)
	}
	if len(came) > 0 {
		t.Errorf("%d more came: what was there before, or the same again", len(came))
	}
	if r := b.run("", "webhooks", "delete", list[0].ID); r.code != 0 {
		t.Errorf("delete: got %+v", r)
	}
	if r := b.run("", "webhooks", "delete", list[0].ID); r.code != exitNotFound {
		t.Errorf("delete again: got %+v", r)
	}
}

// TestParseTarget reads where events are forwarded to.
func TestParseTarget(t *testing.T) {
	for text, want := range map[string]string{
		"3000": "http://localhost:3000", "3000/hooks": "http://localhost:3000/hooks", "localhost:3000/a": "http://localhost:3000/a",
		"https://127.0.0.1:1/x": "https://127.0.0.1:1/x", "": "",
	} {
		if got, err := localTarget(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q and %v, want %q", text, got, err, want)
		}
	}
}
