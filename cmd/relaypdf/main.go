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
	root, err := newRootCommand(operation.Rows)
	if err != nil {
		fmt.Fprintln(os.Stderr, "relaypdf:", err)
		os.Exit(exitFailed)
	}
	os.Exit(execute(ctx, root))
}
