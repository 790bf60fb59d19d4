package api_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// information returns the output of pdfinfo for a PDF.
func information(t *testing.T, document, password string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "document.pdf")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "pdfinfo", "-enc", "UTF-8", "-upw", password, path).CombinedOutput()
	if err != nil {
		t.Fatalf("pdfinfo: %v\n%s", err, out)
	}
	return string(out)
}

// TestMetadataOfEveryPDF gives the example of every operation that makes a PDF
// a title, an author and keywords.
func TestMetadataOfEveryPDF(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	metadata := map[string]any{"title": "Rechnung für 株式会社", "author": "Ana", "keywords": []string{"a", "b"}}
	made := 0
	for path, example := range examples(t, s) {
		var body map[string]any
		if err := json.Unmarshal(example, &body); err != nil {
			t.Fatal(err)
		}
		switch path {
		case "/v1/pdf", "/v1/templates/preview":
			options, _ := body["options"].(map[string]any)
			if options == nil {
				options = map[string]any{}
			}
			options["metadata"], body["options"] = metadata, options
		case "/v1/convert":
			body["to"], body["metadata"] = "pdf", metadata
		default:
			body["metadata"] = metadata
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		answer := s.Send(t, apitest.Request{Path: path, Body: string(text)})
		if answer.Header.Get("Content-Type") != "application/pdf" {
			continue
		}
		made++
		password, _ := body["userPassword"].(string)
		got := information(t, answer.Body, password)
		for _, want := range []string{"Rechnung für 株式会社", "Ana", "a, b"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in:\n%s", path, want, got)
			}
		}
	}
	if made < 14 {
		t.Errorf("%d PDFs were made, want 14", made)
	}
}

// TestMergeKeepsInformation merges a document with properties of its own with others, plain and with an outline.
func TestMergeKeepsInformation(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	first := s.Send(t, apitest.Request{Path: "/v1/pdf/rotate", Body: `{"file":` + inline(letters("alpha")) + `,"degrees":90,"metadata":{"title":"First","author":"Ana"}}`}).OK(t)
	outlined := s.Send(t, apitest.Request{Path: "/v1/pdf/bookmarks", Body: `{"file":` + inline(letters("beta")) + `,"bookmarks":[{"title":"B","page":1}],"metadata":{"title":"Second"}}`}).OK(t)
	for name, other := range map[string]string{"plain": string(letters("beta")), "outlined": outlined.Body} {
		merged := s.Send(t, apitest.Request{Path: "/v1/pdf/merge", Body: `{"files":[{"file":` + inline([]byte(first.Body)) + `},{"file":` + inline([]byte(other)) + `}]}`}).OK(t)
		if got := information(t, merged.Body, ""); !strings.Contains(got, "First") || !strings.Contains(got, "Ana") || strings.Contains(got, "Second") {
			t.Errorf("%s: the result says of itself:\n%s", name, got)
		}
	}
}

// TestStampsTogether stamps twice in one call, one of them all over in bold.
func TestStampsTogether(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	source := `"file":` + inline(letters("alpha"))
	answer := s.Send(t, apitest.Request{Path: "/v1/pdf/stamp", Body: `{` + source + `,"stamps":[{"text":"Ada","bold":true,"tiled":true,"fontSize":12,"opacity":0.3},` +
		`{"image":{"file":` + inline(dot(t)) + `},"position":"bottom-right","layer":"below"},{"text":"A very long text that would be cut by the page","rotate":45,"fontSize":90}]}`}).OK(t)
	keepResult(t, "stamps", answer.Body)
	got := words(t, answer.Body, "")
	count := 0
	for _, word := range got {
		if word == "Ada" {
			count++
		}
	}
	if count < 6 || !strings.Contains(strings.Join(got, " "), "alpha") {
		t.Errorf("the words are %q", got)
	}
}
