package markup

import (
	"regexp"
	"strings"
	"testing"
)

// disallowed are the names that GitHub Flavored Markdown lists.
var disallowed = []string{"title", "textarea", "style", "xmp", "iframe", "noembed", "noframes", "script", "plaintext"}

func bodyOf(t testing.TB, src string, opt MarkdownOptions) string {
	t.Helper()
	_, body, _ := strings.Cut(convert(t, src, opt), "<body>\n")
	return strings.TrimSuffix(body, "</body>\n</html>\n")
}

// TestTagFilter shows that each disallowed tag is text wherever raw HTML may be, that
// AllowHTML keeps it, and that other HTML stays.
func TestTagFilter(t *testing.T) {
	t.Parallel()
	for _, name := range disallowed {
		upper := strings.ToUpper(name[:1]) + name[1:]
		for _, src := range []string{
			"a <" + name + "> b </" + name + "> c",
			"<" + name + ">\nb\n</" + name + ">",
			"<" + upper + " a='1'>b</" + upper + ">",
			"<" + name + "\ta=1\nb=2>b</" + name + " >",
			"<div>\n<" + name + "/a=1>b</" + name + "/>\n</div>",
			"<div>\n<" + name + "\n",
			"> - <" + name + ">\n>   b </" + name + ">",
			"| a |\n|---|\n| <" + name + ">b</" + name + "> |",
			"x[^1]\n\n[^1]: <" + name + ">b</" + name + ">",
			"<!-- <" + name + "> -->",
		} {
			got := strings.ToLower(bodyOf(t, src, MarkdownOptions{}))
			if strings.Contains(got, "<"+name) || strings.Contains(got, "</"+name) || !strings.Contains(got, "&lt;"+name) {
				t.Errorf("of %q, got %q, want the tag as text", src, got)
			}
			if got := strings.ToLower(bodyOf(t, src, MarkdownOptions{AllowHTML: true})); !strings.Contains(got, "<"+name) || strings.Contains(got, "&lt;"+name) {
				t.Errorf("of %q with AllowHTML, got %q, want the tag", src, got)
			}
		}
	}
	for _, src := range []string{"<titles>a</titles>\n", "<my-script>a</my-script>\n", "<b>a</b>\n", "<svg><g/></svg>\n", "<div>\n1 < style\n</div>\n", "<!-- script -->\n", "<?xml version=\"1.0\"?>\n"} {
		if got := bodyOf(t, src, MarkdownOptions{}); strings.Contains(got, "&lt;") || !strings.Contains(got, strings.TrimSpace(src)) {
			t.Errorf("of %q, got %q, want it as it is", src, got)
		}
	}
	if got := bodyOf(t, "<div>\n<scr\x00ipt>\n</div>\n", MarkdownOptions{}); strings.Contains(got, "\x00") {
		t.Errorf("got %q, want no NUL in it", got)
	}
}

// TestTagFilterReportsLine shows what is reported of tags that became text.
func TestTagFilterReportsLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		src  string
		opt  MarkdownOptions
		want string
		line int
	}{
		{src: "---\ntitle: a\n---\n# b\n\nc <Style>d</Style> and <script>\n", want: "tags such as <style> are shown as text", line: 6},
		{src: "<p>a\n<script", want: "tags such as <script> are shown as text", line: 2},
		{src: "<script>\n", opt: MarkdownOptions{AllowHTML: true}},
		{src: "`<script>` <b>a</b>\n\n    <style>\n"},
	} {
		doc, err := Markdown([]byte(test.src), test.opt)
		if err != nil {
			t.Fatal(err)
		}
		switch found := doc.Filtered; {
		case found == nil && test.want != "", found != nil && (found.Text != test.want || found.Line != test.line):
			t.Errorf("of %q, got %+v, want %q in line %d", test.src, found, test.want, test.line)
		}
	}
}

var anyDisallowed = regexp.MustCompile(`(?i)</?(` + strings.Join(disallowed, "|") + `)[\s/>]`)

func FuzzTagFilter(f *testing.F) {
	f.Add("<div>\n<script\n>a</script>\n</div>\n\nb <style\n a>c</style> [<xmp>](<iframe>)")
	f.Add("| a |\n|---|\n| <title>b |\n\n$$<script>$$\n\n```mermaid\n<script>\n```\n\n# <textarea> {#<style>}\n\n[TOC]")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4<<10 {
			t.Skip("slow inputs are the engine's concern")
		}
		if got := bodyOf(t, src, MarkdownOptions{}); anyDisallowed.MatchString(got) {
			t.Errorf("of %q, got %q, want no disallowed tag", src, got)
		}
	})
}
