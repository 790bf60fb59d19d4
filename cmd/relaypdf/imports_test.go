package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/relaypdf/relaypdf"

// TestImportsPointDown holds the source to the table of packages in
// docs/architecture.md. It parses the files itself: the test cache cannot know
// that go list's answer has changed.
func TestImportsPointDown(t *testing.T) {
	allowed, used := importTable(t), map[string]map[string]bool{}
	eachSource(t, func(file, pkg string) {
		for _, ours := range checkImports(t, file, pkg, allowed) {
			if used[pkg] == nil {
				used[pkg] = map[string]bool{}
			}
			used[pkg][ours] = true
		}
	})
	for pkg, may := range allowed {
		for _, ours := range may {
			if ours != "all" && ours != "its children" && !used[pkg][ours] {
				t.Errorf("docs/architecture.md: %s does not import %s", pkg, ours)
			}
		}
	}
}

// eachSource visits the program's source, without tests. A package is named by
// its folder.
func eachSource(t *testing.T, visit func(file, pkg string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		pkg, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		visit(file, filepath.ToSlash(pkg))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkImports returns the packages of this module that a file imports.
func checkImports(t *testing.T, file, pkg string, allowed map[string][]string) (imports []string) {
	t.Helper()
	may, known := allowed[pkg]
	if !known {
		t.Errorf("%s: package %s is not in the table of docs/architecture.md", file, pkg)
		return nil
	}
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range source.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		ours, ok := strings.CutPrefix(name, module+"/")
		if name == module {
			ours, ok = ".", true
		}
		if !ok {
			continue
		}
		imports = append(imports, ours)
		if !slices.Contains(may, "all") && !slices.Contains(may, ours) && (!slices.Contains(may, "its children") || path.Dir(ours) != pkg) {
			t.Errorf("%s: %s may not import %s", file, pkg, ours)
		}
	}
	return imports
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// importTable reads the table: package → the packages of this module that it may import.
func importTable(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| package | holds | may import |\n")
	if !ok {
		t.Fatal("docs/architecture.md has no table of packages")
	}
	allowed := map[string][]string{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(line, "|")
		may := names(cells[3])
		if len(may) == 0 && strings.TrimSpace(cells[3]) != "" {
			may = []string{strings.TrimSpace(cells[3])}
		}
		for _, pkg := range names(cells[1]) {
			allowed[pkg] = may
		}
	}
	return allowed
}

func names(cell string) []string {
	var found []string
	for _, match := range codeSpan.FindAllStringSubmatch(cell, -1) {
		found = append(found, match[1])
	}
	return found
}
