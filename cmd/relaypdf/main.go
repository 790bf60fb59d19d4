// Command relaypdf is the whole document service: the server, its operator's
// tools and a client for its API.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// version is set at build time when git is there.
var version = "development"

func main() {
	root := &cobra.Command{
		Use:           "relaypdf",
		Short:         "Turn HTML, web pages and Markdown into PDF and images",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newServeCommand(), newConfigCommand(), newEngineCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
