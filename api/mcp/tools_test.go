package mcp_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// listed is a tool as clients see it.
type listed struct {
	Name, Description string
	InputSchema       json.RawMessage
	Annotations       struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
}

func listTools(t *testing.T, s *apitest.Server) (tools []listed, text json.RawMessage) {
	t.Helper()
	return toolsOf(t, ask(t, s, "tools/list", ""))
}

func toolsOf(t *testing.T, got answer) (tools []listed, text json.RawMessage) {
	t.Helper()
	var list struct {
		Tools      []listed
		NextCursor string
	}
	if err := json.Unmarshal(got.Result, &list); err != nil || list.NextCursor != "" {
		t.Fatalf("%v, next cursor %q in %s", err, list.NextCursor, got.Result)
	}
	return list.Tools, got.Result
}

func TestToolsGolden(t *testing.T) {
	t.Parallel()
	_, text := listTools(t, product(t))
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, tool := range list.Tools {
		lines.Write(tool)
		lines.WriteByte('\n')
	}
	apitest.Golden(t, "tools.golden", lines.Bytes())
}

// purpose finds the title of a tool and its use at the beginning of a description.
var purpose = regexp.MustCompile(`^[A-Z][^.]+\. Use when `)

// TestToolsAreWhole checks that every tool has everything that a model needs.
func TestToolsAreWhole(t *testing.T) {
	t.Parallel()
	s := product(t)
	tools, _ := listTools(t, s)
	byName := map[string]listed{}
	for _, tool := range tools {
		byName[tool.Name] = tool
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`).MatchString(tool.Name) || !purpose.MatchString(tool.Description) {
			t.Errorf("%s: %q does not say what it is and when to use it", tool.Name, tool.Description)
		}
		a := tool.Annotations
		if a.ReadOnlyHint == nil || a.IdempotentHint == nil || !*a.ReadOnlyHint && a.DestructiveHint == nil || !strings.Contains(tool.Description, "Costs ") && a.OpenWorldHint == nil {
			t.Errorf("%s: annotations are %+v", tool.Name, a)
		}
		// Some providers of models refuse these at the top level of a tool's input.
		var top struct{ OneOf, AnyOf, AllOf json.RawMessage }
		if err := json.Unmarshal(tool.InputSchema, &top); err != nil || top.OneOf != nil || top.AnyOf != nil || top.AllOf != nil {
			t.Errorf("%s: its input has oneOf, anyOf or allOf (%v)", tool.Name, err)
		}
	}
	for _, row := range operations(t) {
		tool, ok := byName[row.Tool()]
		if !ok {
			t.Errorf("%s is no tool", row.Name)
			continue
		}
		if !row.Flow && !row.Bulk && !strings.Contains(tool.Description, "Costs "+row.Price.String()+".") {
			t.Errorf("%s does not say that it costs %v: %q", tool.Name, row.Price, tool.Description)
		}
		var input struct {
			Examples   []any
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(tool.InputSchema, &input); err != nil || len(input.Examples) > 1 || input.Properties["async"] == nil || input.Properties["response"] != nil {
			t.Errorf("%s: %v, examples %v, members %v", tool.Name, err, input.Examples, input.Properties)
			continue
		}
		schema := compiled(t, tool.Name, tool.InputSchema)
		for _, example := range input.Examples {
			if err := schema.Validate(example); err != nil {
				t.Errorf("%s: its example does not fit: %v", tool.Name, err)
			}
		}
	}
	for _, name := range []string{
		"jobs_get", "jobs_wait", "jobs_list", "files_upload", "files_delete", "account_get", "billing_usage", "prices_list",
		"templates_list", "templates_create", "webhooks_list", "webhooks_create", "webhooks_delete",
	} {
		if byName[name].Name == "" {
			t.Errorf("there is no tool %s", name)
		}
	}
}

func compiled(t *testing.T, name string, text json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v in %q", name, err, text)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return schema
}

// TestNoToolIsForMembersOnly checks that no tool offers actions or data that are reserved for members: a prompt
// smuggled into a document could ask for them.
func TestNoToolIsForMembersOnly(t *testing.T) {
	t.Parallel()
	s := product(t)
	tools, _ := listTools(t, s)
	denied := regexp.MustCompile(`key|secret|roll|activate|limits|member|admin|login|session|suspend|grant|payment|topup|credit|invite`)
	for _, tool := range tools {
		if word := denied.FindString(tool.Name); word != "" {
			t.Errorf("%s: %q is for people", tool.Name, word)
		}
	}
	made := use(t, s, "webhooks_create", `{"url":"https://example.com/hook"}`)
	var endpoint struct{ ID, SecretPrefix string }
	made.into(t, &endpoint)
	if all := string(made.StructuredContent) + made.Content[0].Text; endpoint.ID == "" || endpoint.SecretPrefix == "" || strings.Contains(all, `"secret"`) || strings.Contains(all, "whsec_") && strings.Count(all, endpoint.SecretPrefix) != strings.Count(all, "whsec_") {
		t.Errorf("an endpoint is made as %s", all)
	}
	if all := string(made.StructuredContent); strings.Contains(all, s.Secret) {
		t.Errorf("an answer shows the key: %s", all)
	}
}

// TestExamplesAreValid calls each paid tool with its example, with a cap below every price: the call must get as
// far as its price.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	s := product(t)
	for _, row := range operations(t) {
		example, err := json.Marshal(row.Example)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + row.Tool() + `","arguments":` + string(example) + `}}`
		got := send(t, s, body, map[string][]string{"X-Service-Max-Charge-Microdollars": {"1"}})
		var r result
		if err := json.Unmarshal(parsed(t, got).Result, &r); err != nil {
			t.Fatal(err)
		}
		if code := r.failure(t).Code; code != "payment_required" && (row.Name != "templates.generate" || code != "ai_unavailable") {
			t.Errorf("%s: its example ends with %s: %s", row.Name, code, r.Content[0].Text)
		}
	}
	if left := s.Effects(t); len(left) != 0 {
		t.Errorf("refused calls have left %v", left)
	}
}
