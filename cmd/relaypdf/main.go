// Command relaypdf is the whole document service: the server, its operator's
// tools and a client for its API.
package main

import (
	"os"

	"github.com/relaypdf/relaypdf/internal/cli"
)

func main() { os.Exit(cli.Main()) }
