package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/service/schema"
)

// tool is a route on its way to an agent.
type tool struct {
	schema.Tool

	// pictured is set if the tool shows images of results on request.
	pictured bool
	// unlisted is set if the client has not selected the tool. Its description is of no use to anyone.
	unlisted  bool
	described *sdk.Tool
	run       func(ctx context.Context, s *service, arguments json.RawMessage) (*sdk.CallToolResult, error)
}

// Names of members that tools have and routes do not.
const (
	asyncMember   = "async"
	chargedMember = "chargedMicrodollars"
	resultMember  = "result"
)

// describeTools makes tools of the routes. Those that are not selected have an empty description.
func describeTools(selected Selection) ([]*tool, error) {
	var tools []*tool
	seen := descriptionIndex{map[string]string{}, map[string]bool{}, map[string]bool{}}
	for _, route := range selected.listed {
		t := &tool{Tool: route}
		t.Use = selected.use(route)
		t.run = t.call
		t.pictured = t.draws()

		input, err := t.input()
		if err != nil {
			return nil, err
		}
		if err := seen.refer(t.Name, input); err != nil {
			return nil, err
		}

		// The description begins with the title, so the list has it once.
		t.described = &sdk.Tool{
			Name: t.Name, Description: t.description(), InputSchema: input, Annotations: t.annotations(),
		}
		tools = append(tools, t)
		if t.Name == jobTool {
			tools = append(tools, waiting(t))
		}
	}

	for _, route := range selected.unlisted {
		t := &tool{
			Tool: route, unlisted: true,
			described: &sdk.Tool{Name: route.Name, InputSchema: &jsonschema.Schema{Type: "object"}},
		}
		t.run = t.call
		t.pictured = t.draws()
		tools = append(tools, t)
	}

	return tools, nil
}

// description describes to a model the tool, when to use it and its price.
func (t *tool) description() string {
	text := t.Title + ". " + t.Use
	switch {
	case t.Operation == nil:
	case t.Operation.Composite():
		text += " " + t.Operation.PriceNote
	default:
		text += fmt.Sprintf(" Costs %v. %s", t.Price, t.Operation.PriceNote)
	}

	return strings.TrimSpace(text)
}

func (t *tool) annotations() *sdk.ToolAnnotations {
	again := t.Reads || t.Method == http.MethodPut || t.Method == http.MethodDelete
	destroys := !t.Reads && t.Method != http.MethodPost
	hints := &sdk.ToolAnnotations{ReadOnlyHint: t.Reads, IdempotentHint: again}

	if !t.Reads {
		hints.DestructiveHint = &destroys // means nothing on tools that only read
	}
	if t.Operation == nil {
		// Operations fetch the URLs that an input names, which is what the protocol assumes; everything else stays in
		// the account.
		hints.OpenWorldHint = new(false)
	}
	return hints
}

// input returns the schema of the tool's arguments: all arguments of the route in one object.
func (t *tool) input() (*jsonschema.Schema, error) {
	doc := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	for _, p := range t.Params {
		doc.Properties.Set(p.Name, shrink(p.Schema, inputDepth))
		if p.Required {
			doc.Required = append(doc.Required, p.Name)
		}
	}

	if t.Body != nil {
		// The tool decides how a result is sent. Document properties are among the options of pdf_create; tools that
		// change PDFs accept them without listing them, and all accept a filename.
		body := without(shrink(t.Body, inputDepth), "response", "callbackUrl", "then")
		if t.Operation == nil || t.Operation.Name != "pdf.metadata" {
			without(body, "metadata")
		}
		if t.Operation != nil && t.Operation.Name != "pdf.create" {
			without(body, "filename")
		}
		for pair := body.Properties.Oldest(); pair != nil; pair = pair.Next() {
			doc.Properties.Set(pair.Key, pair.Value)
		}
		doc.Required = append(doc.Required, body.Required...)
		withoutContent(doc)
	}

	if t.Upload {
		return uploadInput(), nil
	}
	if t.Operation == nil {
		return doc, nil
	}

	doc.Properties.Set(asyncMember, &jsonschema.Schema{Type: "boolean", Description: "Return a job, for jobs_wait."})
	if t.pictured {
		doc.Properties.Set(previewMember, previewInput())
	}

	example, err := exampleOf(t.Operation.Example)
	if nests(example) {
		doc.Examples = []any{example}
	}
	return doc, err
}

// exampleOf writes an example for a model: files in it are IDs of uploads, as their content would be of no use.
func exampleOf(input any) (any, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}

	var example any
	if err := json.Unmarshal(text, &example); err != nil {
		return nil, err
	}
	return nameFiles(example), nil
}

// nests reports whether an example shows how values nest. Others show nothing that the schema lacks.
func nests(example any) bool {
	members, _ := example.(map[string]any)
	for _, v := range members {
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		if _, ok := v.(map[string]any); ok {
			return true
		}
	}
	return false
}

func nameFiles(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["file"].(string); ok {
			delete(v, "file")
			v["fileId"] = "file_1"
		}
		for name, member := range v {
			v[name] = nameFiles(member)
		}
	case []any:
		for i, item := range v {
			v[i] = nameFiles(item)
		}
	}
	return v
}

// param returns a parameter of the route outside its body.
func (t *tool) param(name string) (schema.Param, bool) {
	i := slices.IndexFunc(t.Params, func(p schema.Param) bool { return p.Name == name })
	if i < 0 {
		return schema.Param{}, false
	}
	return t.Params[i], true
}
