package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// notFor finds the tools that a description recommends instead.
var notFor = regexp.MustCompile(`Not for [^:.]+: use ([a-z_]+)`)

// TestToolTextsHaveTheirForm holds the golden tools to one form: a line of purpose, "Use when …", and
// "Not for …: use X", with no sentence twice.
func TestToolTextsHaveTheirForm(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "tools.golden"))
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{}
	for line := range strings.Lines(string(text)) {
		var tool struct {
			Name, Description string
			InputSchema       any
		}
		if err := json.Unmarshal([]byte(line), &tool); err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = tool.Description
		if !purpose.MatchString(tool.Description) {
			t.Errorf("%s: the description is %q, want the title, then \"Use when …\"", tool.Name, tool.Description)
		}
		seen := map[string]bool{}
		for sentence := range strings.SplitSeq(strings.TrimSuffix(tool.Description, "."), ". ") {
			if seen[sentence] {
				t.Errorf("%s repeats %q", tool.Name, sentence)
			}
			seen[sentence] = true
		}
		for _, field := range fieldTexts(tool.InputSchema) {
			if seen[field] {
				t.Errorf("%s repeats %q", tool.Name, field)
			}
			if field == "If true" {
				t.Errorf("%s: a field has no effect in its description", tool.Name)
			}
		}
	}
	for name, description := range tools {
		for _, found := range notFor.FindAllStringSubmatch(description, -1) {
			if other := found[1]; other == name || tools[other] == "" {
				t.Errorf("%s recommends %s, want another tool", name, other)
			}
		}
	}
}

// fieldTexts returns the descriptions in a schema.
func fieldTexts(v any) (texts []string) {
	switch v := v.(type) {
	case map[string]any:
		if text, ok := v["description"].(string); ok {
			texts = append(texts, text)
		}
		for _, member := range v {
			texts = append(texts, fieldTexts(member)...)
		}
	case []any:
		for _, item := range v {
			texts = append(texts, fieldTexts(item)...)
		}
	}
	return texts
}
