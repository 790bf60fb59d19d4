package markup

import (
	"errors"
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
		{"comments", "---\n# c\n\ntitle: A # c\n---\nb", "A", "b"},
		{"single quotes", "---\ntitle: 'A'\n---\nb", "A", "b"},
		{"single quotes with one inside", "---\ntitle: 'It''s here'\n---\nb", "It's here", "b"},
		{"double quotes with some inside", "---\ntitle: \"She said \\\"hi\\\"\"\n---\nb", `She said "hi"`, "b"},
		{"an escape", "---\ntitle: \"Caf\\u00e9\"\n---\nb", "Café", "b"},
		{"a folded block", "---\ntitle: >-\n  A long\n  title\n---\nb", "A long title", "b"},
		{"a literal block", "---\ntitle: |\n  A\n  B\n---\nb", "A\nB", "b"},
		{"a block with a rule", "---\ntitle: |\n  A\n  ---\n  B\n---\nb", "A\n---\nB", "b"},
		{"several lines without quotes", "---\ntitle: A long\n  title\n---\nb", "A long title", "b"},
		{"several lines in quotes", "---\ntitle: \"A long\n  title\"\n---\nb", "A long title", "b"},
		{"a key in quotes", "---\n\"title\": A\n---\nb", "A", "b"},
		{"an object on one line", "---\n{title: A, lang: de}\n---\nb", "A", "b"},
		{"another spelling of the key", "---\nTitle: A\n---\nb", "A", "b"},
		{"a colon and a hash", "---\ntitle: A:b #1\ntags: x\n---\nb", "A:b", "b"},
		{"a nested key", "---\na:\n  title: A\n---\nb", "", "b"},
		{"a list", "---\ntitle: [A, 'B, c']\n---\nb", "A, B, c", "b"},
		{"a list below", "---\ntitle:\n  - A\n  - \"B\"\nauthor: c\n---\nb", "A, B", "b"},
		{"a list below without indentation", "---\ntitle:\n- A\n- B\n---\nb", "A, B", "b"},
		{"a list of named objects", "---\ntitle:\n- name: A\n  mail: x\n- B\n---\nb", "A, B", "b"},
		{"a number", "---\ntitle: 1.10\n---\nb", "1.10", "b"},
		{"a date", "---\ntitle: 2026-11-21\n---\nb", "2026-11-21", "b"},
		{"a word that is a boolean", "---\ntitle: No\n---\nb", "No", "b"},
		{"nothing", "---\ntitle:\nauthor: ~\n---\nb", "", "b"},
		{"an alias", "---\na: &a A\ntitle: *a\n---\nb", "A", "b"},
		{"a tag", "---\ntitle: !!str 12\n---\nb", "12", "b"},
		{"blanks after the rules", "--- \ntitle: A\n---\t\nb", "A", "b"},
		{"a second block", "---\ntitle: A\n---\n---\ntitle: B\n---\n", "A", "---\ntitle: B\n---\n"},
		{"a known key after an odd one", "---\nlast changed: today\ntitle: A\n---\nb", "A", "b"},
		{"ends at the end", "---\ntitle: A\n---", "A", ""},

		{"a rule", "---\n\nb\n\n---\nc", "", "---\n\nb\n\n---\nc"},
		{"a rule and a heading", "---\nA\n---\nc", "", "---\nA\n---\nc"},
		{"a rule and a list", "---\n- a\n- b\n---\nc", "", "---\n- a\n- b\n---\nc"},
		{"a rule and prose", "---\nNote this: a\n---\nb", "", "---\nNote this: a\n---\nb"},
		{"a rule and prose that is no YAML", "---\nNote this: a: \"b\n---\nb", "", "---\nNote this: a: \"b\n---\nb"},
		{"a rule and an address", "---\nhttps://a.example\n---\nb", "", "---\nhttps://a.example\n---\nb"},
		{"two rules", "---\n---\nb", "", "---\n---\nb"},
		{"not ended", "---\ntitle: A\nb", "", "---\ntitle: A\nb"},
		{"not at the start", "\n---\ntitle: A\n---\nb", "", "\n---\ntitle: A\n---\nb"},
		{"too long", "---\ntitle: A\n" + strings.Repeat("a: b\n", 20000) + "---\n", "", "---\ntitle: A\n" + strings.Repeat("a: b\n", 20000) + "---\n"},
	} {
		about, body, err := cutFrontMatter([]byte(test.src))
		if err != nil || about.Title != test.title || string(body) != test.body {
			t.Errorf("%s: got title %q and body %.40q (%v), want %q and %.40q", test.name, about.Title, body, err, test.title, test.body)
		}
	}
}

// TestInvalidFrontMatter expects the line of each error, and the whole document as its text.
func TestInvalidFrontMatter(t *testing.T) {
	for src, want := range map[string]string{
		"title: \"A\" b\"":                           "line 2 is not valid YAML: did not find expected key",
		"title: A: b":                                "line 2 is not valid YAML: mapping values are not allowed in this context",
		"author: x\ntitle: [A":                       "line 3 is not valid YAML: did not find expected ',' or ']'",
		"title: A\n\tb: c":                           "line 3 is not valid YAML: found a tab character that violates indentation",
		"a:\n- b\n- c\nlang: de\n d: e\nf: g":        "line 6 is not valid YAML: mapping values are not allowed in this context",
		"a: [b,\n  c]\nd: \"e\n  f\"\ntitle: 'it's'": "line 6 is not valid YAML: did not find expected key",
		"author: x\ntitle: *a":                       "line 3 is not valid YAML: unknown anchor 'a' referenced",
		"title: A\nlang: de\ntitle: B":               "line 4 has the name title more than once",
		"title:\n  main: A":                          "line 3 has a title that is neither text nor a list of texts",
		"title: [A, [B]]":                            "line 2 has a title that is neither text nor a list of texts",
		"title: A\noptions: A4":                      "line 3 has options that are not an object",
		"options:\n  format: A4\n  format: A5":       "line 4 has the name format more than once",
		"options:\n  ? [a]\n  : b":                   "line 3 has a name that is not text",
		"options:\n  scale: .inf":                    "line 3 has a number without a finite value",
		"options:\n  scale: !x 1":                    "line 3 has a value of the type !x, which is not supported",
		"a: &a {b: 1}\noptions:\n  <<: *a":           "line 4 has a merge (<<), which is not supported",
		"options: &a\n  b: *a":                       "line 2 has options that are too large or nested too deeply",
		"options: " + strings.Repeat("{a: ", 20) + strings.Repeat("}", 20): "line 2 has options that are too large or nested too deeply",
		"a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"options: {d: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]}": "line 2 has options that are too large or nested too deeply",
	} {
		src = "---\n" + src + "\n---\nb"
		_, err := ReadFrontMatter(src)
		var problem *FrontMatterError
		if !errors.As(err, &problem) || err.Error() != want {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
		if doc, err := Markdown([]byte(src), MarkdownOptions{}); err != nil || !strings.Contains(string(doc.HTML), "b</") {
			t.Errorf("%q: %v, %s", src, err, doc.HTML)
		}
	}
}

// TestMarkdownLane checks that ordinary documents stay in the inline mode, the
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
