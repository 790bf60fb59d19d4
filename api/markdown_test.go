package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestMarkdownTagsAreText sends Markdown with a script to every operation that takes
// Markdown: the script is text and does not run, unless the request allows HTML.
func TestMarkdownTagsAreText(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	const source = "# alpha\n\n<script>document.write('be' + 'ta')</script>\n\n<style>h1::after { content: ' gamma' }</style>\n\n<b>delta</b>\n"
	quote := func(text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(quoted)
	}
	file := `"file":` + inline([]byte(source)) + `,"sourceFilename":"a.md"`
	filtered := []string{"alpha", "<script>document.write('be'", "+", "'ta')</script>", "<style>h1::after", "{", "content:", "'", "gamma'", "}</style>", "delta"}
	allowed := []string{"alpha", "gamma", "beta", "delta"}
	for _, test := range []struct {
		path, body string
		want       []string
		warnings   string
	}{
		{"/v1/pdf", `{"markdown":` + quote(source) + `}`, filtered, "1"},
		{"/v1/pdf", `{"markdown":` + quote(source) + `,"options":{"html":"filter"}}`, filtered, "1"},
		{"/v1/pdf", `{"markdown":` + quote(source) + `,"options":{"html":"allow"}}`, allowed, ""},
		{"/v1/convert", `{` + file + `}`, filtered, "1"},
		{"/v1/convert", `{` + file + `,"options":{"html":"allow"}}`, allowed, ""},
	} {
		got := s.Send(t, apitest.Request{Path: test.path, Body: test.body}).OK(t)
		if told := got.Header.Get("X-Service-Warnings"); told != test.warnings {
			t.Errorf("%s %.200s: %q warnings, want %q", test.path, test.body, told, test.warnings)
		}
		if got := words(t, got.Body, ""); !slices.Equal(got, test.want) {
			t.Errorf("%s %.200s: got %q, want %q", test.path, test.body, got, test.want)
		}
	}
	told := s.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"markdown":` + quote(source) + `,"response":"url"}`}).OK(t)
	if want := `"warnings":[{"code":"html_filtered","message":"line 3: tags such as \u003cscript\u003e are shown as text; set options.html to \"allow\" to render them as HTML"}]`; !strings.Contains(told.Body, want) {
		t.Errorf("got %s, want %s in it", told.Body, want)
	}
	for options, want := range map[string]string{`{}`: "&lt;script&gt;document.write(", `{"html":"allow"}`: "<script>document.write("} {
		got := s.Send(t, apitest.Request{Path: "/v1/convert", Body: `{` + file + `,"to":"html","options":` + options + `}`}).OK(t)
		if !strings.Contains(got.Body, want) {
			t.Errorf("to html with %s: %q is missing in %s", options, want, got.Body)
		}
	}
}
