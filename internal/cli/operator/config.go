package operator

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
)

// newConfigCommand prints the effective settings. It accepts the flags of every group, so that a command line can
// be tried before it is used.
func newConfigCommand() *cobra.Command {
	var asJSON, asMarkdown bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings and their sources",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if asMarkdown {
				return app.WriteSettingsMarkdown(out)
			}

			config, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return config.WriteJSON(out)
			}

			for _, warning := range config.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
			}
			return config.WriteTable(out)
		},
	}

	app.AddFlags(cmd.Flags(), app.GroupServer, app.GroupClient)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print a Markdown table of all settings and defaults")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}
