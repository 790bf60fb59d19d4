package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestGoDeclaresNoTypeOfWire fails if a schema has the name of a struct of api/wire that the generator does not know.
func TestGoDeclaresNoTypeOfWire(t *testing.T) {
	t.Parallel()
	doc, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join("..", "..", "api", "wire", "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}

	structs := map[string]bool{}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if declared, ok := node.(*ast.TypeSpec); ok {
				_, structs[declared.Name.Name] = declared.Type.(*ast.StructType)
			}

			return true
		})
	}
	for _, schema := range doc.Schemas {
		// The client declares Error, and the name of a schema of a result is not Result.
		if structs[schema.Name] && wireTypes[schema.Name] == nil && schema.Name != "Error" {
			t.Errorf("%s is a struct of api/wire: add it to wireTypes", schema.Name)
		}
	}
}

func TestGoName(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"fileId": "FileID", "extraHTTPHeaders": "ExtraHTTPHeaders", "PdfFacturxCheckInput": "PDFFacturXCheckInput",
		"failOnHTTPStatus": "FailOnHTTPStatus", "S3Target": "S3Target", "SFTPConnection": "SFTPConnection",
		"delete_pages": "DeletePages", "preferCSSPageSize": "PreferCSSPageSize",
	} {
		if got := goName(words); got != want {
			t.Errorf("goName(%q) is %q, want %q", words, got, want)
		}
	}
}
