package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestEnginesThatAreLeftOut starts the program with one heavy engine of three.
func TestEnginesThatAreLeftOut(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	c := newCrashBench(t, storetest.SQLite(t))
	c.env = append(c.env, "RELAYPDF_ENGINES=ghostscript")
	server := c.start("none")
	defer server.end(syscall.SIGTERM)
	post := func(path, body string) (int, string) {
		t.Helper()
		response, err := c.send(t.Context(), server.url+path, "", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, bodyOf(t, response)
	}
	prices := textOf(t, server.url+"/v1/billing/prices")
	if strings.Contains(prices, `"convert.create"`) || strings.Contains(prices, `"pdf.ocr"`) || !strings.Contains(prices, `"pdf.pdfa"`) {
		t.Errorf("the price list is %s", prices)
	}
	if page := textOf(t, server.url+"/pricing"); strings.Contains(page, "pdf_ocr") || strings.Contains(page, "convert_create") || !strings.Contains(page, "pdf_pdfa") {
		t.Errorf("the page of prices is %s", page)
	}
	var described struct {
		Paths map[string]map[string]struct {
			Description string
			Price       *int64 `json:"x-relaypdf-price-microdollars"`
			Why         string `json:"x-relaypdf-unavailable"`
		}
	}
	if err := json.Unmarshal([]byte(textOf(t, server.url+"/openapi.json")), &described); err != nil {
		t.Fatal(err)
	}
	for path, off := range map[string]bool{"/v1/pdf/ocr": true, "/v1/convert": true, "/v1/pdf/pdfa": false} {
		about := described.Paths[path]["post"]
		if (about.Price == nil) != off || strings.Contains(about.Description, "RELAYPDF_ENGINES") != off || (about.Why != "") != off {
			t.Errorf("%s is described as %+v", path, about)
		}
	}
	if list := textOf(t, server.url+"/docs/api"); strings.Count(list, "unavailable on this server") != 2 {
		t.Errorf("the reference tells %d times that something is not offered, want 2", strings.Count(list, "unavailable on this server"))
	}
	for path, body := range map[string]string{"/v1/convert": `{"html":"<p>x"}`, "/v1/pdf/ocr": `{"url":"https://example.org/a.pdf"}`} {
		response, err := c.send(t.Context(), server.url+path, "", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		wait := response.Header.Get("Retry-After")
		if text := bodyOf(t, response); response.StatusCode != http.StatusServiceUnavailable || strings.Trim(wait, "0123456789") != "" || wait == "" {
			t.Errorf("%s: %d, Retry-After %q, %s; want 503 and seconds", path, response.StatusCode, wait, text)
		}
	}
	var ready struct{ Checks map[string]string }
	if err := json.Unmarshal([]byte(textOf(t, server.url+"/health/ready")), &ready); err != nil || ready.Checks["office"] != "off" || ready.Checks["ocr"] != "off" || ready.Checks["ghostscript"] != "" {
		t.Errorf("ready says %v, %v", ready.Checks, err)
	}
	if status, tools := post("/mcp?toolsets=all", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != http.StatusOK || strings.Contains(tools, `"name":"convert_create"`) || strings.Contains(tools, `"name":"pdf_ocr"`) || !strings.Contains(tools, `"name":"pdf_pdfa"`) {
		t.Errorf("the tools are %d %.300s", status, tools)
	}
	for path, engine := range map[string]string{"/v1/convert": "office", "/v1/pdf/ocr": "ocr"} {
		for _, mode := range []string{"binary", "async"} {
			status, text := post(path, `{"file":"JVBERi0=","response":"`+mode+`"}`)
			if status != http.StatusServiceUnavailable || !strings.Contains(text, "needs "+engine) || !strings.Contains(text, "RELAYPDF_ENGINES") || !strings.Contains(text, "convert_unavailable") {
				t.Errorf("%s %s: %d %s", path, mode, status, text)
			}
		}
	}
	// A text that is attached becomes no pages without LibreOffice, and is not lost.
	mail := "From: a@example.com\nSubject: s\nContent-Type: text/plain; name=notes.txt\nContent-Disposition: attachment\n\nwords"
	body, err := json.Marshal(map[string]any{"file": []byte(mail), "attachments": "append", "response": "url"})
	if err != nil {
		t.Fatal(err)
	}
	if status, text := post("/v1/email", string(body)); status != http.StatusOK || !strings.Contains(text, "attachment_embedded") || !strings.Contains(text, "office conversion is unavailable") {
		t.Errorf("an email: %d %s", status, text)
	}
}
