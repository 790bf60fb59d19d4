package markup

import (
	_ "embed"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// drawDiagrams renders the elements that diagrams has marked.
//
//go:embed diagrams.js
var drawDiagrams string

// diagrams keeps code blocks called mermaid for the browser to draw, and makes
// formulas of those called math.
type diagrams struct {
	found bool
	place func(offset int) int // the line of an offset
	// formulas is false if code blocks called math are code.
	formulas bool
}

// diagram is the source of one.
type diagram struct {
	ast.BaseBlock
	source string
	line   int
}

var kindDiagram = ast.NewNodeKind("Diagram")

func (*diagram) Kind() ast.NodeKind         { return kindDiagram }
func (n *diagram) Dump(src []byte, lvl int) { ast.DumpHelper(n, src, lvl, nil, nil) }

func (d *diagrams) Extend(md goldmark.Markdown) {
	const early = 100
	md.Parser().AddOptions(parser.WithASTTransformers(util.Prioritized(d, early)))
	md.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(d, early)))
}

// Transform implements parser.ASTTransformer.
func (d *diagrams) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	src := reader.Source()
	var fences []*ast.FencedCodeBlock

	// The walker returns no error, so Walk returns none.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if fence, ok := n.(*ast.FencedCodeBlock); ok && entering && fence.Lines().Len() > 0 {
			fences = append(fences, fence)
		}
		return ast.WalkContinue, nil
	})

	for _, fence := range fences {
		source := string(fence.Lines().Value(src))
		at := fence.Lines().At(0).Start
		switch strings.ToLower(string(fence.Language(src))) {
		case "mermaid":
			d.found = true
			fence.Parent().ReplaceChild(fence.Parent(), fence, &diagram{source: source, line: d.place(at)})
		case "math":
			if d.formulas {
				block := &formulaBlock{formula: formula{tex: source, at: at, apart: true}}
				fence.Parent().ReplaceChild(fence.Parent(), fence, block)
			}
		}
	}
}

// RegisterFuncs renders diagrams as their source.
func (d *diagrams) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(kindDiagram, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if drawn, ok := n.(*diagram); ok && entering {
			fmt.Fprintf(w, "<pre data-diagram=\"%d\"><code>%s</code></pre>\n",
				drawn.line, html.EscapeString(drawn.source))
		}
		return ast.WalkSkipChildren, nil
	})
}

// WithDiagrams adds the script that renders its diagrams to a document.
func WithDiagrams(doc string) (string, error) {
	mermaid, err := assets.ReadFile("assets/mermaid.js")
	if err != nil {
		return "", errAssets
	}

	var out strings.Builder
	out.Grow(len(doc) + len(mermaid) + len(drawDiagrams))
	out.WriteString(doc)

	for _, script := range []string{string(mermaid), drawDiagrams} {
		// In a script this is the same text, and does not end it.
		out.WriteString("<script>" + strings.ReplaceAll(script, "</script", `<\/script`) + "</script>\n")
	}
	return out.String(), nil
}
