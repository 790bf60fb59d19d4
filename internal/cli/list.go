package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/store/credit"
)

// maxPage is the maximum number of entries in one response of the service.
const maxPage = 100

// newListCommand shows the newest entries of one of the account's lists.
func newListCommand[Item any](
	short, header string,
	page func(ctx context.Context, c *client.Client, limit int, cursor string) ([]Item, *string, error),
	cells func(Item) []any, member string,
) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: short, Args: cobra.NoArgs}
	limit := cmd.Flags().IntP("limit", "n", 20, "maximum number of items, newest first")
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 1 {
			return console.Usagef("--limit: %d is not a number above 0", *limit)
		}
		all, err := askService(cmd, func(ctx context.Context, c *client.Client) ([]Item, error) {
			return gather(*limit, func(limit int, cursor string) ([]Item, *string, error) {
				return page(ctx, c, limit, cursor)
			})
		})
		if err != nil {
			return err
		}

		if *asJSON {
			return console.PrintJSON(cmd.OutOrStdout(), map[string]any{member: all})
		}
		return console.PrintTable(cmd.OutOrStdout(), header, all, cells)
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// gather reads pages until there are enough entries, or none left.
func gather[Item any](limit int, page func(limit int, cursor string) ([]Item, *string, error)) ([]Item, error) {
	all := []Item{}
	next := ""
	for {
		items, cursor, err := page(min(limit-len(all), maxPage), next)
		if err != nil {
			return nil, err
		}

		all = append(all, items...)
		if cursor == nil || len(items) == 0 || len(all) >= limit {
			return all, nil
		}
		next = *cursor
	}
}

func newJobsList() *cobra.Command {
	return newListCommand("List the jobs of the last 30 days", "ID\tOPERATION\tSTATUS\tCREATED\tENDED\tERROR",
		func(ctx context.Context, c *client.Client, limit int, cursor string) ([]client.JobEntry, *string, error) {
			list, err := c.Jobs().List(ctx, client.JobsListQuery{Limit: limit, Cursor: cursor})
			return list.Jobs, list.NextCursor, err
		}, func(job client.JobEntry) []any {
			failed := "-"
			if job.Error != nil {
				failed = job.Error.Code
			}
			return []any{job.ID, job.Operation, job.Status, console.ShortTime(&job.CreatedAt), console.ShortTime(job.EndedAt), failed}
		}, "jobs")
}

func newFilesList() *cobra.Command {
	return newListCommand("List uploads and results that can still be read", "ID\tKIND\tNAME\tSIZE\tCREATED\tEXPIRES",
		func(ctx context.Context, c *client.Client, limit int, cursor string) ([]client.FileEntry, *string, error) {
			list, err := c.Files().List(ctx, client.FilesListQuery{Limit: limit, Cursor: cursor})
			return list.Files, list.NextCursor, err
		}, func(file client.FileEntry) []any {
			return []any{
				file.ID, file.Kind, file.Filename, setting.SizeText(file.SizeBytes), console.ShortTime(&file.CreatedAt),
				console.ShortTime(&file.ExpiresAt),
			}
		}, "files")
}

// newAccountCommand shows whose key it is.
func newAccountCommand() *cobra.Command {
	return newShowCommand("account", "Show the balance and the rate limits",
		func(c *client.Client, ctx context.Context) (client.AccountSnapshot, error) {
			return c.Account().Get(ctx)
		},
		func(cmd *cobra.Command, a client.AccountSnapshot) error {
			reload := "off"
			if a.Wallet.AutoReloadEnabled {
				reload = "on"
			}
			return console.PrintTable(cmd.OutOrStdout(), "PLAN\tRATE LIMITS\tBALANCE\tAUTO-RELOAD",
				[]client.AccountSnapshot{a}, func(a client.AccountSnapshot) []any {
					return []any{
						a.Plan, a.RateTier, credit.Amount(a.Wallet.BalanceMillicents) * credit.Millicent, reload,
					}
				})
		})
}

// newShowCommand prints one response of the service. It has no arguments.
func newShowCommand[Answer any](
	name, short string, ask func(*client.Client, context.Context) (Answer, error),
	show func(*cobra.Command, Answer) error,
) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		answer, err := askService(cmd,
			func(ctx context.Context, c *client.Client) (Answer, error) { return ask(c, ctx) })
		if err != nil {
			return err
		}
		if *asJSON {
			return console.PrintJSON(cmd.OutOrStdout(), answer)
		}
		return show(cmd, answer)
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// newPricesCommand prints the prices of operations. It needs no key.
func newPricesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "prices", Short: "List the price of each operation", Args: cobra.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list, err := askBy(cmd, reach,
			func(ctx context.Context, c *client.Client) (client.PriceList, error) {
				return c.Billing().PricesGet(ctx)
			})
		if err != nil {
			return err
		}
		if *asJSON {
			return console.PrintJSON(cmd.OutOrStdout(), list)
		}
		return console.PrintTable(cmd.OutOrStdout(), "COMMAND\tPRICE\tWHAT IT DOES", list.Prices, func(p client.Price) []any {
			command := strings.ReplaceAll(p.Operation, ".", " ")
			return []any{command, credit.Amount(p.Microdollars), strings.TrimSpace(p.Summary + ". " + p.Note)}
		})
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// newUsageCommand sums up calls and spending.
func newUsageCommand() *cobra.Command {
	var from, to string
	var byDay bool

	cmd := newShowCommand("usage", "Show calls and spending by operation or day", func(
		c *client.Client, ctx context.Context,
	) (client.Usage, error) {
		begin, err := parseMoment(from, time.Now())
		if err != nil {
			return client.Usage{}, console.Usagef("--from: %w", err)
		}

		end, err := parseMoment(to, time.Now())
		if err != nil {
			return client.Usage{}, console.Usagef("--to: %w", err)
		}
		return c.Billing().UsageGet(ctx, client.BillingUsageGetQuery{From: queryTime(begin), To: queryTime(end)})
	}, func(cmd *cobra.Command, u client.Usage) error {
		out := cmd.OutOrStdout()
		row := func(name string, count int64, microdollars int64) []any {
			return []any{name, count, credit.Amount(microdollars)}
		}

		var err error
		if byDay {
			total := client.DayUsage{Date: "total", Count: calls(u), Microdollars: u.TotalMicrodollars}
			err = console.PrintTable(out, "DAY\tCALLS\tCHARGED", append(u.Days, total),
				func(d client.DayUsage) []any { return row(d.Date, d.Count, d.Microdollars) })
		} else {
			total := client.OperationUsage{Operation: "total", Count: calls(u), Microdollars: u.TotalMicrodollars}
			err = console.PrintTable(out, "OPERATION\tCALLS\tCHARGED", append(u.Operations, total),
				func(o client.OperationUsage) []any { return row(o.Operation, o.Count, o.Microdollars) })
		}
		if err != nil {
			return err
		}

		line := "from " + console.ShortTime(&u.From) + " to " + console.ShortTime(&u.To) + ", in UTC; balance " +
			credit.Amount(u.BalanceMicrodollars).String()
		if u.HeldMicrodollars > 0 {
			line += ", and " + credit.Amount(u.HeldMicrodollars).String() + " held by running calls"
		}
		return console.PrintLine(cmd, line)
	})

	cmd.Flags().StringVar(&from, "from", "",
		"start, such as 2026-01-31, 7d or 12h (default 30 days ago). A day, an RFC 3339 time, or a time before now")
	cmd.Flags().StringVar(&to, "to", "", "end, exclusive (default now)")
	cmd.Flags().BoolVar(&byDay, "days", false, "group by day instead of by operation")
	return cmd
}

func calls(u client.Usage) (n int64) {
	for _, o := range u.Operations {
		n += o.Count
	}
	return n
}

// queryTime is a time in a query string. The zero time is empty, which leaves the choice to the service.
func queryTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// parseMoment reads a day, a time or a duration before now. An empty text is the zero time.
func parseMoment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}

	ago, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		ago, err = time.ParseDuration(days + "h")
		ago *= 24
	}
	if err != nil || ago < 0 {
		return time.Time{}, console.Usagef(
			"%q is not a time; write a day like 2026-01-31, a time like 2026-01-31T12:00:00Z, or an age like 7d or 12h",
			text)
	}

	return now.Add(-ago), nil
}
