package operator

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/render"
)

// NewEngineCommand is the child process that the server parses untrusted input in. It is not for users.
func NewEngineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "engine",
		Short:  "Serve jobs of a relaypdf server over standard input and output",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return render.ServeEngine(os.Stdin, os.Stdout) },
	}

	cmd.AddCommand(&cobra.Command{
		Use:                "browser",
		Short:              "Start a browser inside a sandbox",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return render.ExecBrowser(args) },
	})
	return cmd
}
