package main

import (
	"context"

	"github.com/spf13/cobra"

	"relaypdf/client"
)

// maxPage is how many entries the service answers with at once.
const maxPage = 100

// newListCommand shows the newest entries of one of the account's lists.
func newListCommand[Item any](short, header string, page func(context.Context, *client.Client, client.Page) ([]Item, *string, error), cells func(Item) []any, member string) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: short, Args: cobra.NoArgs}
	limit := cmd.Flags().IntP("limit", "n", 20, "how many to show at most, the newest first")
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 1 {
			return usagef("--limit: %d is not a number above 0", *limit)
		}
		all, err := askService(cmd, func(ctx context.Context, c *client.Client) ([]Item, error) {
			return gather(*limit, func(p client.Page) ([]Item, *string, error) { return page(ctx, c, p) })
		})
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]any{member: all})
		}
		return printTable(cmd.OutOrStdout(), header, all, cells)
	}
	AddFlags(cmd.Flags(), groupClient)
	return cmd
}

// gather reads pages until there are enough entries, or none left.
func gather[Item any](limit int, page func(client.Page) ([]Item, *string, error)) ([]Item, error) {
	all, next := []Item{}, client.Page{}
	for {
		next.Limit = min(limit-len(all), maxPage)
		items, cursor, err := page(next)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if cursor == nil || len(items) == 0 || len(all) >= limit {
			return all, nil
		}
		next.Cursor = *cursor
	}
}

func newJobsList() *cobra.Command {
	return newListCommand("List the jobs of the last 30 days", "ID\tOPERATION\tSTATUS\tCREATED\tENDED\tERROR",
		func(ctx context.Context, c *client.Client, p client.Page) ([]client.JobEntry, *string, error) {
			list, err := c.Jobs(ctx, p)
			return list.Jobs, list.NextCursor, err
		}, func(job client.JobEntry) []any {
			failed := "-"
			if job.Error != nil {
				failed = job.Error.Code
			}
			return []any{job.ID, job.Operation, job.Status, shortTime(&job.CreatedAt), shortTime(job.EndedAt), failed}
		}, "jobs")
}

func newFilesList() *cobra.Command {
	return newListCommand("List uploads and results that can still be read", "ID\tKIND\tNAME\tSIZE\tCREATED\tEXPIRES",
		func(ctx context.Context, c *client.Client, p client.Page) ([]client.FileEntry, *string, error) {
			list, err := c.Files(ctx, p)
			return list.Files, list.NextCursor, err
		}, func(file client.FileEntry) []any {
			return []any{file.ID, file.Kind, file.Filename, sizeText(file.SizeBytes), shortTime(&file.CreatedAt), shortTime(&file.ExpiresAt)}
		}, "files")
}
