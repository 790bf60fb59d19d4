package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/cli/console"
)

// serverCommands are the names of the commands for the machine of a server.
var serverCommands = []string{
	"serve", "accounts", "people", "keys", "secret", "config", "routes", "doctor", "migrate", "backup", "restore",
}

// absentCommands stand in for the commands of a server on systems that it does not run on. Only serve is listed.
func absentCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, name := range serverCommands {
		all = append(all, &cobra.Command{
			Use: name, Short: "Show how to run the server in a container", Hidden: name != "serve",
			DisableFlagParsing: true,
			RunE: func(_ *cobra.Command, args []string) error {
				if name == "serve" {
					return console.Usagef("the server runs on Linux; to start it in a container, run docker run " +
						"--name relaypdf -p 127.0.0.1:8787:8787 -v relaypdf:/var/lib/relaypdf relaypdf:full")
				}
				return console.Usagef("%s runs on the machine of the server, on Linux; in its container, run "+
					"docker exec relaypdf relaypdf %s", name, strings.Join(append([]string{name}, args...), " "))
			},
		})
	}
	return all
}
