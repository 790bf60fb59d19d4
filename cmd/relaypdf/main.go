// Command relaypdf is the whole document service: the server, its operator's
// tools and a client for its API.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"relaypdf/api/operation"
)

// version is set at build time when git is there.
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	// Engines are started often, and need none of the operations that the other
	// commands are made of.
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		engine := newEngineCommand()
		engine.SilenceUsage, engine.SilenceErrors = true, true
		engine.SetArgs(os.Args[2:])
		os.Exit(execute(ctx, engine))
	}
	root, err := newRootCommand(operation.Rows)
	if err != nil {
		fmt.Fprintln(os.Stderr, "relaypdf:", err)
		os.Exit(exitFailed)
	}
	os.Exit(execute(ctx, root))
}
