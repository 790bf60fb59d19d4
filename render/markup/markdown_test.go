package markup

import (
	"strings"
	"testing"
)

func convert(t testing.TB, src string, opt MarkdownOptions) string {
	t.Helper()
	doc, err := Markdown([]byte(src), opt)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc.HTML)
}

func TestMarkdown(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"heading", "# A b", `<h1 id="a-b">A b</h1>`},
		{"heading in another script", "## 快速 Größe!", `<h2 id="快速-größe">`},
		{"repeated heading", "# A\n# A\n# A-1", `<h1 id="a-1-1">A-1</h1>`},
		{"heading without letters", "# ...", `<h1 id="section">`},
		{"heading with its own id", "# A {#x}", `<h1 id="x">A</h1>`},
		{"table", "|a|b|\n|:-|-:|\n|1|2|", `<td style="text-align:right">2</td>`},
		{"task", "- [x] a\n- [ ] b", `<input checked="" disabled="" type="checkbox"`},
		{"strikethrough", "~~a~~", `<del>a</del>`},
		{"autolink", "see https://a.example/b.", `<a href="https://a.example/b">https://a.example/b</a>.`},
		{"footnote", "a[^1]\n\n[^1]: b", `<div class="footnotes"`},
		{"definition", "a\n: b", `<dd>b</dd>`},
		{"code", "```go\nfunc f() {}\n```", `<span class="kd">func</span>`},
		{"code of no language", "```\na < b\n```", `<pre><code>a &lt; b`},
		{"code of unknown language", "```nonsense\na < b\n```", `a &lt; b`},
		{"quotes stay as typed", `"a" -- b...`, `<p>&quot;a&quot; -- b...</p>`},
		{"raw HTML", `<mark onclick="x()">a</mark>`, `<mark onclick="x()">a</mark>`},
		{"image", "![a](data:image/png;base64,AAAA)", `<img src="data:image/png;base64,AAAA" alt="a">`},
		{"byte order mark", "\ufeff# A", `<h1 id="a">`},
		{"empty", "", "<title>Document</title>"},
	} {
		got := convert(t, test.src, MarkdownOptions{})
		if !strings.Contains(got, test.want) {
			_, body, _ := strings.Cut(got, "<body>")
			t.Errorf("%s: got %s, want %s in it", test.name, body, test.want)
		}
		if !strings.HasPrefix(got, "<!DOCTYPE html>\n<html lang=\"en\">") || !strings.HasSuffix(got, "</body>\n</html>\n") {
			t.Errorf("%s: not a whole document", test.name)
		}
	}
}

func TestMarkdownHead(t *testing.T) {
	for _, test := range []struct {
		name, src  string
		opt        MarkdownOptions
		want, lack string
	}{
		{name: "title from heading", src: "text\n\n## A `b` *c* &amp; [d](x)\n# Later", want: "<title>A b c &amp; d</title>"},
		{name: "title from front matter", src: "---\ntitle: \"A: b\"\n---\n# C", want: "<title>A: b</title>", lack: "<hr>"},
		{name: "title given", src: "---\ntitle: A\n---\n# C", opt: MarkdownOptions{Title: "G"}, want: "<title>G</title>"},
		{name: "title escaped", src: "# x", opt: MarkdownOptions{Title: "</title><script>x"}, want: "<title>&lt;/title&gt;&lt;script&gt;x</title>", lack: "<script"},
		{name: "heading escaped", src: "# a &lt;/title&gt;&lt;script&gt;", want: "<title>a &lt;/title&gt;&lt;script&gt;</title>", lack: "<script"},
		{name: "author", src: "---\nauthor: A \"B\" <C>\n---\n", want: `<meta name="author" content="A &#34;B&#34; &lt;C&gt;">`},
		{name: "language", src: "---\nlang: pt-BR\n---\n", want: `<html lang="pt-BR">`},
		{name: "language given", src: "---\nlang: pt-BR\n---\n", opt: MarkdownOptions{Lang: "de"}, want: `<html lang="de">`},
		{name: "language malformed", src: "---\nlang: 'x\"><script>'\n---\n", want: `<html lang="en">`, lack: "<script"},
		{name: "margins", want: "@page { margin-top: 18mm; margin-right: 16mm; margin-bottom: 18mm; margin-left: 16mm; }"},
		{name: "own margins", opt: MarkdownOptions{Own: Sides{Top: true, Left: true}}, want: "@page { margin-right: 16mm; margin-bottom: 18mm; }"},
		{name: "all margins own", opt: MarkdownOptions{Own: Sides{true, true, true, true}}, want: "<style>", lack: "@page"},
	} {
		got := convert(t, test.src, test.opt)
		if !strings.Contains(got, test.want) {
			head, _, _ := strings.Cut(got, "<style>")
			t.Errorf("%s: got %s, want %s in it", test.name, head, test.want)
		}
		if test.lack != "" && strings.Contains(got, test.lack) {
			t.Errorf("%s: document contains %s", test.name, test.lack)
		}
	}
}

func TestFrontMatter(t *testing.T) {
	for _, test := range []struct{ name, src, title, body string }{
		{"plain", "---\ntitle: A\n---\nb", "A", "b"},
		{"ended by dots", "---\r\ntitle: A\r\n...\r\nb", "A", "b"},
		{"comment", "---\n# c\n\ntitle: A # c\n---\nb", "A", "b"},
		{"single quotes", "---\ntitle: 'A'\n---\nb", "A", "b"},
		{"nested key", "---\na:\n  title: A\n---\nb", "", "b"},
		{"list", "---\ntitle: [A, 'B c']\n---\nb", "A, B c", "b"},
		{"list of lists", "---\ntitle: [A, [B]]\n---\nb", "", "b"},
		{"list below", "---\ntitle:\n  - A\n  - \"B\"\nauthor: c\n- d\n---\nb", "A, B", "b"},
		{"list of something nested", "---\ntitle:\n  a:\n  - b\nc:\n- d\n---\nb", "", "b"},
		{"block", "---\ntitle: |\n  A\n---\nb", "", "b"},
		{"tag", "---\ntitle: !!python/object A\n---\nb", "", "b"},
		{"anchor", "---\ntitle: &a A\n---\nb", "", "b"},
		{"alias", "---\ntitle: *a\n---\nb", "", "b"},
		{"broken quotes", "---\ntitle: \"A\" b\"\n---\nb", "", "b"},
		{"rule", "---\n\nb\n\n---\nc", "", "---\n\nb\n\n---\nc"},
		{"rule and prose", "---\nNote this: a\n---\nb", "", "---\nNote this: a\n---\nb"},
		{"not ended", "---\ntitle: A\nb", "", "---\ntitle: A\nb"},
		{"not at the start", "\n---\ntitle: A\n---\nb", "", "\n---\ntitle: A\n---\nb"},
		{"ends at the end", "---\ntitle: A\n---", "A", ""},
		{"too long", "---\ntitle: A\n" + strings.Repeat("a: b\n", 20000) + "---\n", "", "---\ntitle: A\n" + strings.Repeat("a: b\n", 20000) + "---\n"},
	} {
		meta, body := cutFrontMatter([]byte(test.src))
		if meta["title"] != test.title || string(body) != test.body {
			t.Errorf("%s: got title %q and body %.40q, want %q and %.40q", test.name, meta["title"], body, test.title, test.body)
		}
	}
}

// TestMarkdownLane checks that ordinary documents stay in the fast lane, the
// style sheet included, and that what the source brings is found.
func TestMarkdownLane(t *testing.T) {
	for _, test := range []struct {
		src  string
		want Traits
	}{
		{"# A\n\n[b](https://a.example) **c** `d`[^1]\n\n```js\nfetch('x')\n```\n\n|a|\n|-|\n|<br>|\n\n[^1]: e", nothing},
		{"![a](data:image/png;base64,AAAA)", nothing},
		{"![a](https://a.example/x.png)", network},
		{"[a](javascript:x())", script},
		{"<img src=x onerror=y()>", both},
		{"<style>@import 'x'</style>", network},
		{"<script>1</script>", script},
	} {
		if got := Inspect(convert(t, test.src, MarkdownOptions{AllowHTML: true})); got != test.want {
			t.Errorf("Inspect(Markdown(%q)) = %+v, want %+v", test.src, got, test.want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("---\ntitle: a\n---\n# b {#c}\n\n- [ ] d\n\n```go\ne\n```\n[^1]\n\n[^1]: f")
	f.Add("a\n: b\n\n|a|\n|-|\n|\\||\n\n<b>\n\n~~c~~ https://a.example")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4<<10 {
			t.Skip("slow inputs are the engine's concern")
		}
		got := convert(t, src, MarkdownOptions{Title: src})
		head, _, _ := strings.Cut(got, "</title>")
		if strings.Count(head, "<") != strings.Count("<!DOCTYPE html><html><head><meta><title>", "<") {
			t.Errorf("the title of %q escapes: %q", src, head)
		}
	})
}

func BenchmarkMarkdown(b *testing.B) {
	src := strings.Repeat("## A heading\n\nSome *text* with `code`, [a link](https://a.example) and more of it.\n\n- [x] a\n- [ ] b\n\n", 50)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		convert(b, src, MarkdownOptions{})
	}
}
