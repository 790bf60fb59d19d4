package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
)

// maxInline is the maximum size of a JSON result, in bytes, to be shown to a model along with its URL.
const maxInline = 64 << 10

// call asks a route, and shows its response.
func (t *tool) call(ctx context.Context, s *service, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	preview := false
	if t.pictured {
		var err error
		if preview, arguments, err = takePreview(arguments); err != nil {
			return refused(err)
		}
	}

	answer, err := t.ask(ctx, s, arguments)
	if err != nil {
		return refused(err)
	}
	if answer.Status >= http.StatusBadRequest {
		return failed(answer)
	}
	return t.show(ctx, s, answer, preview)
}

// ask sends the request of the arguments to the service.
func (t *tool) ask(ctx context.Context, s *service, arguments json.RawMessage) (Response, error) {
	q, err := t.request(ctx, arguments)
	if err != nil {
		return Response{}, err
	}
	return s.carry(ctx, t.Pattern, q)
}

// show converts a response to a result: its JSON and a link to the file that it names, with an image of the file if
// one was requested.
func (t *tool) show(ctx context.Context, s *service, answer Response, preview bool) (*sdk.CallToolResult, error) {
	members, err := membersOf(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("the response to %s is not a JSON object", t.Name)
	}
	members = slices.DeleteFunc(members, func(m member) bool { return slices.Contains(t.Hidden, m.name) })

	var file struct {
		ID, URL, Filename, Status string
		SizeBytes                 int64
	}
	if t.Operation != nil || strings.HasPrefix(t.Name, "jobs_") {
		if err := json.Unmarshal(answer.Body, &file); err != nil {
			return nil, err
		}
	}

	if charged := answer.Header.Get(wire.ChargedHeader); charged != "" && t.Operation != nil {
		members = append(members, member{chargedMember, json.RawMessage(charged)})
	}
	if t.Operation != nil && t.Operation.Answer != nil && path.Ext(file.Filename) == ".json" &&
		file.SizeBytes <= maxInline {
		content, err := s.open(ctx, file.ID)
		if err != nil {
			return refused(err)
		}
		if content.Status != http.StatusOK || !json.Valid(content.Body) {
			return nil, fmt.Errorf("the result %s cannot be read: status %d", file.ID, content.Status)
		}
		members = append(members, member{resultMember, content.Body})
	}

	structured, err := objectOf(members)
	if err != nil {
		return nil, err
	}
	result := &sdk.CallToolResult{StructuredContent: json.RawMessage(structured)}
	if file.URL != "" {
		result.Content = append(result.Content, &sdk.ResourceLink{
			URI: file.URL, Name: file.Filename, MIMEType: mediaTypes[path.Ext(file.Filename)], Size: &file.SizeBytes,
		})
	}

	switch {
	case preview && file.URL != "":
		result.Content = append(result.Content, s.preview(ctx, file.ID))
	case preview && file.Status == wire.JobProcessing:
		result.Content = append(result.Content, &sdk.TextContent{
			Text: "The preview is not ready. Send preview: true to " + waitTool + ".",
		})
	}

	result.Content = append(result.Content, &sdk.TextContent{Text: string(structured)})
	return result, nil
}

// mediaTypes maps extensions of results to media types.
var mediaTypes = map[string]string{
	".pdf": "application/pdf", ".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp",
	".svg": "image/svg+xml",
	".zip": "application/zip", ".json": "application/json", ".html": "text/html",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// open fetches a result.
func (s *service) open(ctx context.Context, id string) (Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(wire.FilePattern, "{id}", id, 1),
		http.NoBody)
	if err != nil {
		return Response{}, err
	}
	r.SetPathValue("id", id)
	return s.carry(ctx, wire.FilePattern, r)
}

// failure is the error of a call as the model sees it.
type failure struct {
	Code              wire.Code     `json:"code"`
	Message           string        `json:"message"`
	Details           []wire.Detail `json:"details,omitempty"`
	RetryAfterSeconds int           `json:"retryAfterSeconds,omitempty"`
	RequestID         string        `json:"requestId,omitempty"`
	Docs              string        `json:"docs,omitempty"`
}

// failed shows a response that is an error.
func failed(answer Response) (*sdk.CallToolResult, error) {
	var body wire.ErrorBody
	if err := json.Unmarshal(answer.Body, &body); err != nil || body.Error.Code == "" {
		return nil, fmt.Errorf("the service returned status %d", answer.Status)
	}

	told := failure{
		Code: body.Error.Code, Message: body.Error.Message, Details: body.Error.Details,
		RequestID: body.Error.RequestID, Docs: body.Error.Docs,
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		told.RetryAfterSeconds = seconds
	}
	return told.result()
}

// refused returns an error of the service as a result. Connection errors are the protocol's.
func refused(err error) (*sdk.CallToolResult, error) {
	if errors.Is(err, errNoObject) {
		return failure{Code: wire.InvalidRequest, Message: "The arguments must be one JSON object."}.result()
	}

	var e *wire.Error
	var faults schema.FieldErrors
	if errors.As(err, &faults) {
		e = faults.APIError()
	}
	if e == nil && !errors.As(err, &e) {
		return nil, err
	}
	return failure{Code: e.Code, Message: e.Error(), Details: e.Details}.result()
}

// result is a failure as a model reads it: in the content alone, because clients
// hold structured content to the schema of a success.
func (f failure) result() (*sdk.CallToolResult, error) {
	text, err := json.Marshal(map[string]failure{"error": f})
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil
}
