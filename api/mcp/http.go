//go:build linux

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/schema"
)

const (
	// maxMessage limits a message in bytes. Larger files are uploaded first or given as a URL.
	maxMessage = 16 << 20
	// largeMessage is the size from which a message needs one of maxLarge places: it is in memory several times while
	// it is read.
	largeMessage = 1 << 20
	maxLarge     = 4
	// maxServers limits the selections of toolsets that are described in memory.
	maxServers = 32
)

// Handler serves agents over HTTP: one message per request, with a JSON response, and no state between requests.
type Handler struct {
	api       *api.MCPBackend
	tools     []schema.Tool
	documents []Guide
	protocol  http.Handler
	log       *slog.Logger
	large     chan struct{}
	scopes    map[string]string // that tools need, by their names

	mu      sync.Mutex
	servers map[string]*sdk.Server // by the names of the selected toolsets
}

// exchange is one request to the agent endpoint.
type exchange struct {
	ctx    context.Context // of the request: it ends when the client leaves
	caller call.Caller
	header http.Header
	server *sdk.Server
}

func (x *exchange) has(scope string) bool { return x.caller.Has(scope) }

// NewHandler returns the handler for agents.
func NewHandler(a *api.MCPBackend, documents []Guide, log *slog.Logger) (*Handler, error) {
	d := &Handler{
		api: a, tools: a.Tools(), documents: documents, log: log, large: make(chan struct{}, maxLarge),
		scopes:  map[string]string{},
		servers: map[string]*sdk.Server{},
	}

	for _, t := range d.tools {
		d.scopes[t.Name] = t.Scope
	}
	d.scopes[waitTool] = d.scopes[jobTool]

	all, err := Select(d.tools, allToolsets)
	if err == nil {
		_, err = d.serverFor(all)
	}
	if err != nil {
		return nil, err
	}

	d.protocol = sdk.NewStreamableHTTPHandler(serverOf, &sdk.StreamableHTTPOptions{
		// The handler checks hosts and origins, and limits bodies, by itself.
		Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: -1,
		Logger: slog.New(slog.DiscardHandler),
	})
	return d, nil
}

// serverFor returns the server that lists the selected tools.
func (d *Handler) serverFor(selected Selection) (*sdk.Server, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if server := d.servers[selected.Names]; server != nil {
		return server, nil
	}

	server, err := newServer(config{
		Tools: selected, Choose: func(names string) string {
			return d.api.BaseURL + api.AgentPath + "?" + api.ToolsetsParam + "=" + names
		},
		Carry: d.carry, Draw: d.draw, Documents: d.documents, Version: d.api.Version(), Logger: d.log,
	})
	if err != nil {
		return nil, err
	}

	if len(d.servers) >= maxServers {
		clear(d.servers)
	}
	d.servers[selected.Names] = server
	return server, nil
}

// serverOf returns the server that a request's client has selected.
func serverOf(r *http.Request) *sdk.Server {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil
	}
	return x.server
}

// ServeHTTP responds to one request.
func (d *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "*, WWW-Authenticate")

	if !d.fromHere(r) {
		reply(w, r, http.StatusForbidden,
			problem(nil, codeInvalidRequest,
				"The host or origin is not allowed: this server accepts local requests only, at "+d.api.BaseURL+
					". Operator: set RELAYPDF_BASE_URL to change that."))
		return
	}

	caller, err := d.api.Caller(w, r)
	if err == nil {
		err = d.answer(w, r, caller)
	}
	if err != nil {
		d.api.Fail(w, r, err)
	}
}

// fromHere refuses requests that a page of another origin sends to a service on the browser's own machine,
// recognised by its origin or by a rebound host name. Elsewhere any origin may send requests, because they need a
// key, which browsers do not add by themselves.
func (d *Handler) fromHere(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if !d.api.Local() {
		u, err := url.Parse(origin)
		return origin == "" || err == nil && (u.Scheme == "https" || u.Scheme == "http")
	}
	return middleware.IsLoopback("http://"+r.Host) && (origin == "" || middleware.IsLoopback(origin))
}

// answer reads and answers one request of a caller.
func (d *Handler) answer(w http.ResponseWriter, r *http.Request, caller call.Caller) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Header.Get("Content-Type") != "" &&
		(err != nil || media != "application/json") {
		reply(w, r, http.StatusUnsupportedMediaType,
			problem(nil, codeInvalidRequest, "Content-Type must be application/json"))
		return nil
	}

	selected, err := Select(d.tools, strings.Join(r.URL.Query()[api.ToolsetsParam], ","))
	if err != nil {
		reply(w, r, http.StatusBadRequest, problem(nil, codeInvalidRequest, err.Error()))
		return nil
	}
	server, err := d.serverFor(selected)
	if err != nil {
		return err
	}

	body, done, err := d.read(w, r)
	if err != nil {
		return err
	}
	defer done()

	messages, batch, wrong := split(body, r.Header.Get("Mcp-Protocol-Version"))
	if wrong != nil {
		reply(w, r, http.StatusBadRequest, wrong)
		return nil
	}
	if err := d.count(w, r, caller, messages); err != nil {
		return err
	}

	ctx := context.WithValue(r.Context(), exchangeKey{}, &exchange{r.Context(), caller, r.Header, server})
	if !batch {
		middleware.Note(w, slog.String("message", messages[0].label()))
		if scope := messages[0].scope(d.scopes); scope != "" && !caller.Has(scope) {
			d.api.StepUp(w, r, caller, scope)
			reply(w, r, http.StatusForbidden,
				problem(messages[0].ID, codeInvalidRequest,
					"The token lacks the scope "+scope+". Request it as described in the WWW-Authenticate header."))
			return nil
		}
		answer := d.one(ctx, r, messages[0])
		reply(w, r, answer.Status, answer.Body)
		return nil
	}

	var answers [][]byte
	for _, m := range messages {
		if answer := d.one(ctx, r, m); len(answer.Body) > 0 {
			answers = append(answers, bytes.TrimSpace(answer.Body))
		}
	}

	if len(answers) == 0 {
		reply(w, r, http.StatusAccepted, nil)
		return nil
	}
	reply(w, r, http.StatusOK, append(append([]byte{'['}, bytes.Join(answers, []byte{','})...), ']'))
	return nil
}

// read reads a message. One that is large waits for nothing: it has a place while
// it is answered, or is refused.
func (d *Handler) read(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	done = func() {}
	from := d.api.Body(w, r, maxMessage)
	head, err := io.ReadAll(io.LimitReader(from, largeMessage))
	if err == nil && len(head) == largeMessage {
		select {
		case d.large <- struct{}{}:
			done = func() { <-d.large }
		default:
			return nil, nil, &wire.Error{
				Code: wire.RateLimited, RetryAfter: 2,
				Message: "Too many large messages are in progress. Upload the file with POST /v1/files and send its fileId.",
			}
		}

		var rest []byte
		rest, err = io.ReadAll(from)
		head = append(head, rest...)
	}

	var size *http.MaxBytesError
	if errors.As(err, &size) {
		err = &wire.Error{
			Code: wire.PayloadTooLarge,
			Message: fmt.Sprintf("An MCP message must be at most %d MiB. Upload the file with POST /v1/files and "+
				"send its fileId, or send its URL.", maxMessage>>20),
			Cause: err,
		}
	}

	if err != nil {
		done()
		return nil, nil, err
	}
	return head, done, nil
}

// count counts messages other than tool calls, which the routes count.
func (d *Handler) count(w http.ResponseWriter, r *http.Request, caller call.Caller, messages []message) error {
	for _, m := range messages {
		if m.Method == methodCall {
			continue
		}
		if err := d.api.CountRead(w, r, caller); err != nil {
			return err
		}
	}
	return nil
}

// one answers one message.
func (d *Handler) one(ctx context.Context, r *http.Request, m message) Response {
	if answer, ok := m.refused(); ok {
		return answer
	}

	text := m.text
	other := m.ID != nil && !plainID(m.ID)
	if other {
		text = withID(text, json.RawMessage("0"))
	}

	q := r.Clone(ctx)
	q.Body = io.NopCloser(bytes.NewReader(text))
	q.ContentLength = int64(len(text))
	q.Header.Set("Accept", "application/json, text/event-stream")
	q.Header.Set("Content-Type", "application/json")
	q.Header.Del("Content-Encoding")
	q.Header.Del("Last-Event-Id")
	q.Header.Del("Mcp-Session-Id")

	w := &middleware.Recorder{}
	d.protocol.ServeHTTP(w, q)
	answer := answerOf(w)
	if answer.Status >= http.StatusBadRequest &&
		!strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		answer.Body = problem(m.ID, codeInvalidRequest, strings.TrimSpace(string(answer.Body)))
	}

	if other {
		answer.Body = withID(answer.Body, m.ID)
	}
	return answer
}

// carry answers a tool's request with the API's own route.
func (d *Handler) carry(ctx context.Context, pattern string, q *http.Request) (Response, error) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return Response{}, errors.New("a tool was called outside of a request")
	}

	for name, values := range x.header {
		if strings.HasPrefix(name, "X-") && strings.HasSuffix(name, "-Max-Charge-Microdollars") {
			q.Header[name] = values
		}
	}

	w := &middleware.Recorder{}
	d.api.Serve(w, q.WithContext(x.ctx), pattern, x.caller)
	if err := x.ctx.Err(); err != nil {
		return Response{}, err
	}
	return answerOf(w), nil
}

// draw renders a result of the caller.
func (d *Handler) draw(ctx context.Context, id string) (picture []byte, why string) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, "Nobody asked for it."
	}
	return d.api.Calls.Thumbnail(x.ctx, x.caller.Account, id)
}

// reply sends a response of the protocol. The log of the account shows errors.
func reply(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if status >= http.StatusBadRequest {
		middleware.DescribeError(r.Context(), "", "", body)
	}
	if len(body) > 0 {
		w.Header().Set("Content-Type", "application/json")
	}

	w.WriteHeader(status)
	// An error means that the client has gone.
	_, _ = w.Write(body)
}

// answerOf returns the response of a handler.
func answerOf(w *middleware.Recorder) Response {
	w.WriteHeader(http.StatusOK)
	return Response{w.Status, w.Header(), w.Body.Bytes()}
}
