package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/docs"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// Limits of the lists, with which every conversation of an agent begins. About 12 more tools are planned, for which all
// tools may grow to 64 KiB.
const (
	maxTools        = 32
	maxDefault      = 32 << 10
	maxAll          = 64 << 10
	toolsetArgument = "?toolsets="
)

// askSelected sends a request to the endpoint with the given query.
func askSelected(t *testing.T, s *apitest.Server, query, method, params string) answer {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	return parsed(t, s.Send(t, apitest.Request{Path: api.AgentPath + query, Body: body}))
}

// TestSizesOfToolsets holds the lists to their sizes, and every toolset to the tools of its golden list.
func TestSizesOfToolsets(t *testing.T) {
	t.Parallel()
	s := product(t)
	tools, err := api.Tools()
	if err != nil {
		t.Fatal(err)
	}
	var golden bytes.Buffer
	for _, name := range mcp.Toolsets(tools) {
		list, text := toolsOf(t, askSelected(t, s, toolsetArgument+name, "tools/list", `{}`))
		names := namesOf(list, func(tool listed) string { return tool.Name })
		fmt.Fprintf(&golden, "%s: %s\n", name, strings.Join(names, " "))
		if name == "default" && (len(text) > maxDefault || len(list) > maxTools) || len(text) > maxAll {
			t.Errorf("%s has %d tools in %d bytes", name, len(list), len(text))
		}
		t.Logf("%s: %d tools, %d bytes", name, len(list), len(text))
		for _, needed := range []string{"files_upload", "jobs_get", "jobs_wait"} {
			if !slices.Contains(names, needed) {
				t.Errorf("%s has no %s, which other tools refer to", name, needed)
			}
		}
	}
	apitest.Golden(t, "toolsets.golden", golden.Bytes())
}

// TestDefaultToolsAreWhole: no text of a listed tool names a tool that is not listed, and no prompt does.
func TestDefaultToolsAreWhole(t *testing.T) {
	t.Parallel()
	s := product(t)
	all, _ := listTools(t, s)
	list, text := toolsOf(t, askSelected(t, s, "", "tools/list", `{}`))
	prompts := askSelected(t, s, "", "prompts/list", `{}`).Result
	texts := string(text) + string(prompts)
	for _, tool := range all {
		if slices.ContainsFunc(list, func(other listed) bool { return other.Name == tool.Name }) {
			continue
		}
		if at := regexp.MustCompile(`\b` + tool.Name + `\b`).FindStringIndex(texts); at != nil {
			t.Errorf("the list names %s, which it lacks: %s", tool.Name, texts[max(0, at[0]-60):at[1]])
		}
	}
}

// TestToolsetsAreSelected lists the tools of the selected toolsets.
func TestToolsetsAreSelected(t *testing.T) {
	t.Parallel()
	s := product(t)
	names := func(query string) []string {
		t.Helper()
		list, _ := toolsOf(t, askSelected(t, s, query, "tools/list", `{}`))
		return namesOf(list, func(tool listed) string { return tool.Name })
	}
	byDefault := names("")
	for query, want := range map[string][]string{
		"?toolsets=":                                  byDefault,
		"?toolsets=default":                           byDefault,
		"?toolsets=forms":                             {"pdf_form_fields", "pdf_form_fill", "jobs_get", "jobs_wait", "files_upload"},
		"?toolsets=forms,all":                         names("?toolsets=all"),
		"?toolsets=webhooks%2Cdefault":                names("?toolsets=default&toolsets=webhooks"),
		"?toolsets=default,%20webhooks&unrelated=yes": names("?toolsets=webhooks,default,default"),
	} {
		got := names(query)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", query, got, want)
		}
	}
	if !slices.Contains(names("?toolsets=default,files"), "files_delete") || slices.Contains(byDefault, "files_delete") {
		t.Error("files_delete is listed without its toolset, or not with it")
	}
	for _, name := range []string{"webhooks_list", "webhooks_create", "webhooks_delete"} {
		if !slices.Contains(byDefault, name) {
			t.Errorf("%s is not listed by default", name)
		}
	}
	refused := askSelected(t, s, "?toolsets=forms,none", "initialize", `{}`)
	if refused.Status != http.StatusBadRequest || refused.Error == nil || !strings.Contains(refused.Error.Message, `unknown toolset "none"; valid toolsets: default, all, account, `) {
		t.Errorf("an unknown toolset gets %d, %+v", refused.Status, refused.Error)
	}
	for query, want := range map[string]string{"": "the tools of default.", "?toolsets=security,forms": "the tools of forms,security."} {
		var hello struct{ Instructions string }
		got := askSelected(t, s, query, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
		if err := json.Unmarshal(got.Result, &hello); err != nil || !strings.Contains(hello.Instructions, want) || !strings.Contains(hello.Instructions, "toolsets: account, ") || !strings.Contains(hello.Instructions, "https://pdf.example.net/mcp?toolsets=all") {
			t.Errorf("%s: %v in %q", query, err, hello.Instructions)
		}
	}
}

// TestEveryToolIsCalled: the selected toolsets decide which tools are listed, and not which can be called.
func TestEveryToolIsCalled(t *testing.T) {
	t.Parallel()
	s := product(t)
	tools, err := api.Tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		for _, query := range []string{"", "?toolsets=forms"} {
			// The tool refuses an argument that it does not have; the protocol refuses tools that it does not have.
			got := askSelected(t, s, query, "tools/call", `{"name":"`+tool.Name+`","arguments":{"unknown":1}}`)
			if got.Error != nil {
				t.Errorf("%s at %q: %+v", tool.Name, query, got.Error)
			}
		}
	}
	if got := askSelected(t, s, "", "tools/call", `{"name":"pdf_creat","arguments":{}}`); got.Error == nil || got.Error.Message != `unknown tool "pdf_creat"` {
		t.Errorf("an unknown tool: %+v", got)
	}
}

// TestManySelections: the selections that are described in memory are limited.
func TestManySelections(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := product(t)
	tools, err := api.Tools()
	if err != nil {
		t.Fatal(err)
	}
	names := mcp.Toolsets(tools)[2:]
	for i := range names {
		for j := range i {
			query := toolsetArgument + names[i] + "," + names[j]
			if got := askSelected(t, s, query, "ping", `{}`); got.Error != nil {
				t.Errorf("%s: %+v", query, got.Error)
			}
		}
	}
}

// TestGuideNamesToolsets holds the table of the guide to the toolsets that there are.
func TestGuideNamesToolsets(t *testing.T) {
	t.Parallel()
	tools, err := api.Tools()
	if err != nil {
		t.Fatal(err)
	}
	guide, err := docs.Read("guides/agents", docs.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(guide, "\n| toolset | tools |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	var got []string
	for line := range strings.Lines(section) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, name := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(names, -1) {
			got = append(got, name[1])
		}
	}
	if want := mcp.Toolsets(tools); !slices.Equal(got, want) {
		t.Errorf("the guide has %v, want %v", got, want)
	}
}

// TestEmptyArraysAreObjects: PHP encodes an empty object as an empty array.
func TestEmptyArraysAreObjects(t *testing.T) {
	t.Parallel()
	s := product(t)
	for params, want := range map[string]bool{
		`{"name":"account_get","arguments":[]}`:                                           true,
		`{"name":"account_get","arguments":[ ]}`:                                          true,
		`{"name":"account_get","arguments":null}`:                                         true,
		`{"name":"account_get"}`:                                                          true,
		`{"name":"templates_create","arguments":{"name":"a","html":"a","sampleData":[]}}`: true,
		`{"name":"account_get","arguments":[1]}`:                                          false,
		`{"name":"account_get","arguments":[[]]}`:                                         false,
		`{"name":"account_get","arguments":""}`:                                           false,
	} {
		var r result
		if got := ask(t, s, "tools/call", params); got.Error != nil || json.Unmarshal(got.Result, &r) != nil || r.IsError == want {
			t.Errorf("%s: %+v, %s", params, got.Error, got.Result)
		}
	}
	if r := use(t, s, "pdf_rotate", `[]`).failure(t); len(r.Details) != 2 {
		t.Errorf("a tool without its arguments: %+v", r)
	}
	for _, method := range []string{"tools/list", "ping", "prompts/list"} {
		if got := ask(t, s, method, `[]`); got.Error != nil {
			t.Errorf("%s: %+v", method, got.Error)
		}
	}
	if got := ask(t, s, "tools/list", `[1]`); got.Error == nil || got.Error.Message != "params must be an object" {
		t.Errorf("parameters in an array: %+v", got)
	}
}
