package markup

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// tagFilter makes text of the tags that GitHub Flavored Markdown disallows in raw
// HTML (https://github.github.com/gfm/#disallowed-raw-html-extension-).
type tagFilter struct {
	place func(offset int) int // the line of an offset
	found *Fault               // about them, on the line of the first; nil if there is none
}

// disallowedTag is the beginning of such a tag. Browsers end a name at a slash, too,
// where GitHub's filter wants "/>"; at the end of a part of the source the name counts as ended.
var disallowedTag = regexp.MustCompile(
	`(?i)<(/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)(?:[\t\n\f\r />]|$))`)

func (f *tagFilter) Extend(md goldmark.Markdown) {
	const early = 100
	md.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(f, early)))
}

// RegisterFuncs renders raw HTML.
func (f *tagFilter) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	renderBlock := func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		block, ok := n.(*ast.HTMLBlock)
		switch {
		case !ok:
		case entering:
			f.write(w, src, block.Lines())
		case block.HasClosure():
			closure := text.NewSegments()
			closure.Append(block.ClosureLine)
			f.write(w, src, closure)
		}
		return ast.WalkContinue, nil
	}

	renderInline := func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if raw, ok := n.(*ast.RawHTML); ok && entering {
			f.write(w, src, raw.Segments)
		}
		return ast.WalkSkipChildren, nil
	}

	register.Register(ast.KindHTMLBlock, renderBlock)
	register.Register(ast.KindRawHTML, renderInline)
}

func (f *tagFilter) write(w util.BufWriter, src []byte, parts *text.Segments) {
	for i := range parts.Len() {
		part := parts.At(i)
		value := bytes.ReplaceAll(part.Value(src), []byte{0}, []byte("\ufffd"))
		if tag := disallowedTag.FindSubmatch(value); tag != nil && f.found == nil {
			name := strings.ToLower(string(bytes.Trim(tag[1], "/> \t\n\f\r")))
			f.found = &Fault{Line: f.place(part.Start), Text: fmt.Sprintf("tags such as <%s> are shown as text", name)}
		}
		_, _ = w.Write(disallowedTag.ReplaceAll(value, []byte("&lt;$1"))) // Flush returns the error
	}
}
