package markup

import (
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

func TestFormulas(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"in a line", "so $a^2$ is", `<p>so <span class="katex">`},
		{"in a heading", "# Why $\\pi$", `<h1 id="why-pi">Why <span class="katex">`},
		{"in a line, between backticks", "so $`a*b*c`$ is", "<p>so <span class=\"katex\">"},
		{"backticks are no part of it", "so $`x`$ is", `<span class="mord mathnormal">x</span></span></span></span> is`},
		{"apart", "$$\n\\int_0^1 x\\,dx\n$$", `<p class="formula"><span class="katex-display">`},
		{"apart on one line", "$$x$$", `<p class="formula"><span class="katex-display">`},
		{"apart in a line", "and $$x$$ too", `<p>and <span class="katex-display">`},
		{"in a quotation", "> $$\n> x\n> $$", "<blockquote>\n<p class=\"formula\"><span class=\"katex-display\">"},
		{"in a list", "- $$\n  x\n  $$", "<li>\n<p class=\"formula\"><span class=\"katex-display\">"},
		{"a code block", "```math\nx\n```", `<p class="formula"><span class="katex-display">`},
		{"in a table", "|a|\n|-|\n|$x$|", `<td><span class="katex">`},
		{"emphasis inside", "$a_1 b_2$ and $c*d*e$", `</span></span></span> and <span class="katex">`},
		{"between \\( and \\)", `so \(a*b*c\) is`, `<p>so <span class="katex">`},
		{"between \\( and \\) with spaces", `so \( \frac{1}{(x)} \), too`, `<p>so <span class="katex">`},
		{"apart between \\[ and \\]", "so\n\\[\nx\n\\]\nis", `<p class="formula"><span class="katex-display">`},
		{"apart between \\[ and \\] on one line", `\[ x \]`, `<p class="formula"><span class="katex-display">`},
		{"apart between \\[ and \\] without spaces", `\[x^2\].`, `<p class="formula"><span class="katex-display">`},
		{"apart in a list between \\[ and \\]", "- \\[\n  x\n  \\]", "<li>\n<p class=\"formula\"><span class=\"katex-display\">"},
		{"a wrong one between \\( and \\)", `x \(\frac{1\) y`, `<code class="fault">\(\frac{1\)</code>`},
		{"a wrong one", "x $\\frac{1$ y", `<code class="fault">$\frac{1$</code>`},
		{"beside code", "so $a$ and `$b$`", `</span></span></span> and <code>$b$</code>`},
		{"with quotes of TeX", "so $\\text{``a'' b}$", `<p>so <span class="katex">`},
		{"with differentials", "so $2 dx dy$ is", `<p>so <span class="katex">`},
		{"with a number first", "so $2x + 3 = 7$ and $10^{-3}$", `<p>so <span class="katex">`},
		{"with an escaped bracket last", "so $a\\{$ is", `<p>so <span class="katex">`},
		{"an interval", "so $]0,1[$ is", `<p>so <span class="katex">`},
		{"between brackets", "so ($a$) is", `<p>so (<span class="katex">`},
		{"before punctuation", "so $a$-b, $c$.", `<p>so <span class="katex">`},
		{"with an escaped dollar", `so $a\$b$ is`, `<p>so <span class="katex">`},
		{"one that would load", `$\includegraphics{https://a.example/x.png}$`, `<span class="katex">`},
	} {
		if got := convert(t, test.src, MarkdownOptions{}); !strings.Contains(got, test.want) {
			_, body, _ := strings.Cut(got, "<body>")
			t.Errorf("%s: %q has no %q:\n%s", test.name, test.src, test.want, body)
		}
	}
}

// Text is looked through for the ends of formulas once, and not from each beginning:
// 100 kB took more than a minute, with the race detector.
func TestFormulasWithoutEndsAreReadInLinearTime(t *testing.T) {
	sharedtest.Slow(t)
	const bytes = 1 << 20
	for _, src := range []string{
		strings.Repeat("$` $`", bytes/5), strings.Repeat("$` `` ", bytes/6), strings.Repeat("$a ", bytes/3), strings.Repeat("$a `$` ", bytes/7), strings.Repeat(`\(`, bytes/2), strings.Repeat(`]\(`, bytes/3) + `\)`, strings.Repeat(`\*`, bytes/2),
		strings.Repeat("\\[ x\n", bytes/5), strings.Repeat("\\[ x\n", bytes/5) + `\] y`, strings.Repeat("\\[ \\) x\n", bytes/8),
	} {
		if doc, err := Markdown([]byte(src), MarkdownOptions{}); err != nil || len(doc.Faults) > 0 {
			t.Errorf("%.20q…: %v, %d formulas", src, err, len(doc.Faults))
		}
	}
}

// Sums of money, variables and code are not formulas.
func TestDollarsThatAreNoFormulas(t *testing.T) {
	for _, src := range []string{
		"Pay $5/kg or 7 EUR/kg ($).", "$5 or 7$", "From $5 per kg, in total 100$.", "between $5 und bis zu 7$", "($) or (US$)", "dollars ($), euros [$] and {$}", "$) and $)", "$1,000 net (for $)",
		"Set $FOO or `$`", "$A `b$` c", "`$`, $a and ``$``", "é$5 and 6$é", "costs $5 and $10", "from $5-$10", "US$5 or CA$7", "**$5** or **$6**", "$PATH and $HOME", "$HOME/$USER", `\$a\$`, "`$a$`",
		"```\n$a$\n```", "a $ b $ c", "$20,000 and $30,000", "$$", "$$$$", "$$\n\nnot closed", "<b title=\"$a$\">x</b>", "$ a$", "[x]($a$)",
		`\\(x\\)`, "`\\(x\\)`", "```\n\\(x\\)\n\\[\nx\n\\]\n```", "    \\[\n    x\n    \\]", `[x]\(y\)`, `[x](a\(b\))`, `\(see above\)`, `\(\)`, `\( \)`, `\(x`,
		`\[1\]`, `\[edit\]`, `\[ \] to do`, `\[ \]`, `\[x^2\](a)`, `as \[he\] said`, "\\[sic\nor so\\]", "\\[\nx\n\ny\n\\]", "\\[\nx\n\\] and more",
	} {
		if got := convert(t, src, MarkdownOptions{}); strings.Contains(got, "katex") {
			_, body, _ := strings.Cut(got, "<body>")
			t.Errorf("%q has a formula: %s", src, body)
		}
	}
}

// TestFormulasSwitchedOff: the request's choice comes before that of the front matter, and no text is lost.
func TestFormulasSwitchedOff(t *testing.T) {
	const off, on = "---\noptions: {formulas: false}\n---\n", "---\noptions: {formulas: true}\n---\n"
	for _, test := range []struct {
		front  string
		choice *bool
		want   bool
	}{
		{"", nil, true}, {"", new(true), true}, {"", new(false), false}, {off, nil, false}, {off, new(true), true}, {on, nil, true}, {on, new(false), false},
	} {
		got := convert(t, test.front+"$a$ \\(b\\)\n\n$$\nc\n$$\n\n\\[\nd^2\n\\]\n\n```math\ne\n```\n", MarkdownOptions{Formulas: test.choice})
		_, body, _ := strings.Cut(got, "<body>")
		formulas := strings.Count(body, `class="katex"`)
		if test.want && formulas != 5 || !test.want && formulas != 0 {
			t.Errorf("%q, %v: %d formulas", test.front, test.choice, formulas)
		}
		if text := "<p>$a$ (b)</p>\n<p>$$\nc\n$$</p>\n<p>[\nd^2\n]</p>\n<pre"; !test.want && !strings.Contains(body, text) {
			t.Errorf("%q, %v: no %q in %s", test.front, test.choice, text, body)
		}
	}
}

func TestFormulasEmbedOnlyTheirFonts(t *testing.T) {
	face := regexp.MustCompile(`url\(data:font/woff2;base64,`)
	for src, want := range map[string]int{"$x$": 2, `$\mathbb{R}$`: 3, `$$\sum_{i=1}^n \mathcal{F}_i$$`: 4, "no formula": 0} {
		got := convert(t, src, MarkdownOptions{})
		if n := len(face.FindAllString(got, -1)); n != want {
			t.Errorf("%s: %d typefaces, want %d", src, n, want)
		}
		if strings.Contains(got, "fonts/KaTeX") {
			t.Errorf("%s refers to a file", src)
		}
		if traits := Inspect(got); traits != (Traits{}) {
			t.Errorf("%s: %+v", src, traits)
		}
	}
}

func TestFaultsOfFormulasHaveTheirLines(t *testing.T) {
	doc, err := Markdown([]byte("---\ntitle: a\n---\n# b\n\n$x$ and\n$\\nothing$\n\n$$\n\\frac{1\n$$\n\n```math\n\\left(\n```\n"), MarkdownOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Fault{{7, "Undefined control sequence"}, {9, "expected '}'"}, {14, "Expected '\\right'"}}
	if len(doc.Faults) != len(want) {
		t.Fatalf("%d faults, want %d: %+v", len(doc.Faults), len(want), doc.Faults)
	}
	for i, f := range doc.Faults {
		if f.Line != want[i].Line || !strings.Contains(f.Text, want[i].Text) {
			t.Errorf("%+v, want %+v", f, want[i])
		}
	}
}

func TestDiagrams(t *testing.T) {
	doc, err := Markdown([]byte("# a\n\n```mermaid\ngraph TD\n  A[\"<b>\"] --> B\n```\n\n```mermaid\n```\n"), MarkdownOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "<pre data-diagram=\"4\"><code>graph TD\n  A[&#34;&lt;b&gt;&#34;] --&gt; B\n</code></pre>"; !doc.Diagrams || !strings.Contains(string(doc.HTML), want) {
		t.Errorf("diagrams are %t, and the document has no %q", doc.Diagrams, want)
	}
	whole, err := WithDiagrams("<p>x")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(whole, "</script"); n != 2 {
		t.Errorf("scripts end %d times, want 2", n)
	}
	if plain, err := Markdown([]byte("```go\nx\n```"), MarkdownOptions{}); err != nil || plain.Diagrams {
		t.Errorf("diagrams in a program: %v", err)
	}
}

// Many formulas take little more than the program that sets them.
func BenchmarkFormulas(b *testing.B) {
	for _, src := range []string{"$x$", strings.Repeat("so $\\frac{a_1}{b^2}$ is\n\n", 100)} {
		b.Run("", func(b *testing.B) {
			for b.Loop() {
				convert(b, src, MarkdownOptions{})
			}
		})
	}
}
