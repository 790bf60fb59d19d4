//go:build linux

package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/internal/cli/operator"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// Main runs the command line of this process and returns its exit code.
func Main() int {
	ctx := notifyContext()
	// Engines are started often, and need none of the operations that the other
	// commands are made of.
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		engine := operator.NewEngineCommand()
		engine.SilenceUsage = true
		engine.SilenceErrors = true
		engine.SetArgs(os.Args[2:])
		return execute(ctx, engine)
	}
	return Run(ctx, operation.Rows, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Run runs one command line, whose client commands are those of the operations in rows, and returns its exit code.
func Run(
	ctx context.Context, rows []schema.Definition[*operation.Deps], args []string, in io.Reader, out, errOut io.Writer,
) int {
	return newProgram(rows).run(ctx, args, in, out, errOut)
}

// newProgram returns the whole program, whose operations are those in rows.
func newProgram(rows []schema.Definition[*operation.Deps]) program {
	table, err := schema.NewTable(rows)
	if err != nil {
		return program{catalog: func() (catalog, error) { return catalog{}, err }}
	}
	return program{
		catalog: func() (catalog, error) {
			return catalog{Operations: table.Specs(), Tools: api.Tools, Events: store.EventTypes()}, nil
		},
		server: operator.Commands(table),
		files:  []*cobra.Command{operator.NewTakedownCommand()},
		data:   operator.DataSettings(),
	}
}
