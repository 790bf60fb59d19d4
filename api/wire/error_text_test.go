package wire_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
)

var (
	// private are words that error messages do not use: the writing guide has the standard word for each.
	private = regexp.MustCompile(`(?i)\b(dear|nobody|somebody|told|kept|lane|typefaces?|stand beside|in its place|stands?|takes? (a|an|one|the)|(is|are) no [a-z]|this address|this process|our side|goes beyond|leads? (to|nowhere))\b`)
	// riddle is a beginning whose subject is not a noun.
	riddle = regexp.MustCompile(`^(What|Who|Whoever|Whose|There is no)\b`)
)

// maxErrorText is the maximum length of an error message, in characters.
const maxErrorText = 200

func checkErrorText(t *testing.T, where, text string) {
	t.Helper()
	if found := private.FindString(text); found != "" {
		t.Errorf("%s: %q contains %q, which is not a standard term", where, text, found)
	}
	if riddle.MatchString(text) {
		t.Errorf("%s: %q does not begin with a noun", where, text)
	}
	if n := len([]rune(text)); n > maxErrorText {
		t.Errorf("%s: %q has %d characters, want at most %d", where, text, n, maxErrorText)
	}
}

// TestErrorTextsOfCodes checks the default message of each error code.
func TestErrorTextsOfCodes(t *testing.T) {
	t.Parallel()
	for _, code := range wire.Codes() {
		checkErrorText(t, string(code), code.Text())
		if !strings.HasSuffix(code.Text(), ".") {
			t.Errorf("%s: %q does not end with a full stop", code, code.Text())
		}
	}
}

// TestErrorTextsOfDocs checks the example bodies of the error reference.
func TestErrorTextsOfDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	bodies := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(page, -1)
	checked := 0
	for _, body := range bodies {
		var example wire.ErrorBody
		if err := json.Unmarshal(body[1], &example); err != nil || example.Error.Code == "" {
			continue
		}
		checked++
		checkErrorText(t, string(example.Error.Code), example.Error.Message)
		if last := example.Error.Message; !strings.HasSuffix(last, ".") && !strings.HasSuffix(last, "?") {
			t.Errorf("%s: %q does not end with a full stop", example.Error.Code, last)
		}
	}
	if checked < len(wire.Codes()) {
		t.Errorf("%d examples, want one for each of %d codes", checked, len(wire.Codes()))
	}
}

// TestErrorTextsOfSources checks the messages in the sources of the API: the field Message of a literal, and the
// formats of validation errors.
func TestErrorTextsOfSources(t *testing.T) {
	t.Parallel()
	files, checked := token.NewFileSet(), 0
	check := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			for _, text := range errorTexts(node) {
				checked++
				checkErrorText(t, files.Position(node.Pos()).String(), text)
			}
			return true
		})
		return nil
	}
	for _, root := range []string{"..", filepath.Join("..", "..", "service")} {
		if err := filepath.WalkDir(root, check); err != nil {
			t.Fatal(err)
		}
	}
	if checked < 200 {
		t.Errorf("%d messages were found, want more than 200", checked)
	}
}

// errorTexts returns the literals of an error message that a node makes, or none.
func errorTexts(node ast.Node) (texts []string) {
	var parts []ast.Expr
	switch node := node.(type) {
	case *ast.KeyValueExpr:
		if key, ok := node.Key.(*ast.Ident); ok && key.Name == "Message" {
			parts = append(parts, node.Value)
		}
	case *ast.CallExpr:
		switch function := node.Fun.(type) {
		case *ast.SelectorExpr:
			if function.Sel.Name == "Invalid" || (function.Sel.Name == "Add" || function.Sel.Name == "AddSentence") && len(node.Args) > 1 {
				parts = node.Args
			}
		case *ast.Ident:
			if function.Name == "newError" || function.Name == "invalidText" {
				parts = node.Args
			}
		}
	}
	for _, part := range parts {
		ast.Inspect(part, func(inner ast.Node) bool {
			if literal, ok := inner.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, " ") {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	return texts
}
