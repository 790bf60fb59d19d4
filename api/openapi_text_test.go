package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// summaryVerbs are the verbs that begin a summary.
var summaryVerbs = strings.Fields(`Activate Add Arrange Cancel Capture Check Compare Compress Convert Create Crop Delete Discard Download Duplicate Extract Fill
	Generate Get List Merge Optimize Preview Protect Publish Redact Render Repair Resize Restore Rotate Run Send Sign Split Stamp Test Unlock Update Upload Validate`)

const (
	maxSummaryWords     = 8
	maxDescriptionWords = 60
)

// freeRelative matches descriptions that do not begin with a noun phrase, a verb or a condition.
var freeRelative = regexp.MustCompile(`^(What|Whether|How|When|Whenever|Who|Whoever|Whose|Where|Which|Is|Are|That|Those|Only those|The same)\b`)

// goldenOpenAPI reads the golden OpenAPI document.
func goldenOpenAPI(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "openapi.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestOpenAPISummariesAreVerbAndObject(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	paths, _ := goldenOpenAPI(t)["paths"].(map[string]any)
	if len(paths) == 0 {
		t.Fatal("the document has no paths")
	}
	for path, methods := range paths {
		endpoints, _ := methods.(map[string]any)
		for method, endpoint := range endpoints {
			name := strings.ToUpper(method) + " " + path
			texts, _ := endpoint.(map[string]any)
			summary, _ := texts["summary"].(string)
			words := strings.Fields(summary)
			if len(words) == 0 || len(words) > maxSummaryWords || !slices.Contains(summaryVerbs, strings.TrimSuffix(words[0], ",")) || strings.HasSuffix(summary, ".") {
				t.Errorf("%s: the summary is %q, want a verb of summaryVerbs and an object, in %d words or fewer", name, summary, maxSummaryWords)
			}
			if other, taken := seen[summary]; taken {
				t.Errorf("%s and %s have the summary %q", name, other, summary)
			}
			seen[summary] = name
			description, _ := texts["description"].(string)
			if words := len(strings.Fields(description)); words == 0 || words > maxDescriptionWords || !strings.HasSuffix(description, ".") {
				t.Errorf("%s: the description has %d words, want sentences with 1 to %d words: %q", name, words, maxDescriptionWords, description)
			}
		}
	}
}

func TestOpenAPIDescriptionsAreNounPhrases(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var visit func(value any, path string)
	visit = func(value any, path string) {
		switch value := value.(type) {
		case map[string]any:
			if text, ok := value["description"].(string); ok && freeRelative.MatchString(text) && !seen[text] {
				seen[text] = true
				t.Errorf("%s: begin with a noun phrase or \"If true, …\": %q", path, text)
			}
			for name, member := range value {
				visit(member, path+"/"+name)
			}
		case []any:
			for _, item := range value {
				visit(item, path)
			}
		}
	}
	visit(goldenOpenAPI(t), "")
}

func TestOpenAPITagsAreDescribed(t *testing.T) {
	t.Parallel()
	tags, _ := goldenOpenAPI(t)["tags"].([]any)
	for _, tag := range tags {
		texts, _ := tag.(map[string]any)
		if text, _ := texts["description"].(string); text == "" || strings.HasPrefix(text, "Operations on ") {
			t.Errorf("tag %v has the description %q", texts["name"], text)
		}
	}
}
