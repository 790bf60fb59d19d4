package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestShortestTimeout: a timeout of 1 ms is the cause that every kind of call fails with, at no charge and at once.
func TestShortestTimeout(t *testing.T) {
	t.Parallel()
	l := templateLab{toolServer(t, func(cfg *apitest.Settings) {
		cfg.Agents = func(d *api.MCPBackend) (http.Handler, error) { return mcp.NewHandler(d, nil, cfg.Logger) }
	}), t}
	made, tag := l.record(201, "POST", "", object{"name": "Letter", "html": "<p>{{name}}</p>"})
	l.record(200, "POST", "/"+made.ID+"/publish", object{}, "If-Match", tag)
	l.Work(t)

	short := object{"timeout": 1}
	page := object{"html": "<p>a</p>", "options": short}
	for name, c := range map[string]struct {
		path  string
		input object
		jobs  bool
		tool  bool
	}{
		"page":               {path: "/v1/pdf", input: page, jobs: true, tool: true},
		"page with a script": {path: "/v1/pdf", input: object{"html": "<script>document.body.append(1)</script>", "options": short}, jobs: true},
		"page with a network": {path: "/v1/pdf", input: object{
			"html": `<img src="https://nowhere.invalid/x.png">`, "options": short}},
		"Markdown":             {path: "/v1/pdf", input: object{"markdown": "# a", "options": short}},
		"template":             {path: "/v1/pdf", input: object{"templateId": "letter", "options": short}},
		"header and footer":    {path: "/v1/pdf", input: object{"html": "<p>a</p>", "options": object{"timeout": 1, "headerTemplate": "<p>h</p>", "footerTemplate": "<p>f</p>"}}},
		"PDF/UA":               {path: "/v1/pdf", input: object{"html": "<p>a</p>", "options": object{"timeout": 1, "standards": []string{"ua-1"}}}},
		"assets":               {path: "/v1/pdf", input: object{"html": `<img src="a.png">`, "options": short, "assets": []object{{"filename": "a.png", "file": "iVBORw0KGgo="}}}},
		"stored":               {path: "/v1/pdf", input: object{"html": "<p>a</p>", "options": short, "response": "url"}},
		"image":                {path: "/v1/images", input: page, jobs: true, tool: true},
		"image of a selector":  {path: "/v1/images", input: object{"html": "<p>a</p>", "options": object{"timeout": 1, "waitForSelector": "p"}}},
		"preview":              {path: "/v1/templates/preview", input: page, tool: true},
		"step":                 {path: "/v1/pipelines", input: object{"steps": []object{{"id": "a", "op": "pdf.create", "input": page}, {"id": "b", "op": "pdf.rotate", "input": object{"step": "a", "degrees": 90}}}}, jobs: true, tool: true},
		"step after the first": {path: "/v1/pdf", input: object{"html": "<p>a</p>", "options": short, "then": []object{{"op": "pdf.rotate", "input": object{"degrees": 90}}}}},
	} {
		if c.tool {
			name := map[string]string{"/v1/pdf": "pdf_create", "/v1/images": "images_create", "/v1/templates/preview": "templates_preview", "/v1/pipelines": "pipelines_create"}[c.path]
			message, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": name, "arguments": c.input}})
			if err != nil {
				t.Fatal(err)
			}
			answer := l.Send(t, apitest.Request{Path: api.AgentPath, Body: string(message)}).OK(t)
			if !strings.Contains(answer.Body, `"isError":true`) || !strings.Contains(answer.Body, "render_failed") || !strings.Contains(answer.Body, "options.timeout is too short") {
				t.Errorf("%s: the tool %s answers %s", c.path, name, answer.Body)
			}
		}

		body, err := json.Marshal(c.input)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got := l.Send(t, apitest.Request{Path: c.path, Body: string(body)}).Refused(t, wire.RenderFailed)
		if took := time.Since(began); !strings.Contains(got.Message, "options.timeout is too short") || took > time.Minute { // with its time in the queue
			t.Errorf("%s: %q after %v", name, got.Message, took)
		}
		if !c.jobs {
			continue
		}
		job := l.Await(t, l.Enqueue(t, apitest.Request{Path: c.path, Body: strings.TrimSuffix(string(body), "}") + `,"response":"async"}`}).ID)
		if job.Error == nil || job.Error.Code != string(wire.RenderFailed) || job.Error.Message != got.Message {
			t.Errorf("%s: the job is %+v, its error %+v; want %s", name, job, job.Error, got.Message)
		}
	}

	job := l.Await(t, l.bulk(object{"records": named("a", "b"), "options": short}).ID)
	l.expectProgress(job, 2, 2, 2)
	if job.Status != wire.JobFailed || len(job.Errors) != 2 || job.Errors[1].Code != string(wire.RenderFailed) || !strings.Contains(job.Errors[1].Message, "options.timeout is too short") {
		t.Errorf("the bulk job is %+v, its error %+v", job, job.Error)
	}
	job = l.Await(t, l.bulk(object{"records": named("a", "b"), "options": short, "onError": "fail"}).ID)
	if job.Error == nil || job.Error.Code != string(wire.RenderFailed) {
		t.Errorf("the bulk job is %+v, its error %+v", job, job.Error)
	}
	for _, line := range l.Effects(t) {
		if strings.HasPrefix(line, "job ") && line != "job ended tries 1" || strings.HasPrefix(line, "call ") && !strings.Contains(line, " failed charged 0 ") {
			t.Errorf("%s", line)
		}
	}
	expectBalance(t, l.Server, apitest.Trial)

	// The same account is not slowed, and its next document is made.
	l.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"<p>a</p>"}`}).OK(t)
	expectBalance(t, l.Server, apitest.Trial-2000)
	if log := l.Log.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log has errors: %s", fmt.Sprintf("%.2000s", log))
	}
}
