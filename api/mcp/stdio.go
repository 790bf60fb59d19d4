package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
)

// maxAnswer bounds a response of the service in bytes: no result is longer.
const maxAnswer = 200 << 20

// Local is the set of tools that an agent on this machine reaches by standard input and output.
type Local struct {
	Tools     Selection
	Documents []Guide
	Version   string
	// Service is the client of the service that runs the tools.
	Service *client.Client
	// Roots are the folders that tools may read files from and write them to;
	// without any they touch none.
	Roots []string
}

// Serve reads messages from in and writes responses to out, until in or ctx ends.
func (l Local) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) (err error) {
	files, err := openFolders(l.Roots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.close()) }()

	carry := remote(l.Service)
	server, err := newServer(config{
		Tools: l.Tools, Carry: carry, Draw: drawRemote(carry), Documents: l.Documents, Version: l.Version,
		Logger:  slog.New(slog.DiscardHandler),
		Choose:  func(names string) string { return "--toolsets " + names },
		Folders: files, Progress: true,
	})
	if err != nil {
		return err
	}

	err = server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// remote carries requests over HTTP. It returns a refusal of the service like any other response.
func remote(service *client.Client) sendFunc {
	return func(ctx context.Context, _ string, r *http.Request) (Response, error) {
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return Response{}, err
			}
		}

		response, err := service.Request(ctx, r.Method, r.URL.RequestURI(), r.Header, body)
		var refused *client.Error
		if errors.As(err, &refused) {
			return refusal(refused)
		}
		if err != nil {
			return Response{}, err
		}

		text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
		err = errors.Join(err, response.Body.Close())
		if len(text) > maxAnswer {
			err = errors.Join(err, errors.New("the response is too long"))
		}
		return Response{response.StatusCode, response.Header, text}, err
	}
}

// drawRemote lets the service render results; their images are read from its agent endpoint.
func drawRemote(carry sendFunc) thumbnailFunc {
	return func(ctx context.Context, id string) (picture []byte, why string) {
		message, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": 1, "method": methodRead, "params": map[string]string{"uri": pictureOf(id)},
		})
		if err != nil {
			return nil, err.Error()
		}

		r, err := http.NewRequestWithContext(ctx, http.MethodPost, wire.AgentPath, bytes.NewReader(message))
		if err != nil {
			return nil, err.Error()
		}

		answer, err := carry(ctx, wire.AgentPath, r)
		// Errors of the protocol and of the API have the same text field.
		var told struct {
			Result struct{ Contents []struct{ Blob []byte } }
			Error  struct{ Message string }
		}

		switch {
		case err != nil:
			return nil, "The service did not respond."
		case json.Unmarshal(answer.Body, &told) != nil:
			return nil, fmt.Sprintf("The service returned status %d.", answer.Status)
		case told.Error.Message != "":
			return nil, told.Error.Message
		case len(told.Result.Contents) != 1 || len(told.Result.Contents[0].Blob) == 0:
			return nil, "The service returned no preview."
		}
		return told.Result.Contents[0].Blob, ""
	}
}

// refusal is a refusal as the service sent it.
func refusal(e *client.Error) (Response, error) {
	var body wire.ErrorBody
	body.Error.Code = e.Code
	body.Error.Message = e.Error()
	body.Error.Details = e.Details
	body.Error.RequestID = e.RequestID
	body.Error.Docs = e.Docs
	text, err := json.Marshal(body)
	answer := Response{e.Status(), http.Header{}, text}
	if e.RetryAfter > 0 {
		answer.Header.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	return answer, err
}
