package mcp_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"relaypdf/api/apitest"
)

// listed is a tool as clients see it.
type listed struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
}

func listTools(t *testing.T, s *apitest.Server) (tools []listed, text json.RawMessage) {
	t.Helper()
	got := ask(t, s, "tools/list", "")
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
	tools, text := listTools(t, product(t))
	if most := 1100 * len(tools); len(text) > most {
		t.Errorf("the list has %d bytes, want at most %d: every conversation of an agent begins with it", len(text), most)
	}
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

// TestToolsAreWhole checks that every tool has everything that a model needs.
func TestToolsAreWhole(t *testing.T) {
	t.Parallel()
	s := product(t)
	tools, _ := listTools(t, s)
	byName := map[string]listed{}
	for _, tool := range tools {
		byName[tool.Name] = tool
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`).MatchString(tool.Name) || tool.Title == "" || !strings.HasPrefix(tool.Description, tool.Title+". Use when ") {
			t.Errorf("%s, %q: %q does not say what it is and when to use it", tool.Name, tool.Title, tool.Description)
		}
		a := tool.Annotations
		if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s: annotations are %+v", tool.Name, a)
		}
		compiled(t, tool.Name, tool.OutputSchema)
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
		if err := json.Unmarshal(tool.InputSchema, &input); err != nil || len(input.Examples) != 1 || input.Properties["async"] == nil || input.Properties["response"] != nil {
			t.Errorf("%s: %v, examples %v, members %v", tool.Name, err, input.Examples, input.Properties)
			continue
		}
		if err := compiled(t, tool.Name, tool.InputSchema).Validate(input.Examples[0]); err != nil {
			t.Errorf("%s: its example does not fit: %v", tool.Name, err)
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
		var output any
		if err := json.Unmarshal(tool.OutputSchema, &output); err != nil {
			t.Fatal(err)
		}
		for _, name := range memberNames(output) {
			if slices.Contains([]string{"secret", "apikey", "key", "token", "password"}, strings.ToLower(name)) {
				t.Errorf("%s answers with %s", tool.Name, name)
			}
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

// memberNames are the names of the properties in a schema.
func memberNames(v any) (names []string) {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				names = append(names, name)
			}
		}
		for _, member := range v {
			names = append(names, memberNames(member)...)
		}
	case []any:
		for _, item := range v {
			names = append(names, memberNames(item)...)
		}
	}
	return names
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
