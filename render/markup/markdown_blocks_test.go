package markup

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestMarkdownBlocks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, src, want, lack string }{
		{"alert", "> [!NOTE]\n> a *b*\n>\n> c", "<blockquote class=\"alert alert-note\"><p class=\"alert-title\">Note</p>\n<p>a <em>b</em></p>\n<p>c</p>\n</blockquote>", "[!"},
		{"alert in small letters", "> [!warning]\n> a", `<p class="alert-title">Warning</p>`, "[!"},
		{"alert without text", "> [!TIP]", `<blockquote class="alert alert-tip"><p class="alert-title">Tip</p>`, "<p></p>"},
		{"alert of no kind", "> [!NOTHING]\n> a", "<blockquote>\n<p>[!NOTHING]\na</p>", "alert-title\">"},
		{"not alone", "> [!NOTE] a\n> b", "<blockquote>\n<p>[!NOTE] a\nb</p>", "alert-title\">"},
		{"no quotation", "[!NOTE]", "<p>[!NOTE]</p>", "alert-title\">"},
		{"contents", "[TOC]\n\n# A\n## B & *c*\n#### D\n### E\n## F", "<nav class=\"contents\">\n<ul>\n<li><a href=\"#b--c\">B &amp; c</a><ul>\n<li><a href=\"#e\">E</a></li></ul></li>\n<li><a href=\"#f\">F</a></li></ul>\n</nav>", "[TOC]"},
		{"contents of several titles", "# A\n\n[[_TOC_]]\n\n# B", `<li><a href="#a">A</a></li>`, "_TOC_"},
		{"contents of nothing", "[toc]", "<nav class=\"contents\">\n\n</nav>", "<ul>"},
		{"levels that jump", "[TOC]\n\n### A\n\n## B", "<ul>\n<li><a href=\"#a\">A</a></li></ul><ul>\n<li><a href=\"#b\">B</a></li></ul>", ""},
		{"contents in a text", "see [TOC]", "<p>see [TOC]</p>", "<nav"},
		{"code in a table", "|a|\n|-|\n|`make all`|", `<td><code class="words">make all</code></td>`, ""},
		{"long code in a table", "|a|\n|-|\n|`" + strings.Repeat("x", 25) + "`|", `<td><code>xxx`, ""},
		{"code elsewhere", "`make all`", `<p><code>make all</code></p>`, ""},
		{"title in front", "---\ntitle: A <b>\nauthor: B\ndate: 2026-11-21\n---\n## C", "<header class=\"title\">\n<h1>A &lt;b&gt;</h1>\n<p>B · 2026-11-21</p>\n</header>", ""},
		{"title in front and a heading", "---\ntitle: A\nauthor: B\n---\n# C", "<h1 id=\"c\">C</h1>", "<header"},
	} {
		got := convert(t, test.src, MarkdownOptions{})
		_, body, _ := strings.Cut(got, "<body>")
		if !strings.Contains(body, test.want) || test.lack != "" && strings.Contains(body, test.lack) {
			t.Errorf("%s: got %s, want %s in it, and no %q", test.name, body, test.want, test.lack)
		}
	}
}

func TestReadFrontMatter(t *testing.T) {
	t.Parallel()
	const src = `---
title: Report
author: Ada
tags:
  - one
options:
  format: A4   # paper
  landscape: true
  scale: 0.5
  margin:
    top: 20mm
    left: "1in"

  footerTemplate: "<p class=\"pageNumber\"></p>"
  metadata: {"keywords": ["a"]}
description: Numbers
---
# A
`
	about, err := ReadFrontMatter(src)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Title":"Report","Author":"Ada","Description":"Numbers","Keywords":"","Options":{"footerTemplate":"\u003cp class=\"pageNumber\"\u003e\u003c/p\u003e",` +
		`"format":"A4","landscape":true,"margin":{"left":"1in","top":"20mm"},"metadata":{"keywords":["a"]},"scale":0.5}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for options, want := range map[string]string{
		"  format A4":                           "line 3 must be written as name: value",
		"  format: A4\n    top: 1":              "line 4 is not indented like the names above it",
		"  format: A4\n  format: A5":            "line 4 has the name format more than once",
		"  margin: {top: {a: 1}}":               `line 3 must be valid JSON if it begins with '{'. Alternatively, write each member on its own line`,
		"  format: *anchor":                     `line 3 has an unsupported value. Quote it with "`,
		"  a:\n   b:\n    c:\n     d:\n      e": "line 6 is nested too deeply",
	} {
		_, err := ReadFrontMatter("---\noptions:\n" + options + "\n---\n")
		var problem *OptionsError
		if !errors.As(err, &problem) || err.Error() != want {
			t.Errorf("%q: %v, want %s", options, err, want)
		}
	}
	about, err = ReadFrontMatter("---\noptions:\n  margin: {top: 20mm, left: \"1in\"}\n  scale: 1\n---\n")
	margin := map[string]any{"top": "20mm", "left": "1in"}
	if err != nil || !reflect.DeepEqual(about.Options["margin"], margin) {
		t.Errorf("an object on one line: got %v, %v, want the margin %v", about.Options, err, margin)
	}
	for _, src := range []string{"", "# A", "---\na: b\n---\n", "---\noptions: none\n---\n"} {
		if about, err := ReadFrontMatter(src); err != nil || about.Options != nil {
			t.Errorf("%q: options %v, %v", src, about.Options, err)
		}
	}
}
