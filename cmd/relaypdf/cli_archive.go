package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"relaypdf/store"
)

// newArchiveCommand does by hand what the service does by itself where
// RELAYPDF_RETENTION is set.
func newArchiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Write old months of calls, deliveries and the ledger to files, and drop them from PostgreSQL",
		Long: "Write whole months of calls, the ledger's journal, deliveries, their attempts and events to RELAYPDF_BLOBS as CSV, and drop them from PostgreSQL when the files have been read back. " +
			"--retention says how many whole months before this one stay. Where RELAYPDF_RETENTION is set the service does so by itself. A month stays while calls run, jobs or deliveries wait or files are kept, " +
			"and the journal of a month while it is not what its closing says. It can be cut short and run again.",
		Args: cobra.NoArgs,
	}
	dryRun := cmd.Flags().Bool("dry-run", false, "only show what would be written and dropped, and what stays and why")
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withStore(cmd, func(ctx context.Context, s *store.Store, config Config) error {
			if s.Dialect() != store.Postgres {
				return store.ErrOnlyPostgres
			}
			if config.Retention < store.MinKeep {
				return usagef("say how many whole months before this one stay, with --retention or RELAYPDF_RETENTION, such as 12")
			}
			all := []store.Archived{}
			err := s.Archive(ctx, store.ArchiveOrder{Keep: config.Retention, DryRun: *dryRun}, func(a store.Archived) { all = append(all, a) })
			if *asJSON {
				return errors.Join(err, printJSON(cmd.OutOrStdout(), map[string]any{"dryRun": *dryRun, "months": all}))
			}
			return errors.Join(err, printTable(cmd.OutOrStdout(), "MONTH\tTABLE\tROWS\tSIZE\tFILE", all, archivedCells))
		})
	}
	addSettings(cmd.Flags(), append([]string{"retention"}, dataSettings...)...)
	return cmd
}

func archivedCells(a store.Archived) []any {
	file := cmp.Or(a.Key, "-")
	if a.Kept != "" {
		file = fmt.Sprintf("stays: %s", a.Kept)
	}
	return []any{a.Month, a.Table, a.Rows, sizeText(a.Bytes), file}
}
