package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestAccountConnections creates a connection from a file, tests it, and deletes it.
func TestAccountConnections(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	bucket := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(bucket.Close)
	text, err := json.Marshal(map[string]any{"name": "archive", "s3": map[string]any{
		"endpoint": bucket.URL, "bucket": "documents", "accessKeyId": "AKIA", "secretAccessKey": "canary", "pathStyle": true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	made := b.run("", "connections", "create", sharedtest.WriteFile(t, "bucket.json", string(text)))
	id := strings.TrimSpace(made.out)
	if made.code != 0 || !strings.HasPrefix(id, "conn_") {
		t.Fatalf("create: got %+v", made)
	}
	if r := b.run(string(text), "connections", "create", "-"); r.code != exitInput || !strings.Contains(r.err, "must be unique") || strings.Contains(r.err, "canary") {
		t.Errorf("create again: got %+v", r)
	}
	if r := b.run("{", "connections", "create", "-"); r.code != exitUsage {
		t.Errorf("create without JSON: got %+v", r)
	}
	list := decodeJSON[struct{ Connections []client.Connection }](t, b.run("", "connections", "list", "--json").out).Connections
	if len(list) != 1 || list[0].ID != id || list[0].S3 == nil {
		t.Errorf("list: got %+v", list)
	}
	if r := b.run("", "connections", "list"); !strings.Contains(r.out, id+"  archive  s3") || strings.Contains(r.out, "canary") {
		t.Errorf("list: got %+v", r)
	}
	if r := b.run("", "connections", "test", id); r.code != 0 || r.out != "ok\n" {
		t.Errorf("test: got %+v", r)
	}
	bucket.Close()
	if r := b.run("", "connections", "test", id); r.code != exitFailed || !strings.Contains(r.err, "connect: ") {
		t.Errorf("test of a dead server: got %+v", r)
	}
	if r := b.run("", "connections", "delete", id); r.code != 0 {
		t.Errorf("delete: got %+v", r)
	}
	if r := b.run("", "connections", "test", id); r.code != exitNotFound {
		t.Errorf("test of a deleted connection: got %+v", r)
	}
}
