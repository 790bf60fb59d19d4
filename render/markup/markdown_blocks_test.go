package markup

import (
	"encoding/json"
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
author: [Ada, "Grace H."]
date: 2026-11-21
lang: de
tags:
  - one
options:
  format: A4   # paper
  landscape: true
  scale: 0.5
  width: 0x10
  margin: {top: 20mm, left: "1in", bottom: 2}

  footerTemplate: "<p class=\"pageNumber\"></p>"
  headerTemplate: >-
    <p>
    A</p>
  metadata:
    keywords:
      - one
      - 2
    creationDate: 2026-11-21
    subject: ~
description: Numbers
---
# A
`
	for _, src := range []string{src, "\ufeff" + src, strings.ReplaceAll(src, "\n", "\r\n")} {
		about, err := ReadFrontMatter(src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(about)
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"Title":"Report","Author":"Ada, Grace H.","Date":"2026-11-21","Description":"Numbers","Keywords":"","Lang":"de",` +
			`"Options":{"footerTemplate":"\u003cp class=\"pageNumber\"\u003e\u003c/p\u003e","format":"A4","headerTemplate":"\u003cp\u003e A\u003c/p\u003e","landscape":true,` +
			`"margin":{"bottom":2,"left":"1in","top":"20mm"},"metadata":{"creationDate":"2026-11-21","keywords":["one",2],"subject":null},"scale":0.5,"width":16}}`
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for _, src := range []string{"", "# A", "---\na: b\n---\n", "---\noptions:\n---\n", "---\noptions: ~\n---\n"} {
		if about, err := ReadFrontMatter(src); err != nil || about.Options != nil {
			t.Errorf("%q: options %v, %v", src, about.Options, err)
		}
	}
}
