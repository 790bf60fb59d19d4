package api

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// AgentPath is the path of the Model Context Protocol endpoint.
const AgentPath = wire.AgentPath

// ToolsetsParam is the query parameter of AgentPath that selects toolsets.
const ToolsetsParam = "toolsets"

// agentRoute is the route of the API that serves agents.
func agentRoute() route {
	return route{
		params: []schema.Param{{Name: ToolsetsParam, In: "query", Schema: &jsonschema.Schema{
			Type: "string",
			Description: "Toolsets whose tools are listed, separated by commas, or all. Default: default. All " +
				"tools can be called.", Examples: []any{"default,forms"},
		}}},
		routeSpec: routeSpec{
			method: http.MethodPost, pattern: AgentPath, access: withToken,
			summary: "Send a Model Context Protocol message",
			about: "Stateless Streamable HTTP endpoint for agents. Accepts an API key, or an access token from " +
				"the OAuth authorization of relaypdf. Agents call the operations of this API as tools.",
			verb:    "send",
			content: "application/json", upload: agentMessages(),
			others: map[int]string{
				http.StatusAccepted:   "The server accepted a notification or a response from the client. The body is empty.",
				http.StatusBadRequest: "The message is invalid, or names an unknown revision or toolset. The body is a JSON-RPC error.",
				http.StatusForbidden: "The origin or the host is not allowed, or the token lacks the " +
					"scope in WWW-Authenticate. The body is a JSON-RPC error.",
				http.StatusUnsupportedMediaType: "The content type is not application/json. The body is a JSON-RPC error.",
			},
			codes: []wire.Code{wire.PayloadTooLarge},
		},
	}
}

// agentMessages describes the messages of agents.
func agentMessages() map[string]mediaType {
	message := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"jsonrpc"}}
	message.Description = "JSON-RPC 2.0 message of the Model Context Protocol revision in Mcp-Protocol-Version. " +
		"The server is stateless. Revision 2025-03-26 also accepts arrays of messages."

	message.Properties.Set("jsonrpc", &jsonschema.Schema{Const: "2.0", Type: "string", Description: "Always 2.0."})
	message.Properties.Set("id", &jsonschema.Schema{
		AnyOf:       []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}},
		Description: "ID of the request. Notifications have none.",
	})
	message.Properties.Set("method", &jsonschema.Schema{
		Type:        "string",
		Description: "Method, such as initialize, ping, tools/list, tools/call, resources/list or prompts/list.",
	})
	message.Properties.Set("params", &jsonschema.Schema{
		Type: "object", AdditionalProperties: jsonschema.TrueSchema, Description: "Parameters of the method.",
	})

	return map[string]mediaType{"application/json": {
		Schema:  message,
		Example: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pdf_create","arguments":{"html":"<h1>Hello</h1>"}}}`),
	}}
}

// agentHeaders are the headers that clients in browsers send to it.
const agentHeaders = "Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID"

// toolsOf lists the routes that agents use.
func toolsOf(a *API) []schema.Tool {
	var tools []schema.Tool
	for _, r := range a.routes() {
		if r.operation != nil && r.operation.Off {
			continue
		}
		if r.operation != nil {
			tools = append(tools, schema.Tool{
				Name: r.operation.Tool(), Title: r.summary, Use: r.operation.Use, Method: r.method, Pattern: r.pattern,
				Body:      r.operation.Schema,
				Operation: &r.operation.Spec, Price: a.Prices[r.operation.Name], Scope: scopeOf(r.pattern),
				Toolset: cmp.Or(r.operation.Toolset, r.tag()), Default: r.operation.Default,
			})
			continue
		}

		used, ok := agentUse[r.method+" "+r.pattern]
		if !ok {
			continue
		}

		tools = append(tools, schema.Tool{
			Name: used.name, Title: r.summary, Use: used.use, Method: r.method, Pattern: r.pattern, Params: r.params,
			Body:   r.body,
			Hidden: used.hidden, Reads: used.reads || r.method == http.MethodGet, Upload: r.upload != nil,
			Full: r.access == withFullKey, Scope: scopeOf(r.pattern),
			Toolset: r.tag(), Default: used.visibility == byDefault, Always: used.visibility == always,
		})
	}

	return tools
}

// shown returns the type of a response's content: a response with its own headers is described by its content.
func shown(answer reflect.Type) reflect.Type {
	if answer.NumField() == 1 && answer.Field(0).Anonymous {
		return answer.Field(0).Type
	}
	return answer
}

// Tools lists the tools of the operation table, without a store or a browser. The error is one of the table's.
func Tools() ([]schema.Tool, error) {
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		return nil, err
	}

	prices, err := operation.Prices(table, nil)
	if err != nil {
		return nil, err
	}
	return toolsOf(&API{Services: &service.Services{Config: service.Config{Prices: prices}, Table: table}}), nil
}

// AgentOptions are the settings of the agent endpoint.
type AgentOptions struct {
	// Issuer verifies the tokens of an external issuer, which agents may use as well as our own; nil means none.
	Issuer *oauth.Issuer
	// TellGrant notifies users by email when a new client connects with such a token; nil sends nothing.
	TellGrant store.GrantMailBuilder
}

// MCPBackend is the part of the API behind the agent endpoint: the routes themselves, with all their checks.
type MCPBackend struct {
	*API

	handlers map[string]http.Handler // by method and pattern
	options  AgentOptions
}

// ForAgents returns the part of the API behind the agent endpoint, whose handler MountAgents adds.
func (a *API) ForAgents(options AgentOptions) *MCPBackend {
	d := &MCPBackend{API: a, handlers: map[string]http.Handler{}, options: options}
	for _, r := range a.routes() {
		handle := r.handle
		name := r.method + " " + r.pattern
		_, used := agentUse[name]

		switch {
		case r.operation != nil:
			handle = runOperation(a, r.operation, known)
		case !used && name != "GET "+wire.FilePattern:
			continue
		case r.access == public:
		case r.method == http.MethodPost:
			handle = a.rateLimit(handle)
		default:
			handle = a.rateLimitReads(handle)
		}

		if r.access == withFullKey {
			handle = requireFullKey(handle)
		}
		d.handlers[name] = a.serve(handle)
	}

	return d
}

// Tools lists the tools for agents.
func (d *MCPBackend) Tools() []schema.Tool { return toolsOf(d.API) }

// Version returns the version of relaypdf.
func (d *MCPBackend) Version() string { return d.API.options.Version }

// Local reports whether the service is reachable from its own machine only.
func (d *MCPBackend) Local() bool { return middleware.IsLoopback(d.BaseURL) }

// Caller identifies the caller of a request by a key or by a token of a grant. The response to a request without
// either names the page where a user can grant access (RFC 9728).
func (d *MCPBackend) Caller(w http.ResponseWriter, r *http.Request) (call.Caller, error) {
	secret := bearer(r.Header)
	caller, err := d.authenticate(r.Context(), secret, middleware.ClientIP(r.Context()), d.agentOf)
	if err != nil && call.APIError(err).Code == wire.Unauthorized {
		challenge := d.challenge(r)
		if secret != "" {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}

	return caller, err
}

func (d *MCPBackend) challenge(r *http.Request) string {
	return `Bearer realm="relaypdf", resource_metadata="` + d.BaseURL + wire.ResourceMetadataPath + AgentPath +
		oauth.ResourceQuery(r.URL.RawQuery) + `"`
}

// StepUp asks the client of a token that lacks a scope to request that scope as well (RFC 6750). The header lists the
// scopes that the token already has too: a token for the new scope alone would lose them.
func (d *MCPBackend) StepUp(w http.ResponseWriter, r *http.Request, caller call.Caller, scope string) {
	wanted := strings.Join(append(slices.Clone(caller.Scopes), scope), " ")
	w.Header().Set("WWW-Authenticate",
		d.challenge(r)+`, error="insufficient_scope", scope="`+wanted+`", error_description="`+withoutScope(scope)+`"`)
}

// withoutScope returns the error text for an agent whose grant lacks a scope.
func withoutScope(scope string) string {
	return "Scope " + scope + " is not granted. Ask the user to reconnect this app and allow that scope."
}

// scopeOf returns the scope that a grant needs for a route; empty means none.
func scopeOf(pattern string) string {
	switch {
	case pattern == "/v1/billing/prices", pattern == "/v1/templates/gallery":
		return ""
	case strings.HasPrefix(pattern, "/v1/templates"):
		return wire.ScopeTemplates
	case strings.HasPrefix(pattern, "/v1/webhooks"):
		return wire.ScopeWebhooks
	case strings.HasPrefix(pattern, "/v1/signing-identities"):
		return wire.ScopeSign
	case pattern == "/v1/account", strings.HasPrefix(pattern, "/v1/billing"):
		return wire.ScopeAccount
	}

	return wire.ScopeDocuments
}

// Body reads a request's body of at most most bytes, like the body of any route: a body that arrives too slowly is
// given up.
func (d *MCPBackend) Body(w http.ResponseWriter, r *http.Request, maximum int64) io.Reader {
	return newBody(w, r, maximum)
}

// CountRead counts a request that is not a tool call.
func (d *MCPBackend) CountRead(w http.ResponseWriter, r *http.Request, caller call.Caller) error {
	count := d.rateLimitReads(func(http.ResponseWriter, *http.Request) error { return nil })
	return count(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
}

// Serve responds to a request for a route, as an authenticated caller. The values of
// the path parameters are those of the request.
func (d *MCPBackend) Serve(w http.ResponseWriter, r *http.Request, pattern string, caller call.Caller) {
	handler, ok := d.handlers[r.Method+" "+pattern]
	if !ok {
		d.Fail(w, r, &wire.Error{Code: wire.NotFound})
		return
	}

	if scope := scopeOf(pattern); scope != "" && !caller.Has(scope) {
		d.Fail(w, r, &wire.Error{Code: wire.Unauthorized, Message: withoutScope(scope)})
		return
	}

	route := chi.NewRouteContext()
	for _, name := range pathParameters(pattern) {
		route.URLParams.Add(name, r.PathValue(name))
	}
	ctx := context.WithValue(r.Context(), chi.RouteCtxKey, route)
	handler.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callerKey{}, caller)))
}
