package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"relaypdf/api"
	"relaypdf/api/wire"
	"relaypdf/client"
)

// maxAnswer bounds an answer of the service in bytes: no result is longer.
const maxAnswer = 200 << 20

// Local is what an agent on this machine reaches by standard input and output.
type Local struct {
	Tools     []api.Tool
	Documents []Document
	Version   string
	// Service is where the tools' work is done.
	Service *client.Client
	// Roots are the folders that tools may read files from and write them to;
	// without any they touch none.
	Roots []string
}

// Serve answers on in and out until in ends, or ctx.
func (l Local) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) (err error) {
	files, err := openFolders(l.Roots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.close()) }()
	server, err := newServer(Config{
		Tools: l.Tools, Carry: remote(l.Service), Documents: l.Documents, Version: l.Version, Logger: slog.New(slog.DiscardHandler),
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

// remote carries requests over HTTP. What the service refuses is an answer like any
// other.
func remote(service *client.Client) Carrier {
	return func(ctx context.Context, _ string, r *http.Request) (Answer, error) {
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return Answer{}, err
			}
		}
		response, err := service.Request(ctx, r.Method, r.URL.RequestURI(), r.Header, body)
		var refused *client.Error
		if errors.As(err, &refused) {
			return refusal(refused)
		}
		if err != nil {
			return Answer{}, err
		}
		text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
		err = errors.Join(err, response.Body.Close())
		if len(text) > maxAnswer {
			err = errors.Join(err, errors.New("the answer is too long to be shown"))
		}
		return Answer{response.StatusCode, response.Header, text}, err
	}
}

// refusal is a refusal as the service sent it.
func refusal(e *client.Error) (Answer, error) {
	var body wire.ErrorBody
	body.Error.Code, body.Error.Message, body.Error.Details, body.Error.RequestID = e.Code, e.Error(), e.Details, e.RequestID
	text, err := json.Marshal(body)
	answer := Answer{e.Status(), http.Header{}, text}
	if e.RetryAfter > 0 {
		answer.Header.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	return answer, err
}
