package pdftag

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// texts returns content with a text for each of n marks.
func texts(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "/NonStruct <</MCID %d >>BDC (a) ' EMC\n", i)
	}
	return out.String()
}

func spans(rows, columns int) []any {
	return []any{pdffile.Dict{"/O": "/Table", "/RowSpan": rows}, pdffile.Dict{"/O": "/Table", "/ColSpan": columns}}
}

func TestTreeIsShaped(t *testing.T) {
	t.Parallel()
	leaf := func(n int) node { return el("NonStruct", n) }
	for name, c := range map[string]struct {
		tree node
		want string
	}{
		"wrappers": {
			el("Document", el("NonStruct", el("Div", el("P", leaf(0)))), el("NonStruct"), el("P")),
			"Document(P(0))",
		},
		"text without a paragraph": {
			el("Document", leaf(0), el("Strong", leaf(1)), leaf(2), el("H1", leaf(3)), leaf(4)),
			"Document(P(0 Strong(1) 2) H1(3) P(4))",
		},
		"groups of text": {
			el("Document", el("NonStruct", el("NonStruct", leaf(0)), el("NonStruct", leaf(1)))),
			"Document(P(0) P(1))",
		},
		"a group in text": {
			el("Document", el("NonStruct", leaf(0), el("NonStruct", leaf(1)), leaf(2))),
			"Document(P(0))",
		},
		"a language": {
			el("Document", el("P", el("NonStruct", leaf(0)).with("/Lang", "u:fr"))),
			"Document(P(Span(0)))",
		},
		"a list": {
			el("Document", el("L", el("LI", el("Lbl", 0), leaf(1), el("L", el("LI", leaf(2)))), leaf(3))),
			"Document(L.Disc(LI(Lbl(0) LBody(P(1) L(LI(LBody(2))))) LI(LBody(3))))",
		},
		"items and cells without a list or a table": {
			el("Document", el("LI", leaf(0)), el("TD", leaf(1)), el("TR", el("TH", leaf(2)))),
			"Document(L(LI(LBody(0))) Table(TR(TD(1)) TR(TH.Row(2))))",
		},
		"a ragged table": {
			el("Document", el("Table", el("TR", el("TH", leaf(0)), el("TH", leaf(1)).with("/A", spans(2, 1)), el("TH", leaf(2))), el("TR", el("TD", leaf(3))), el("TR", el("TD", leaf(4)).with("/A", spans(9, 2))))),
			"Document(Table(TR(TH.Column(0) TH.Column.2(1) TH.Column(2)) TR(TD(3) TD()) TR(TD.2(4) TD())))",
		},
		"a cell over an occupied column": {
			el("Document", el("Table", el("TR", el("TD", leaf(0)), el("TD", leaf(1)).with("/A", spans(2, 1))), el("TR", el("TD", leaf(2)).with("/A", spans(1, 5))))),
			"Document(Table(TR(TD(0) TD.2(1)) TR(TD(2))))",
		},
		"a table without rows": {
			el("Document", el("Table", el("Caption", leaf(0)))),
			"Document(P(0))",
		},
		"a figure around an image": {
			el("Document", el("Figure", el("Figure", 0).with("/Alt", "u:A"), el("Caption", leaf(1)))),
			"Document(Figure(0 Caption(1)))",
		},
		"a figure of text": {
			el("Document", el("Figure", el("NonStruct", el("Code", leaf(0))))),
			"Document(P(Code(0)))",
		},
		"ruby": {
			el("Document", el("P", el("Ruby", leaf(0), el("RT", leaf(1)), leaf(2), el("RT", leaf(3))))),
			"Document(P(Ruby(RB(0) RT(1)) Ruby(RB(2) RT(3))))",
		},
		"a heading without a level": {
			el("Document", el("H1", leaf(0)), el("H", leaf(1))),
			"Document(H1(0) H2(1))",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, f := conform(t, makeDocument(texts(5), c.tree, nil))
			if got := outline(f); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if len(r.Faults) > 0 || len(r.Claimed) != 4 {
				t.Errorf("claimed %v with %v", r.Claimed, r.Faults)
			}
		})
	}
}

func TestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tree node
		rule Rule
	}{
		"a figure without a text": {el("Document", el("Figure", 9)), FigureAlt},
		"a skipped level":         {el("Document", el("H1", 0), el("H3", 1)), HeadingOrder},
		"a first heading of 2":    {el("Document", el("H2", 0)), HeadingOrder},
		"a formula":               {el("Document", el("Formula", 0)), FormulaAlt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := conform(t, makeDocument(texts(2)+"/F <</MCID 9>> BDC 0 0 1 1 re f EMC", c.tree, nil))
			if len(r.Faults) != 1 || r.Faults[0].Rule != c.rule || r.Faults[0].Page != 1 || len(r.Claimed) != 3 || r.Claimed[0] != pdffile.A2A {
				t.Errorf("claimed %v with %+v", r.Claimed, r.Faults)
			}
		})
	}
	if _, err := Conform([]byte("%PDF-1.4"), Options{}); err == nil {
		t.Error("no error for a file that is none")
	}
}

// TestDeepTrees has more elements within elements than are kept apart.
func TestDeepTrees(t *testing.T) {
	t.Parallel()
	tree := el("P", 0)
	for range maxDepth * 4 {
		tree = el("Sect", tree, 1)
	}
	_, f := conform(t, makeDocument(texts(2), el("Document", tree), nil))
	if got := outline(f); !strings.Contains(got, "(0") {
		t.Error("the deepest text is lost:", got[len(got)-100:])
	}
}
