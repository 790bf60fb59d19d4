package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"relaypdf/store"
)

// newMigrateCommand does ahead of a start what a start does too.
func newMigrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to date, before the processes of a new release start",
		Long: "Bring the database's schema up to date. Every start does so too; where tables are large, doing it before keeps the start short. Processes of the release before " +
			"may go on meanwhile. It takes the time it takes, and any number of processes may try at once.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withNewStore(cmd, func(_ context.Context, s *store.Store, _ Config) error {
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "the schema of the %s database is up to date\n", s.Dialect())
				return err
			})
		},
	}
	addSettings(cmd.Flags(), dataSettings...)
	return cmd
}
