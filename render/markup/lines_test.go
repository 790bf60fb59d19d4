package markup

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestLineTemplate(t *testing.T) {
	for source, want := range map[string]string{
		"<p>a</p>\n<p\nclass=x>":                           "<p data-relay-line=1>a</p>\n<p data-relay-line=2\nclass=x>",
		"<td{{#if n}} class=n{{/if}}>":                     "<td data-relay-line=1{{#if n}} class=n{{/if}}>",
		"<img alt=\"<b>\">\n<b>":                           "<img data-relay-line=1 alt=\"<b>\">\n<b data-relay-line=2>",
		"<i title='{{x \"<b>'\"}}'>\n<hr/>":                "<i data-relay-line=1 title='{{x \"<b>'\"}}'>\n<hr data-relay-line=2/>",
		"{{!-- <b> }}\n --}}<b>":                           "{{!-- <b> }}\n --}}<b data-relay-line=2>",
		"<!-- <b>\n --><b>{{{a}}}<u>":                      "<!-- <b>\n --><b data-relay-line=2>{{{a}}}<u data-relay-line=2>",
		"<style>p > b { }\n<b></style><h1>x</h1>":          "<style>p > b { }\n<b></style><h1 data-relay-line=2>x</h1>",
		"<html><head><title><b></title></head><body>\n1<2": "<html><head><title><b></title></head><body data-relay-line=1>\n1<2",
		"<script>if (a<b) x</script><br><p>":               "<script>if (a<b) x</script><br><p data-relay-line=1>",
		"<{{tag}}>\n<x-y>\n<p":                             "<{{tag}}>\n<x-y data-relay-line=2>\n<p",
		"<p>{{broken\n<p>":                                 "<p data-relay-line=1>{{broken\n<p>",
	} {
		got := LineTemplate(source)
		if got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", source, got, want)
		}
		if plain := regexp.MustCompile(` data-relay-line=\d+`).ReplaceAllString(got, ""); plain != source {
			t.Errorf("%q is changed beside its lines: %q", source, plain)
		}
	}
	many := LineTemplate(strings.Repeat("<p>x</p>\n", maxLines+10))
	if n := strings.Count(many, lineAttribute); n != maxLines {
		t.Errorf("%d elements have lines, want %d", n, maxLines)
	}
}

func TestNameLines(t *testing.T) {
	got := NameLines(`<body data-relay-line=1><p data-relay-line=3 class=a>x</p><p data-relay-line=3>y</p><h2 data-relay-line=5 id=own>z</h2><p data-relay-line=x></body></html>`)
	want := `<body id="relay-line-1-1"><p id="relay-line-3-2" class=a>x</p><p id="relay-line-3-3">y</p><h2 id=own>z</h2><p data-relay-line=x>` +
		`<div hidden><a href="#relay-line-1-1"></a><a href="#relay-line-3-2"></a><a href="#relay-line-3-3"></a></div></body></html>`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if plain := "<p>no lines &amp; <b>all</B> of it</p>"; NameLines(plain) != plain {
		t.Errorf("a document without lines is changed: %s", NameLines(plain))
	}
	for name, line := range map[string]int{"relay-line-12-3": 12, "relay-line-": 0, "own": 0, "relay-line-x-1": 0} {
		if got := LineOfName(name); got != line {
			t.Errorf("%s: got line %d, want %d", name, got, line)
		}
	}
}

// FuzzLines: whatever a template is, its lines add nothing but themselves.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"<p>{{a}}</p>", "<", "{{", "<!--", "<script", "<p a='", "<style></STYLE"} {
		f.Add(seed)
	}
	lines := regexp.MustCompile(` data-relay-line=\d+`)
	f.Fuzz(func(t *testing.T, source string) {
		if strings.Contains(source, "data-relay-line") {
			return
		}
		got := LineTemplate(source)
		if plain := lines.ReplaceAllString(got, ""); plain != source {
			t.Fatalf("%q becomes %q", source, got)
		}
		_ = fmt.Sprint(NameLines(got))
	})
}
