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
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sendFunc sends a request for the route with the given pattern to the service. An error means that there was no
// response.
type sendFunc func(ctx context.Context, pattern string, r *http.Request) (Response, error)

// Response is the response of the service.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// config holds the dependencies and settings of a service for agents.
type config struct {
	// Tools are the routes that the agent may use.
	Tools Selection
	// Choose describes how a client selects toolsets.
	Choose func(names string) string
	// Carry passes the requests of the tools to the API.
	Carry sendFunc
	// Documents are the readable documents.
	Documents []Guide
	// Folders are the folders of this machine that tools may use; nil means none, for remote agents.
	Folders *folders
	// Draw renders previews of results.
	Draw thumbnailFunc
	// Progress notifies clients that their calls are still running, on transports that can send messages before a
	// response.
	Progress bool
	// Version is the version of relaypdf.
	Version string
	Logger  *slog.Logger
}

// Guide is a text in Markdown for agents to read.
type Guide struct{ Name, Title, Description, Text string }

// service answers agents, whatever they come over.
type service struct {
	carry sendFunc
	draw  thumbnailFunc
	log   *slog.Logger
}

// instructions describe the server to a model. The toolsets, the selected ones and how to select others follow.
const instructions = `Makes, converts and processes documents: PDFs from HTML, web pages, Markdown or stored templates, images, barcodes, archives, office documents.

Each paid call costs the price in the tool's description, from a prepaid wallet; a failed call costs nothing. A result is a public URL that works for 24 hours: give it to the user, or its id to another tool as fileId. Every paid tool accepts expiresIn, in seconds, and maxDownloads, which limit that URL. For work that may take longer than 30 s, send async: true, then call jobs_wait. A refused call names the invalid fields and the valid values: correct them and call again. After rate_limited, wait for retryAfterSeconds; after payment_required, ask the user to add funds.

Tools are in toolsets: %s. This list has the tools of %s. The others can be called too; to list them, ask the user to connect with %s.`

// newServer creates the server of the protocol.
func newServer(c config) (*sdk.Server, error) {
	s := &service{carry: c.Carry, draw: c.Draw, log: c.Logger}
	server := sdk.NewServer(
		&sdk.Implementation{Name: "relaypdf", Title: "relaypdf", Version: c.Version},
		// Nothing that is listed changes while the program runs.
		&sdk.ServerOptions{
			Instructions: fmt.Sprintf(instructions, strings.Join(c.Tools.toolsets[2:], ", "), c.Tools.Names,
				c.Choose(allToolsets)),
			Capabilities: &sdk.ServerCapabilities{
				Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{},
				Prompts: &sdk.PromptCapabilities{},
			},
		},
	)

	tools, err := describeTools(c.Tools)
	if err != nil {
		return nil, err
	}

	for _, t := range tools {
		if c.Folders != nil {
			if err := c.Folders.offer(t); err != nil {
				return nil, err
			}
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
	server.AddReceivingMiddleware(listOnly(tools))
	server.AddReceivingMiddleware(s.recovered)
	return server, nil
}

// listOnly leaves the tools that the client has not selected out of the list.
func listOnly(tools []*tool) func(sdk.MethodHandler) sdk.MethodHandler {
	unlisted := map[string]bool{}
	for _, t := range tools {
		unlisted[t.Name] = t.unlisted
	}

	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, q)
			if list, ok := result.(*sdk.ListToolsResult); ok && list != nil {
				list.Tools = slices.DeleteFunc(list.Tools, func(t *sdk.Tool) bool { return unlisted[t.Name] })
			}
			return result, err
		}
	}
}

// recovered keeps a panic from ending the process: the protocol's server runs its handlers without recovering.
func (s *service) recovered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, q sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("method", method), slog.Any("panic", p),
					slog.String("stack", string(debug.Stack())))
				result = nil
				err = fmt.Errorf("something failed on our side")
			}
		}()
		return next(ctx, method, q)
	}
}
