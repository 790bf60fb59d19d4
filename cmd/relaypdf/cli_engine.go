package main

import (
	"os"

	"github.com/spf13/cobra"

	"relaypdf/render"
)

// newEngineCommand is the child process that the server parses untrusted
// input in. It is not for people.
func newEngineCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "engine",
		Short:  "Serve jobs of a relaypdf server over standard input and output",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return render.ServeEngine(os.Stdin, os.Stdout) },
	}
}
