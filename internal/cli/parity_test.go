package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// doors are the three clients of one service: over HTTP, as an agent, and on the command line.
type doors struct {
	*apitest.Server
	t *testing.T
}

func openDoors(t *testing.T) doors {
	t.Helper()
	return doors{apitest.New(t, apitest.Options{Operations: operation.Rows, Change: func(c *apitest.Settings) {
		c.NoRateLimits = true
		c.Agents = func(d *api.MCPBackend) (http.Handler, error) { return mcp.NewHandler(d, nil, c.Logger) }
	}}), t}
}

// question is a call of an operation, whose input is JSON. Without a limit, any price is accepted.
type question struct {
	operation schema.Info
	input     string
	limit     credit.Amount
}

func (q question) header() http.Header {
	if q.limit == 0 {
		return nil
	}
	return http.Header{wire.MaxChargeHeader: {fmt.Sprint(int64(q.limit))}}
}

// overHTTP asks the API; nil is a success.
func (d doors) overHTTP(q question) *apitest.Failure {
	d.t.Helper()
	answer := d.Send(d.t, apitest.Request{Path: q.operation.Path(), Body: q.input, Header: q.header()})
	if answer.Status == http.StatusOK {
		return nil
	}
	failure := answer.Failure(d.t)
	return &failure
}

// asAgent calls the operation's tool.
func (d doors) asAgent(q question) *apitest.Failure {
	d.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + q.operation.Tool() + `","arguments":` + q.input + `}}`
	answer := d.Send(d.t, apitest.Request{Path: api.AgentPath + "?toolsets=all", Body: body, Header: q.header()})
	if answer.Status >= http.StatusBadRequest {
		failure := answer.Failure(d.t)
		return &failure
	}
	var told struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(answer.Body), &told); err != nil || len(told.Result.Content) == 0 {
		d.t.Fatalf("%s: %v in %s", q.operation.Tool(), err, answer.Body)
	}
	if !told.Result.IsError {
		return nil
	}
	failure := apitest.Response{Status: answer.Status, Body: told.Result.Content[0].Text}.Failure(d.t)
	return &failure
}

// byCommand runs the operation's command.
func (d doors) byCommand(q question) ran {
	d.t.Helper()
	args := append(strings.Split(q.operation.Name, "."), "--json", q.input, "-o", d.t.TempDir(), "--api-url", d.URL, "--api-key", d.Secret)
	if q.limit != 0 {
		args = append(args, "--max-charge", strings.TrimPrefix(q.limit.String(), "$"))
	}
	return relaypdf(d.t, args...)
}

// TestTransportsAnswerAlike makes the same calls through all three: they accept and refuse the same inputs, with
// the same codes, fields and messages.
func TestTransportsAnswerAlike(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	d := openDoors(t)
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name, input string, limit credit.Amount) {
		t.Helper()
		q := question{table.Lookup(name).Info, input, limit}
		short := name + " " + input[:min(len(input), 60)]
		want, agent, command := d.overHTTP(q), d.asAgent(q), d.byCommand(q)
		if want == nil {
			if agent != nil || command.code != 0 {
				t.Errorf("%s: the interface takes it; agents are told %+v, the command line says %+v", short, agent, command)
			}
			return
		}
		if agent == nil || agent.Code != want.Code || agent.Message != want.Message || detailsText(agent.Details) != detailsText(want.Details) {
			t.Errorf("%s: agents are told %+v, over HTTP it is %+v", short, agent, want)
		}
		refusal := &wire.Error{Code: want.Code, Message: want.Message, Details: want.Details}
		var said bytes.Buffer
		explain(&said, refusal)
		if command.code != exitCode(t.Context(), refusal) || !strings.HasPrefix(command.err, said.String()) {
			t.Errorf("%s: the command line ends with %+v, over HTTP it is %+v", short, command, want)
		}
	}
	for _, c := range []struct{ operation, input string }{
		{"barcodes.create", `{"type":"qr","text":"a"}`},
		{"barcodes.create", `{"type":"ean13","text":"4006381333931","scale":3}`},
		{"zip.create", `{"files":[{"filename":"a.txt","file":"aGVsbG8="}]}`},
		{"barcodes.create", `{"type":"qr"}`},
		{"barcodes.create", `{"type":"none","text":"a"}`},
		{"barcodes.create", `{"type":"qr","text":7,"scale":"big"}`},
		{"barcodes.create", `{"type":"qr","text":"a","colour":"red"}`},
		{"barcodes.create", `{"type":"ean13","text":"123"}`},
		{"pdf.create", `{"html":"<p>","url":"https://example.com"}`},
		{"pdf.create", `{"html":"<p>","options":{"format":"A9","scale":20,"margin":{"top":"wide"}}}`},
		{"pdf.create", `{"html":"<p>","options":{"waitForTimeout":-1}}`},
		{"pdf.create", `{"html":"<p>","assets":[{"filename":"../a.css","file":"YQ=="}]}`},
		{"pdf.create", `{"html":"<p>","callbackUrl":"http://example.com"}`},
		{"pdf.create", `{"templateId":"none"}`},
		{"pdf.create", `{"url":"http://127.0.0.1/"}`},
		{"pdf.create", `{"url":"file:///etc/passwd"}`},
		{"images.create", `{"html":"<p>","options":{"type":"bmp"}}`},
		{"pdf.merge", `{"files":[]}`},
		{"pdf.merge", `{"files":[{"fileId":"file_none"},{"file":"?"}]}`},
		{"pdf.rotate", `{"fileId":"file_none","degrees":45}`},
		{"pdf.info", `{"fileId":"file_none"}`},
		{"pdf.redact", `{"file":"JVBERi0xLjc=","patterns":["("]}`},
		{"convert.create", `{"file":"JVBERi0xLjc=","to":"exe"}`},
		{"email.create", `{"file":""}`},
	} {
		ask(c.operation, c.input, 0)
	}
	ask("barcodes.create", `{"type":"qr","text":"a"}`, 1)
	const code = `{"type":"qr","text":"a"}`
	poor, err := d.Store.CreateAccount(t.Context(), "poor@example.com", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, d.Secret = d.NewKey(t, store.NewKey{AccountID: poor.ID, Name: "poor"})
	ask("barcodes.create", code, 0)
	_, narrow := d.NewKey(t, store.NewKey{AccountID: d.Account.ID, Name: "narrow", Operations: []string{"pdf.create"}})
	d.Secret = narrow
	ask("barcodes.create", code, 0)
	d.Secret = narrow + "x"
	ask("barcodes.create", code, 0)
	if err := d.Store.Suspend(t.Context(), d.Account.ID, "abuse"); err != nil {
		t.Fatal(err)
	}
	d.Secret = narrow
	ask("barcodes.create", code, 0)
}

// detailsText spells details, none and no list of them alike.
func detailsText(details []wire.Detail) string {
	text, err := json.Marshal(append([]wire.Detail{}, details...))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
