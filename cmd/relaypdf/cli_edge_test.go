package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestEdgePurge tells two caches to forget: one that is asked, and a folder.
func TestEdgePurge(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	status := http.StatusOK
	cache := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.Header.Get("Surrogate-Key"))
		w.WriteHeader(status)
	}))
	defer cache.Close()
	folder := t.TempDir()
	for name, keys := range map[string]string{"pricing": "pages prices", "docs": "pages docs", "style": "assets"} {
		kept := "\x05\x00\nKEY: /" + name + " gzip\nHTTP/1.1 200 OK\r\nSurrogate-Key: " + keys + "\r\n\r\nSurrogate-Key: prices\r\n"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(kept), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setting := "--edge-purge-url=" + cache.URL + ",file://" + folder
	left := func() string {
		names, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(strings.Join(names, " "), folder+string(filepath.Separator), "")
	}
	for _, q := range []struct {
		args        []string
		code        int
		asked, left string
	}{
		{[]string{"edge", "purge", "prices", setting}, 0, "PURGE prices", "docs style"},
		{[]string{"edge", "purge", "everything", setting}, 1, "", "docs style"},
		{[]string{"edge", "purge", setting}, 0, "PURGE pages", "style"},
		{[]string{"edge", "purge"}, exitUsage, "", "style"},
		{[]string{"edge", "purge", "assets", "pages", setting}, 0, "PURGE assets pages", ""},
	} {
		r := relaypdf(t, q.args...)
		mu.Lock()
		got := strings.Join(asked, ",")
		asked = nil
		mu.Unlock()
		if r.code != q.code || got != q.asked || left() != q.left {
			t.Errorf("%v: code %d, asked %q, left %q: %s", q.args, r.code, got, left(), r.err)
		}
	}
	mu.Lock()
	status = http.StatusForbidden
	mu.Unlock()
	if r := relaypdf(t, "edge", "purge", setting); r.code != 1 || !strings.Contains(r.err, "403") {
		t.Errorf("a cache that refuses: code %d, %s", r.code, r.err)
	}
}
