package operator

import (
	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/internal/cli/console"
)

// newRoutesCommand lists the HTTP API. It needs no data and no browser.
func newRoutesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "routes",
		Short: "List the HTTP endpoints: method, path, authentication, purpose",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			routes, err := api.Routes()
			if err != nil {
				return err
			}

			return console.PrintTable(cmd.OutOrStdout(), "METHOD\tPATH\tACCESS\tSUMMARY", routes, func(r api.RouteLine) []any {
				return []any{r.Method, r.Path, r.Access, r.Summary}
			})
		},
	}
}
