package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// documents are the readable documents of the servers in these tests.
var documents = []mcp.Guide{{Name: "quick-start", Title: "Quick start", Description: "Begin here.", Text: "# Quick start\n"}}

// withMCP adds the agent endpoint to a server.
func withMCP(cfg *apitest.Settings) {
	cfg.Agents = func(d *api.MCPBackend) (http.Handler, error) { return mcp.NewHandler(d, documents, cfg.Logger) }
}

// open is the agent endpoint without rate limits.
func open(cfg *apitest.Settings) {
	withMCP(cfg)
	cfg.NoRateLimits = true
}

// newServer starts a server with an agent endpoint.
func newServer(t *testing.T, change func(*apitest.Settings), rows ...schema.Definition[*operation.Deps]) *apitest.Server {
	t.Helper()
	return apitest.New(t, apitest.Options{Operations: rows, Change: change})
}

// product is a server with the real table.
func product(t *testing.T) *apitest.Server {
	t.Helper()
	return newServer(t, func(cfg *apitest.Settings) {
		open(cfg)
		cfg.BaseURL = "https://pdf.example.net"
	}, operation.Rows...)
}

// answer is one of JSON-RPC.
type answer struct {
	Status int
	Header http.Header
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// everything is the endpoint with all toolsets.
const everything = api.AgentPath + "?toolsets=all"

// send sends a body as it is, to all toolsets.
func send(t *testing.T, s *apitest.Server, body string, header http.Header) apitest.Response {
	t.Helper()
	return s.Send(t, apitest.Request{Path: everything, Body: body, Header: header})
}

// ask sends a request and reads its response.
func ask(t *testing.T, s *apitest.Server, method, params string) answer {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`
	if params != "" {
		body = strings.TrimSuffix(body, "}") + `,"params":` + params + `}`
	}
	return parsed(t, send(t, s, body, nil))
}

func parsed(t *testing.T, got apitest.Response) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(got.Body), &a); err != nil {
		t.Fatalf("status %d, and no JSON: %v in %q", got.Status, err, got.Body)
	}
	a.Status, a.Header = got.Status, got.Header
	return a
}

// result is the result of a tool.
type result struct {
	IsError           bool            `json:"isError"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	Content           []struct {
		Type, Text, URI, Name string
		MIMEType              string `json:"mimeType"`
		Size                  int64
	} `json:"content"`
}

// use calls a tool.
func use(t *testing.T, s *apitest.Server, tool, arguments string) result {
	t.Helper()
	a := ask(t, s, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
	if a.Error != nil || a.Status != http.StatusOK {
		t.Fatalf("%s %s: status %d, %+v", tool, arguments, a.Status, a.Error)
	}
	var r result
	if err := json.Unmarshal(a.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// failure is the error that a tool's result holds.
func (r result) failure(t *testing.T) apitest.Failure {
	t.Helper()
	var body struct {
		Error *apitest.Failure `json:"error"`
	}
	if !r.IsError || len(r.Content) != 1 || json.Unmarshal([]byte(r.Content[0].Text), &body) != nil || body.Error == nil {
		t.Fatalf("got %+v, want an error", r)
	}
	if r.StructuredContent != nil {
		t.Errorf("an error has structured content, which clients hold to the schema of a success: %s", r.StructuredContent)
	}
	return *body.Error
}

// into reads the structured content of a success.
func (r result) into(t *testing.T, v any) {
	t.Helper()
	if r.IsError || json.Unmarshal(r.StructuredContent, v) != nil {
		t.Fatalf("got %+v, want a success", r)
	}
}
