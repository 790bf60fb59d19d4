// Package cli is the command line of relaypdf: the server's command, the operator's tools and the client of the API.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Main runs the command line of this process and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	// Engines are started often, and need none of the operations that the other
	// commands are made of.
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		engine := newEngineCommand()
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
	root, err := newRootCommand(rows)
	if err != nil {
		fmt.Fprintln(errOut, "relaypdf:", err)
		return exitFailed
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	return execute(ctx, root)
}
