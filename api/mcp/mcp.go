// Package mcp serves the routes of the API as tools of the Model Context Protocol, over HTTP and over standard input
// and output. Names, schemas and prices are those of the routes; a tool call goes the same way as a request, with the
// same checks.
package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Carrier sends a request for the route with the given pattern to the service. An error means that there was no
// response.
type Carrier func(ctx context.Context, pattern string, r *http.Request) (Answer, error)

// Answer is the response of the service.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Config holds the dependencies and settings of a service for agents.
type Config struct {
	// Tools are the routes that the agent may use.
	Tools Selection
	// Choose describes how a client selects toolsets.
	Choose func(names string) string
	// Carry passes the requests of the tools to the API.
	Carry Carrier
	// Documents are the readable documents.
	Documents []Document
	// Folders are the folders of this machine that tools may use; nil means none, for remote agents.
	Folders *folders
	// Draw renders previews of results.
	Draw Drawer
	// Progress notifies clients that their calls are still running, on transports that can send messages before a
	// response.
	Progress bool
	// Version is the version of relaypdf.
	Version string
	Logger  *slog.Logger
}

// Document is a text in Markdown for agents to read.
type Document struct{ Name, Title, Description, Text string }

// service answers agents, whatever they come over.
type service struct {
	carry Carrier
	draw  Drawer
	log   *slog.Logger
}

// instructions describe the server to a model. The toolsets, the selected ones and how to select others follow.
const instructions = `Makes, converts and processes documents: PDFs from HTML, web pages, Markdown or stored templates, images, barcodes, archives, office documents.

Each paid call costs a flat price, which the tool's description names, from a prepaid wallet; a call that fails costs nothing. A result is a public address that works for 24 hours: give it to the person, or its id to another tool as fileId. Every paid tool accepts expiresIn, in seconds, and maxDownloads for that address. Work that may take longer than half a minute is asked for with async: true; jobs_wait waits for it. A refused call says which fields were wrong and what is valid: correct them and call again. After rate_limited wait for retryAfterSeconds; after payment_required ask the person to add funds.

Tools are in toolsets: %s. Listed are the tools of %s. For others, ask the person to connect with %s.`

// newServer creates the server of the protocol.
func newServer(c Config) (*sdk.Server, error) {
	s := &service{carry: c.Carry, draw: c.Draw, log: c.Logger}
	server := sdk.NewServer(
		&sdk.Implementation{Name: "relaypdf", Title: "relaypdf", Version: c.Version},
		// Nothing that is listed changes while the program runs.
		&sdk.ServerOptions{Instructions: fmt.Sprintf(instructions, strings.Join(c.Tools.toolsets[2:], ", "), c.Tools.Names, c.Choose(allToolsets)), Capabilities: &sdk.ServerCapabilities{
			Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{},
		}},
	)
	tools, err := describeTools(c.Tools)
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		if c.Folders != nil {
			c.Folders.offer(t)
		}
		server.AddTool(t.described, func(ctx context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if c.Progress {
				defer s.reportProgress(ctx, q)()
			}
			return t.run(ctx, s, q.Params.Arguments)
		})
	}
	s.addResources(server, c.Documents)
	addPrompts(server)
	server.AddReceivingMiddleware(c.hintUnlisted)
	server.AddReceivingMiddleware(s.recovered)
	return server, nil
}

// hintUnlisted refuses calls of tools that are in other toolsets than the selected ones.
func (c Config) hintUnlisted(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
		if call, ok := q.GetParams().(*sdk.CallToolParamsRaw); ok {
			if toolset := c.Tools.unlisted[call.Name]; toolset != "" {
				return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: fmt.Sprintf("unknown tool %q: it is in the toolset %s, which is not selected. Connect with %s", call.Name, toolset, c.Choose(c.Tools.Names+","+toolset))}
			}
		}
		return next(ctx, method, q)
	}
}

// recovered keeps a panic from ending the process: the protocol's server runs its handlers without recovering.
func (s *service) recovered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, q sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("method", method), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
				result, err = nil, fmt.Errorf("something failed on our side")
			}
		}()
		return next(ctx, method, q)
	}
}
