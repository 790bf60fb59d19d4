// Command sdk writes the client libraries' types and methods from the OpenAPI document, which the operation table
// makes. Run it in the root of the repository after a change of the API: make generate.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run -C ../.. ./cmd/sdk

// documentPath is the OpenAPI document that the tests of api hold against the server.
const documentPath = "api/testdata/openapi.golden.json"

// languages are the generators. Each returns the files that it writes, by their paths in the repository.
var languages = []func(Description) (map[string][]byte, error){
	goFiles,
	python,
	typeScript,
}

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}

	for path, text := range files {
		//nolint:gosec // Source files are readable by all.
		if err := os.WriteFile(filepath.Join(root, path), text, 0o644); err != nil {
			return err
		}
	}

	return nil
}

// generate returns the files of all languages by their paths.
func generate(root string) (map[string][]byte, error) {
	doc, err := load(root)
	if err != nil {
		return nil, err
	}

	files := map[string][]byte{}
	for _, language := range languages {
		written, err := language(doc)
		if err != nil {
			return nil, err
		}
		for path, content := range written {
			files[path] = content
		}
	}

	return files, nil
}

func load(root string) (Description, error) {
	text, err := os.ReadFile(filepath.Join(root, documentPath))
	if err != nil {
		return Description{}, err
	}

	return Parse(text)
}
