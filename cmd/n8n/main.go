// Command n8n writes the parameters of the n8n node from the OpenAPI document: one resource for each tag, one operation
// for each route.
//
//	go run ./cmd/n8n api/testdata/openapi.golden.json clients/n8n/nodes/RelayPdf/description.ts
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: n8n OPENAPI.json DESCRIPTION.ts")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "n8n:", err)
		os.Exit(1)
	}
}

func generate(source, target string) error {
	text, err := os.ReadFile(source) //nolint:gosec // The developer names the file.
	if err != nil {
		return err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}

	n := newNode(&d)
	if err := n.addOperations(); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return os.WriteFile(target, n.source(), 0o600) //nolint:gosec // The developer names the file.
}
