// Package cli is the command line of relaypdf: the client of the API, and on Linux the commands for the machine of a
// server. It shares with them only what it must, so that it builds without the server on other systems.
package cli

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"
)

// notifyContext returns a context that ends with the first signal to end. A second signal ends the program at once.
func notifyContext() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// run runs one command line and returns its exit code.
func (p program) run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root, err := p.root()
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
