package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// operations are the rows of the product.
func operations(t *testing.T) []*schema.Operation[*operation.Deps] {
	t.Helper()
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	return table.All()
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func TestInitialize(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	for asked, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05", "1999-01-01": "2025-11-25",
	} {
		// Without Accept, as any client of JSON-RPC.
		got := parsed(t, send(t, s, fmt.Sprintf(initialize, asked), http.Header{"Accept": {}}))
		var hello struct {
			ProtocolVersion string
			Capabilities    struct{ Tools, Logging *struct{} }
			ServerInfo      struct{ Name, Version string }
			Instructions    string
		}
		if err := json.Unmarshal(got.Result, &hello); err != nil {
			t.Fatalf("%+v: %v", got, err)
		}
		if hello.ProtocolVersion != want || hello.Capabilities.Tools == nil || hello.ServerInfo.Name != "relaypdf" || hello.ServerInfo.Version != "test" || !strings.Contains(hello.Instructions, "24 hours") {
			t.Errorf("version %s: got %s", asked, got.Result)
		}
		if got.Header.Get("Mcp-Session-Id") != "" || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("version %s: header is %v", asked, got.Header)
		}
	}
}

// TestMessages checks the server against JSON-RPC.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	version := func(v string) http.Header { return http.Header{"Mcp-Protocol-Version": {v}} }
	for name, c := range map[string]struct {
		body   string
		header http.Header
		status int
		want   string // the beginning of the response, or "" for none
	}{
		"ping":                     {ping, nil, 200, `{"jsonrpc":"2.0","id":1,"result":{}`},
		"an id that is a text":     {`{"jsonrpc":"2.0","id":"a","method":"ping"}`, nil, 200, `{"jsonrpc":"2.0","id":"a","result":{}`},
		"params that are null":     {`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, nil, 200, `{"jsonrpc":"2.0","id":1,"result":{}`},
		"a notification":           {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		"an unknown notification":  {`{"jsonrpc":"2.0","method":"notifications/none"}`, nil, 202, ""},
		"a request without id":     {`{"jsonrpc":"2.0","method":"ping"}`, nil, 202, ""},
		"a response":               {`{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 202, ""},
		"no JSON":                  {`{"jsonrpc":`, nil, 400, `{"error":{"code":-32700`},
		"nothing":                  {` `, nil, 400, `{"error":{"code":-32700`},
		"a number":                 {`1`, nil, 400, `{"error":{"code":-32600`},
		"another JSON-RPC":         {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, `{"error":{"code":-32600`},
		"no method":                {`{"jsonrpc":"2.0","id":1}`, nil, 400, `{"error":{"code":-32600`},
		"a notification with id":   {`{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, nil, 400, `{"error":{"code":-32600`},
		"an unknown method":        {`{"jsonrpc":"2.0","id":1,"method":"tools/none"}`, nil, 200, `{"error":{"code":-32601,"message":"unknown method \"tools/none\""},"id":1`},
		"params that are a list":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, nil, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602`},
		"no params":                {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil, 200, `{"error":{"code":-32602`},
		"params of another type":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, nil, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602`},
		"an unknown tool":          {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}`, nil, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602`},
		"an unknown version":       {ping, version("1999-01-01"), 400, `{"error":{"code":-32600`},
		"a batch":                  {`[` + ping + `,{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"none"}]`, version("2025-03-26"), 200, `[{"jsonrpc":"2.0","id":1,"result":{}},{"error":{"code":-32601`},
		"a batch, no version":      {`[` + ping + `]`, nil, 200, `[{"jsonrpc":"2.0","id":1,"result":{}}]`},
		"a batch of notifications": {`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, nil, 202, ""},
		"a batch with a number":    {`[1]`, nil, 200, `[{"error":{"code":-32600`},
		"an empty batch":           {`[]`, nil, 400, `{"error":{"code":-32600`},
		"a batch of too many":      {`[` + strings.Repeat(ping+",", 20) + ping + `]`, nil, 400, `{"error":{"code":-32600`},
		"a batch of today":         {`[` + ping + `]`, version("2025-06-18"), 400, `{"error":{"code":-32600`},
		"another content type":     {ping, http.Header{"Content-Type": {"text/plain"}}, 415, `{"error":{"code":-32600`},
		"no content type":          {ping, http.Header{"Content-Type": {}}, 200, `{"jsonrpc":"2.0","id":1,"result":{}`},
	} {
		got := send(t, s, c.body, c.header)
		if got.Status != c.status || !strings.HasPrefix(got.Body, c.want) || c.want == "" && got.Body != "" {
			t.Errorf("%s: got %d %q, want %d %q", name, got.Status, got.Body, c.status, c.want)
		}
		if got.Body != "" && got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: content type %q", name, got.Header.Get("Content-Type"))
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		got := s.Send(t, apitest.Request{Method: method, Path: api.AgentPath})
		if allow := got.Header.Get("Allow"); got.Status != http.StatusMethodNotAllowed || !strings.Contains(allow, "POST") || strings.Contains(allow, method) {
			t.Errorf("%s: status %d, Allow %q", method, got.Status, allow)
		}
	}
}

func TestCallersAndOriginsThatMayAsk(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"its key":                 {nil, 200},
		"no key":                  {http.Header{"Authorization": {}}, 401},
		"a wrong key":             {http.Header{"Authorization": {"Bearer pdf_live_0123456789"}}, 401},
		"a page of this machine":  {http.Header{"Origin": {"http://localhost:5173"}}, 200},
		"a page of another":       {http.Header{"Origin": {"https://evil.example"}}, 403},
		"a page without a origin": {http.Header{"Origin": {"null"}}, 403},
	} {
		got := send(t, s, ping, c.header)
		if got.Status != c.status {
			t.Errorf("%s: got %d %q, want %d", name, got.Status, got.Body, c.status)
		}
		if c.status == 401 && !strings.HasPrefix(got.Header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%s: WWW-Authenticate is %q", name, got.Header.Get("WWW-Authenticate"))
		}
	}
	public := newServer(t, func(cfg *apitest.Settings) {
		open(cfg)
		cfg.BaseURL = "https://pdf.example.net"
	})
	got := send(t, public, ping, http.Header{"Origin": {"https://agents.example"}})
	if got.Status != 200 || got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("an agent in a browser gets %d, %v", got.Status, got.Header)
	}
	if got := send(t, public, ping, http.Header{"Origin": {"null"}}); got.Status != 403 {
		t.Errorf("a page without an origin gets %d", got.Status)
	}
	asks := public.Send(t, apitest.Request{Method: http.MethodOptions, Path: api.AgentPath, Header: http.Header{"Authorization": {}, "Origin": {"https://agents.example"}}})
	if asks.Status != http.StatusNoContent || !strings.Contains(asks.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("before it asks it gets %d, %v", asks.Status, asks.Header)
	}
	if err := s.Store.Suspend(t.Context(), s.Account.ID, "test"); err != nil {
		t.Fatal(err)
	}
	send(t, s, ping, nil).Refused(t, wire.AccountSuspended)
}

// TestAlike asks a route and its tool for the same things: they take and refuse
// alike, with the same codes, fields and words.
func TestAlike(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	for _, c := range []struct {
		tool, path, method, input string
	}{
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a"}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a","label":"b","count":2,"filename":"x"}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a","file":"aGVsbG8="}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a","label":null}`},
		{"test_echo", "/v1/test/echo", "POST", `{}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":1,"label":"c","count":0}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a","txet":"b"}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a","text":"b"}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"` + strings.Repeat("a", 101) + `"}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a","file":"?"}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"\ud800"}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a","callbackUrl":"http://example.com"}`},
		{"test_echo", "/v1/test/echo", "POST", `{"text":"a","file":"` + strings.Repeat("QUJD", 200<<10) + `"}`},
		{"account_get", "/v1/account", "GET", `{}`},
		{"prices_list", "/v1/billing/prices", "GET", `{}`},
		{"billing_usage", "/v1/billing/usage", "GET", `{"from":"2026-03-01","to":"2026-03-02"}`},
		{"billing_usage", "/v1/billing/usage", "GET", `{"from":"yesterday"}`},
		{"jobs_list", "/v1/jobs", "GET", `{"limit":5}`},
		{"jobs_list", "/v1/jobs", "GET", `{"limit":0}`},
		{"jobs_list", "/v1/jobs", "GET", `{"limit":"many"}`},
		{"jobs_list", "/v1/jobs", "GET", `{"cursor":"?"}`},
		{"jobs_list", "/v1/jobs", "GET", `{"other":1}`},
		{"jobs_get", "/v1/jobs/file_none", "GET", `{"id":"file_none"}`},
		{"templates_get", "/v1/templates/none", "GET", `{"id":"none"}`},
		{"templates_create", "/v1/templates", "POST", `{"name":"Letter","html":"<p>{{a}}</p>"}`},
		{"templates_create", "/v1/templates", "POST", `{"html":7}`},
		{"templates_create", "/v1/templates", "POST", `{"name":"x","fromGallery":"none"}`},
		{"templates_delete", "/v1/templates/none", "DELETE", `{"id":"none"}`},
		{"webhooks_create", "/v1/webhooks", "POST", `{"url":"http://example.com"}`},
		{"webhooks_create", "/v1/webhooks", "POST", `{"url":"https://example.com","events":["none"]}`},
		{"webhooks_delete", "/v1/webhooks/none", "DELETE", `{"id":"none"}`},
	} {
		short := c.tool + " " + c.input[:min(len(c.input), 60)]
		q := apitest.Request{Method: c.method, Path: c.path}
		if c.method == http.MethodPost {
			q.Body = c.input
		} else {
			q.Path += queryOf(t, c.path, c.input)
		}
		route, tool := s.Send(t, q), use(t, s, c.tool, c.input)
		if refused := route.Status >= 400; refused != tool.IsError {
			t.Errorf("%s: the route answers %d %s, the tool %+v", short, route.Status, route.Body, tool)
			continue
		}
		if !tool.IsError {
			continue
		}
		want, got := route.Failure(t), tool.failure(t)
		if got.Code != want.Code || got.Message != want.Message || fmt.Sprint(got.Details) != fmt.Sprint(want.Details) {
			t.Errorf("%s: the tool says %+v, the route %+v", short, got, want)
		}
	}
}

// queryOf writes an input as a query, without the fields in the path.
func queryOf(t *testing.T, path, input string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(input), &members); err != nil {
		t.Fatal(err)
	}
	query, before := "", "?"
	for name, value := range members {
		if text := fmt.Sprint(value); !strings.HasSuffix(path, "/"+text) {
			query += before + name + "=" + text
			before = "&"
		}
	}
	return query
}

// TestPaidCall compares the effects of a tool call with those of a request.
func TestPaidCall(t *testing.T) {
	t.Parallel()
	plain, agents := newServer(t, open), newServer(t, open)
	plain.Send(t, apitest.Request{Path: "/v1/test/echo", Body: `{"text":"ab","filename":"x","response":"url"}`}).OK(t)
	made := use(t, agents, "test_echo", `{"text":"ab","filename":"x"}`)
	if got, want := agents.Effects(t), plain.Effects(t); !slices.Equal(got, want) {
		t.Errorf("a tool leaves %q, a request %q", got, want)
	}
	var file struct {
		ID, Status, URL, Filename string
		SizeBytes                 int64
		ChargedMicrodollars       int64
	}
	made.into(t, &file)
	if file.Status != "completed" || file.URL != agents.URL+"/v1/files/"+file.ID || file.Filename != "x.txt" || file.SizeBytes != 2 || file.ChargedMicrodollars != 2000 {
		t.Errorf("it answers with %+v", file)
	}
	if len(made.Content) != 2 || made.Content[0].Type != "resource_link" || made.Content[0].URI != file.URL || made.Content[0].Name != "x.txt" || made.Content[0].Size != 2 || made.Content[1].Text != string(made.StructuredContent) {
		t.Errorf("its content is %+v", made.Content)
	}
	if got := agents.Content(t, file.ID); got != "ab" {
		t.Errorf("the file holds %q", got)
	}
	refused := use(t, agents, "test_echo", `{"text":7}`)
	if f := refused.failure(t); f.Code != wire.InvalidRequest || len(f.Details) != 1 || f.Details[0].Field != "text" || f.RequestID == "" {
		t.Errorf("a refusal says %+v", f)
	}
	if got, want := agents.Effects(t), plain.Effects(t); !slices.Equal(got, want) {
		t.Errorf("after a refusal there is %q, want %q", got, want)
	}
}

func TestResultsInJSONAreShown(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	var made struct {
		URL    string
		Result map[string]any
	}
	use(t, s, "test_json", `{}`).into(t, &made)
	if made.URL == "" {
		t.Errorf("got %+v, want an address", made)
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	s := newServer(t, open, apitest.Echo(func(ctx context.Context, in *apitest.EchoInput) error {
		select {
		case <-let:
		case <-ctx.Done():
			return ctx.Err()
		}
		return nil
	}))
	var job struct{ ID, Status, URL, PollURL string }
	use(t, s, "test_echo", `{"text":"a","async":true}`).into(t, &job)
	if job.Status != "processing" || job.ID == "" || job.PollURL == "" {
		t.Fatalf("a job is accepted as %+v", job)
	}
	use(t, s, "jobs_wait", `{"id":"`+job.ID+`","seconds":1}`).into(t, &job)
	if job.Status != "processing" {
		t.Fatalf("a job that nobody works on is %+v", job)
	}
	s.Work(t)
	close(let)
	for job.Status == "processing" { // a slow machine may need more than one wait
		use(t, s, "jobs_wait", `{"id":"`+job.ID+`"}`).into(t, &job)
	}
	if job.Status != "completed" || job.URL == "" {
		t.Errorf("the job ends as %+v", job)
	}
	for arguments, want := range map[string]wire.Code{
		`{"id":"file_none"}`: wire.NotFound, `{}`: wire.InvalidRequest, `{"id":"` + job.ID + `","seconds":51}`: wire.InvalidRequest, `{"id":"` + job.ID + `","seconds":"x"}`: wire.InvalidRequest,
	} {
		if f := use(t, s, "jobs_wait", arguments).failure(t); f.Code != want {
			t.Errorf("jobs_wait %s: got %+v, want %s", arguments, f, want)
		}
	}
	if f := use(t, s, "test_echo", `{"text":"a","async":"yes"}`).failure(t); f.Code != wire.InvalidRequest || f.Details[0].Field != "async" {
		t.Errorf("async that is no boolean: %+v", f)
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	for arguments, want := range map[string]string{
		`{"text":"größe","filename":"a b.csv"}`:                     "größe",
		`{"file":"data:text/plain;base64,aGVsbG8=","filename":"x"}`: "hello",
		`{"file":"aGVsbG8"}`:                                        "hello",
	} {
		var file struct{ ID, Filename string }
		use(t, s, "files_upload", arguments).into(t, &file)
		if got := s.Content(t, file.ID); got != want {
			t.Errorf("%s is stored as %q", arguments, got)
		}
		if strings.Contains(arguments, "a b") && file.Filename != "a b.csv" {
			t.Errorf("the file is called %q", file.Filename)
		}
		var gone struct{ OK bool }
		use(t, s, "files_delete", `{"id":"`+file.ID+`"}`).into(t, &gone)
	}
	for _, arguments := range []string{`{}`, `{"file":"a","text":"b"}`, `{"file":"?"}`, `{"text":""}`, `{"other":"a"}`, `{"text":"a","text":"b"}`, `{"text":7}`} {
		if f := use(t, s, "files_upload", arguments).failure(t); f.Code != wire.InvalidRequest {
			t.Errorf("%s: got %+v", arguments, f)
		}
	}
}

// TestLimits shows that agents have the limits of their key, and no way around.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := newServer(t, withMCP)
	for range 5 {
		use(t, s, "test_echo", `{"text":"a"}`)
	}
	a := ask(t, s, "tools/call", `{"name":"test_echo","arguments":{"text":"a"}}`)
	var r result
	if err := json.Unmarshal(a.Result, &r); err != nil {
		t.Fatal(err)
	}
	var told struct {
		Error struct {
			Code              wire.Code
			RetryAfterSeconds int
		}
	}
	if err := json.Unmarshal([]byte(r.Content[0].Text), &told); err != nil || told.Error.Code != wire.RateLimited || told.Error.RetryAfterSeconds < 1 {
		t.Errorf("the sixth call of a burst gets %+v", r)
	}
	s.Send(t, apitest.Request{Path: "/v1/test/echo", Body: `{"text":"a"}`}).Refused(t, wire.RateLimited)
	for i := range 121 {
		got := send(t, s, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil)
		if want := map[bool]int{true: 429, false: 200}[i == 120]; got.Status != want {
			t.Fatalf("ping %d: status %d, want %d", i, got.Status, want)
		}
	}
}

func TestKeysThatMayLess(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	_, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "less", Operations: []string{"test.json"}})
	s.Secret = secret
	for tool, want := range map[string]bool{"test_json": true, "account_get": true, "jobs_list": true, "files_list": true, "billing_usage": false} {
		if r := use(t, s, tool, `{}`); r.IsError == want {
			t.Errorf("%s: %+v, want that it is allowed is %v", tool, r, want)
		}
	}
	var job struct{ ID string }
	use(t, s, "test_json", `{"async":true}`).into(t, &job)
	for _, tool := range []string{"jobs_get", "jobs_wait"} {
		if r := use(t, s, tool, `{"id":"`+job.ID+`"}`); r.IsError {
			t.Errorf("%s: %+v, want the key's own job", tool, r)
		}
		s.Work(t)
	}
	if f := use(t, s, "test_echo", `{"text":"a"}`).failure(t); f.Code != wire.Unauthorized {
		t.Errorf("an operation that the key may not use: %+v", f)
	}
	capped, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "capped", SpendLimit: new(credit.Amount(3000))})
	s.Secret = secret
	use(t, s, "test_echo", `{"text":"a"}`).into(t, new(map[string]any))
	if f := use(t, s, "test_echo", `{"text":"a"}`).failure(t); f.Code != wire.PaymentRequired {
		t.Errorf("beyond the cap of key %s: %+v", capped.ID, f)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := newServer(t, open)
	long := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + strings.Repeat("a", 16<<20) + `"}}`
	send(t, s, long, nil).Refused(t, wire.PayloadTooLarge)
	send(t, s, long, http.Header{"Authorization": {}}).Refused(t, wire.Unauthorized)
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + strings.Repeat("a", 4<<20) + `"}}`
	for range 6 { // each gives its place back
		if got := send(t, s, large, nil); got.Status != 200 {
			t.Fatalf("a message of 4 MiB: status %d %s", got.Status, got.Body)
		}
	}
}

// TestPanicIsAnError shows that a tool that fails badly takes nothing with it.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	s := newServer(t, open, apitest.Echo(func(context.Context, *apitest.EchoInput) error { panic("oops") }))
	if f := use(t, s, "test_echo", `{"text":"a"}`).failure(t); f.Code != wire.InternalError || strings.Contains(f.Message, "oops") {
		t.Errorf("a panic is told as %+v", f)
	}
	if balance, held := s.Balance(t); balance != int64(apitest.Trial) || held != 0 {
		t.Errorf("after a panic the wallet has %d and %d held", balance, held)
	}
}
