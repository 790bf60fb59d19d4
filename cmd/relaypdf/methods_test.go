package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// maxMethods is how many methods a type may declare: a type that does more does
// more than one thing.
const maxMethods = 25

// largerTypes have more methods than that, at most so many.
var largerTypes = map[string]int{
	"api/call.Pipeline":     26,
	"render/chrome.page":    29,
	"render/pdffile.File":   26,
	"render/template.lexer": 30,
	"store.CallStore":       28,
	"store.FileStore":       26,
	"store.People":          34,
	"store.UpkeepStore":     26,
	"store.core":            27,
	"web.Web":               39,
}

func TestTypesHaveFewMethods(t *testing.T) {
	methods := map[string]int{}
	eachSource(t, func(file, pkg string) {
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range source.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[pkg+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	})
	if len(methods) < 100 {
		t.Fatalf("found %d types with methods, want all of the program", len(methods))
	}
	for name, count := range methods {
		if most := max(maxMethods, largerTypes[name]); count > most {
			t.Errorf("%s has %d methods, want at most %d: split it by what its methods are about", name, count, most)
		}
		if largerTypes[name] > 0 && count <= maxMethods {
			t.Errorf("%s has %d methods: take it off the list of larger types", name, count)
		}
	}
}

// receiver returns the name of a method's type.
func receiver(expr ast.Expr) string {
	switch x := expr.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}
