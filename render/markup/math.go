package markup

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// assets holds KaTeX and mermaid, which `make assets` puts there; see
// assets/README.md.
//
//go:embed assets
var assets embed.FS

// errAssets means that the program was built without KaTeX and mermaid.
var errAssets = errors.New("this program was built without KaTeX and mermaid: " +
	"run `make assets` in its source (it needs npm and the network), then build it again")

// Check returns errAssets if this executable contains no KaTeX and no mermaid.
func Check() error {
	for _, name := range []string{"katex.js", "katex.css", "mermaid.js"} {
		if _, err := assets.ReadFile("assets/" + name); err != nil {
			return errAssets
		}
	}
	return nil
}

// Fault is the error of a formula that is shown as its source.
type Fault struct {
	Line int    `json:"line"` // of the Markdown, from 1
	Text string `json:"text"`
}

// math is formulas as GitHub has them: $…$ and $`…`$ in a line, $$…$$ set apart, and code blocks called math; and as
// TeX has them, \(…\) in a line and \[…\] set apart. A document's formulas share a realm of JavaScript, which nothing
// else has.
type math struct {
	vm     *goja.Runtime
	render goja.Callable
	out    strings.Builder // the formulas so far, to find out which fonts they use
	faults []Fault
	place  func(offset int) int // the line of an offset
	err    error
}

// formula is a formula, with its place in the source.
type formula struct {
	ast.BaseInline
	tex    string
	at     int
	apart  bool
	source string // as it was written
}

// formulaBlock is a formula that is its own paragraph.
type formulaBlock struct {
	ast.BaseBlock
	formula formula
	fence   string // that ends it
	closed  bool
}

var (
	kindFormula      = ast.NewNodeKind("Formula")
	kindFormulaBlock = ast.NewNodeKind("FormulaBlock")
)

func (*formula) Kind() ast.NodeKind              { return kindFormula }
func (n *formula) Dump(src []byte, lvl int)      { ast.DumpHelper(n, src, lvl, nil, nil) }
func (*formulaBlock) Kind() ast.NodeKind         { return kindFormulaBlock }
func (n *formulaBlock) Dump(src []byte, lvl int) { ast.DumpHelper(n, src, lvl, nil, nil) }

func (m *math) Extend(md goldmark.Markdown) {
	const beforeFences, beforeEmphasis, early = 650, 450, 100
	md.Parser().AddOptions(
		parser.WithBlockParsers(util.Prioritized(mathBlocks{}, beforeFences)),
		parser.WithInlineParsers(util.Prioritized(mathInlines{}, beforeEmphasis)),
	)
	md.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(m, early)))
}

// mathInlines finds formulas in lines. Sums of money are not formulas: a formula begins and ends without a space,
// and is not adjacent to letters and digits.
type mathInlines struct{}

// Trigger implements parser.InlineParser.
func (mathInlines) Trigger() []byte { return []byte{'$', '\\'} }

// Parse implements parser.InlineParser.
func (mathInlines) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	if line[0] == '\\' {
		return parenthesized(block, pc)
	}

	fence := 1
	if bytes.HasPrefix(line, []byte("$$")) {
		fence = 2
	}

	before := block.PrecendingCharacter()
	if before == '$' || fence == 1 && isWordRune(before) || pc.Get(undollared) == segment.Stop {
		return nil
	}

	rest := line[fence:]
	end := dollarsAt(rest, fence)
	if end < 0 && fence == 1 {
		pc.Set(undollared, segment.Stop)
	}
	if end <= 0 {
		return nil
	}

	tex := rest[:end]
	if fence == 1 && len(tex) > 2 && tex[0] == '`' && tex[end-1] == '`' {
		tex = tex[1 : end-1]
	}

	after, _ := utf8.DecodeRune(rest[end+fence:])
	if fence == 1 && (isBlank(tex[0]) || isBlank(tex[len(tex)-1]) || isWordRune(after) || money.Match(tex)) {
		return nil
	}
	if len(bytes.TrimSpace(tex)) == 0 {
		return nil
	}

	whole := 2*fence + end
	block.Advance(whole)
	return &formula{tex: string(tex), at: segment.Start, apart: fence > 1, source: string(line[:whole])}
}

// money is text between two amounts, such as $5 or 7$, and text that begins with a closing bracket or ends with an
// opening one, such as $5 ($).
var money = regexp.MustCompile(`^[)}]|^\d[^\\^=_{}]*\s(?:[^\P{L}d]\pL|\pL{3,})\s[^\\^=_{}]*$|(?:^|[^\\])[({]$`)

// undollared stores the end of the line that contains no further dollars outside of code, so that it is not searched
// again from each of its dollars.
var undollared = parser.NewContextKey()

// dollarsAt returns the position of the dollars that end a formula, or -1. Those in code and after a backslash do not.
func dollarsAt(text []byte, fence int) int {
	for i := 0; i < len(text); {
		switch {
		case bytes.HasPrefix(text[i:], []byte("$$")[:fence]):
			return i
		case text[i] == '\\':
			i += 2
		case text[i] == '`':
			ticks := len(text[i:]) - len(bytes.TrimLeft(text[i:], "`"))
			i += ticks
			if code := codeEnd(text[i:], ticks); code >= 0 {
				i += code
			}
		default:
			i++
		}
	}
	return -1
}

// codeEnd returns the end of code that as many backticks close as have opened it, or -1.
func codeEnd(text []byte, ticks int) int {
	for at := 0; ; {
		next := bytes.IndexByte(text[at:], '`')
		if next < 0 {
			return -1
		}
		at += next
		run := len(text[at:]) - len(bytes.TrimLeft(text[at:], "`"))
		at += run
		if run == ticks {
			return at
		}
	}
}

// prose is text between brackets that were escaped because they are none of Markdown.
var prose = regexp.MustCompile(`^[^\\^=_{}]*\pL{2,}\s+\pL{2,}[^\\^=_{}]*$`)

// unclosed stores the end of the line that contains no further \), so that it is not searched again from each of
// its backslashes.
var unclosed = parser.NewContextKey()

// parenthesized is the formula between \( and \) that the line begins with, or nil.
func parenthesized(block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	rest, ok := bytes.CutPrefix(line, []byte(`\(`))
	if !ok || block.PrecendingCharacter() == ']' || pc.Get(unclosed) == segment.Stop {
		return nil
	}

	end := fenceAt(rest, `\)`)
	if end < 0 {
		pc.Set(unclosed, segment.Stop)
		return nil
	}

	tex := bytes.TrimSpace(rest[:end])
	if len(tex) == 0 || prose.Match(tex) {
		return nil
	}

	whole := len(`\(`) + end + len(`\)`)
	block.Advance(whole)
	return &formula{tex: string(tex), at: segment.Start, source: string(line[:whole])}
}

// fenceAt returns the position of the fence that ends a formula, or -1.
func fenceAt(text []byte, fence string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case bytes.HasPrefix(text[i:], []byte(fence)):
			return i
		case text[i] == '\\':
			i++
		}
	}
	return -1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// mathBlocks finds formulas that begin a line with $$ and end one so, or with \[ and \].
type mathBlocks struct{}

// Trigger implements parser.BlockParser.
func (mathBlocks) Trigger() []byte { return []byte{'$', '\\'} }

// meant distinguishes formulas from escaped brackets, such as \[edit\], by the text that follows on the first line
// and by the end of the last line.
var (
	meant  = regexp.MustCompile(`^(\s|.*(\^|=|\\[A-Za-z]))`)
	ending = regexp.MustCompile(`^[ \t.,;]*(\r?\n|$)`)
)

// Open implements parser.BlockParser.
func (mathBlocks) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	var fence string
	switch {
	case at < 0:
		return nil, parser.NoChildren
	case bytes.HasPrefix(line[at:], []byte("$$")):
		fence = "$$"
	case bytes.HasPrefix(line[at:], []byte(`\[`)) && meant.Match(line[at+2:]):
		fence = `\]`
	default:
		return nil, parser.NoChildren
	}

	first := bytes.TrimSpace(line[at+2:])
	if end := fenceAt(first, fence); end >= 0 {
		after := first[end+2:]
		if len(bytes.TrimSpace(first[:end])) == 0 || len(after) > 0 && (fence == "$$" || !ending.Match(after)) {
			return nil, parser.NoChildren // a line with a formula in it
		}
		reader.AdvanceToEOL()
		single := formula{tex: string(first[:end]), at: segment.Start, apart: true}
		return &formulaBlock{formula: single, closed: true}, parser.NoChildren
	}

	if !closes(reader.Source(), segment.Stop, fence, pc) {
		return nil, parser.NoChildren
	}
	reader.AdvanceToEOL()
	start := formula{tex: string(first) + "\n", at: segment.Start, apart: true}
	return &formulaBlock{formula: start, fence: fence}, parser.NoChildren
}

// formulaEnd is the latest search for the end of formulas. Its result applies to all formulas that begin before it,
// so that the text is not searched again for them.
type formulaEnd struct {
	fence string
	at    int // its position, or the end of a paragraph without one
	fits  bool
}

var formulaEndKey = parser.NewContextKey()

// closes reports whether a formula ends whose first line does at a place. A formula that
// does not end before the next paragraph is text.
func closes(source []byte, from int, fence string, pc parser.Context) bool {
	known, _ := pc.Get(formulaEndKey).(formulaEnd)
	if known.fence != fence || known.at < from {
		below, _, _ := bytes.Cut(source[from:], []byte("\n\n"))
		end := fenceAt(below, fence)
		if end < 0 {
			known = formulaEnd{fence, from + len(below), false}
		} else {
			known = formulaEnd{fence, from + end, fence == "$$" || ending.Match(below[end+2:])}
		}
		pc.Set(formulaEndKey, known)
	}
	return known.fits && (fence == "$$" || len(bytes.TrimSpace(source[from:known.at])) > 0)
}

// Continue implements parser.BlockParser.
func (mathBlocks) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	block, ok := node.(*formulaBlock)
	if !ok || block.closed {
		return parser.Close
	}

	line, _ := reader.PeekLine()
	if end := fenceAt(line, block.fence); end >= 0 {
		block.formula.tex += string(line[:end])
		block.closed = true
		reader.AdvanceToEOL()
		return parser.Close
	}

	block.formula.tex += string(line)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

// Close implements parser.BlockParser.
func (mathBlocks) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph implements parser.BlockParser.
func (mathBlocks) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine implements parser.BlockParser.
func (mathBlocks) CanAcceptIndentedLine() bool { return false }

// RegisterFuncs renders formulas.
func (m *math) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	renderInline := func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if f, ok := n.(*formula); ok && entering {
			m.write(w, f)
		}
		return ast.WalkSkipChildren, m.err
	}

	renderBlock := func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if f, ok := n.(*formulaBlock); ok && entering {
			_, _ = w.WriteString("<p class=\"formula\">") // Flush returns the error
			m.write(w, &f.formula)
			_, _ = w.WriteString("</p>\n")
		}
		return ast.WalkSkipChildren, m.err
	}

	register.Register(kindFormula, renderInline)
	register.Register(kindFormulaBlock, renderBlock)
}

// write sets a formula, or shows its source if that is impossible.
func (m *math) write(w util.BufWriter, f *formula) {
	set, err := m.set(f)
	var wrong *goja.Exception
	switch {
	case err == nil:
		m.out.WriteString(set)
		_, _ = w.WriteString(set)
	case errors.As(err, &wrong):
		text, _, _ := strings.Cut(wrong.Value().String(), "\n")
		text = strings.TrimPrefix(strings.TrimPrefix(text, "ParseError: "), "KaTeX parse error: ")
		m.faults = append(m.faults, Fault{Line: m.place(f.at), Text: "the formula is invalid: " + text})
		fmt.Fprintf(w, "<code class=\"fault\">%s</code>", html.EscapeString(cmp.Or(f.source, strings.TrimSpace(f.tex))))
	default:
		m.err = fmt.Errorf("set a formula: %w", err)
	}
}

// katex is the program, compiled once.
var katex = sync.OnceValues(func() (*goja.Program, error) {
	source, err := assets.ReadFile("assets/katex.js")
	if err != nil {
		return nil, errAssets
	}
	return goja.Compile("katex.js", string(source), false)
})

const (
	// maxExpand is the maximum number of macro expansions, and maxSize the maximum length in a formula, in ems.
	maxExpand = 1000
	maxSize   = 60
	// maxDepth is the maximum depth of calls.
	maxDepth = 2000
)

func (m *math) set(f *formula) (string, error) {
	if m.vm == nil {
		program, err := katex()
		if err != nil {
			return "", err
		}

		vm := goja.New()
		vm.SetMaxCallStackSize(maxDepth)
		if _, err := vm.RunProgram(program); err != nil {
			return "", fmt.Errorf("katex: %s", err.Error())
		}

		setter, err := vm.RunString(fmt.Sprintf(
			`(tex, apart) => katex.renderToString(tex, `+
				`{displayMode: apart, output: "html", strict: "ignore", maxExpand: %d, maxSize: %d})`,
			maxExpand, maxSize))
		if err != nil {
			return "", err
		}
		m.render, _ = goja.AssertFunction(setter)
		m.vm = vm
	}

	set, err := m.render(goja.Undefined(), m.vm.ToValue(f.tex), m.vm.ToValue(f.apart))
	if err != nil {
		return "", err
	}
	return set.String(), nil
}

// fontClasses lists the fonts of KaTeX, except the two that every formula needs, with the classes that ask for them.
var fontClasses = []struct{ name, classes string }{
	{"Main-Regular", ""}, {"Math-Italic", ""},
	{"Size1-Regular", "delimsizing size1|small-op|delim-size1"}, {"Size2-Regular", "delimsizing size2|large-op"},
	{"Size3-Regular", "delimsizing size3"}, {"Size4-Regular", "delimsizing size4|delim-size4"},
	{"AMS-Regular", "amsrm|mathbb|textbb"}, {"Main-Bold", "mathbf|textbf"}, {"Main-Italic", "mathit|textit"},
	{"Main-BoldItalic", "textbf textit|mathbfit"}, {"Math-BoldItalic", "boldsymbol|mathbfit"},
	{"Caligraphic-Regular", "mathcal|textcal"}, {"Caligraphic-Bold", "mathcal mathbf|mathboldcal"},
	{"Fraktur-Regular", "mathfrak|textfrak"}, {"Fraktur-Bold", "mathboldfrak|textboldfrak"},
	{"SansSerif-Regular", "mathsf|textsf"}, {"SansSerif-Bold", "mathboldsf|textboldsf"},
	{"SansSerif-Italic", "mathsfit|mathitsf|textitsf"},
	{"Script-Regular", "mathscr|textscr"}, {"Typewriter-Regular", "mathtt|texttt"},
}

// faceRule is a rule of KaTeX's style sheet that defines a font.
var faceRule = regexp.MustCompile(`@font-face\{[^}]*fonts/KaTeX_([A-Za-z0-9-]+)\.woff2[^}]*\}`)

// style returns the style sheet of the formulas with the fonts that they use, or "" without
// formulas.
func (m *math) style() (string, error) {
	if m.out.Len() == 0 {
		return "", nil
	}

	css, err := assets.ReadFile("assets/katex.css")
	if err != nil {
		return "", errAssets
	}

	used := map[string]bool{}
	for _, face := range fontClasses {
		for class := range strings.SplitSeq(face.classes, "|") {
			used[face.name] = used[face.name] || strings.Contains(m.out.String(), class)
		}
	}

	var missing error
	style := faceRule.ReplaceAllStringFunc(string(css), func(rule string) string {
		name := faceRule.FindStringSubmatch(rule)[1]
		if !used[name] {
			return ""
		}
		face, err := assets.ReadFile("assets/KaTeX_" + name + ".woff2")
		if err != nil {
			missing = errAssets
		}
		before, _, _ := strings.Cut(rule, "src:")
		data := base64.StdEncoding.EncodeToString(face)
		return before + "src:url(data:font/woff2;base64," + data + `) format("woff2")}`
	})
	return style + formulaStyle, missing
}

// formulaStyle has formulas look as the text around them.
const formulaStyle = `
.katex { font-size: 1.12em; }
.formula { text-align: center; break-inside: avoid; }
.formula .katex-display { margin: 0; }
`
