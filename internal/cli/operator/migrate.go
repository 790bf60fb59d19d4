package operator

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/store"
)

// newMigrateCommand runs the migrations of a start in advance.
func newMigrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database schema before a new release starts",
		Long: "Migrate the database schema. The server does the same at each start; with large tables, migrate " +
			"first to keep the start short. " +
			"Servers of the previous release can keep running. There is no time limit, and several processes can migrate at once.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withNewStore(cmd, func(_ context.Context, s *store.Store, _ app.Config) error {
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "the schema of the %s database is up to date\n", s.Dialect())
				return err
			})
		},
	}

	addSettings(cmd.Flags(), dataSettings...)
	return cmd
}
