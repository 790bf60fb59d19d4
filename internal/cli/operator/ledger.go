package operator

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/store"
)

// ledgerHeader names the columns of the ledger's export.
var ledgerHeader = [...]string{
	"time", "kind", "book", "amountMicrodollars", "callId", "operation", "reason",
	"walletBalanceMicrodollars", "postingId", "reference",
}

func newAccountsLedger() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ledger EMAIL", Short: "Export the ledger of an account as CSV", Args: cobra.ExactArgs(1),
		Long: "Export the ledger entries of an account as CSV, oldest first. Amounts are whole microdollars (1 USD " +
			"= 1,000,000). The entries of one event sum to zero. The last column is the balance after each entry.",
	}

	from := cmd.Flags().String("from", "", "first day, or RFC 3339 time, to include")
	to := cmd.Flags().String("to", "", "first day, or RFC 3339 time, to exclude")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query := store.LedgerQuery{}
		for flag, bound := range map[string]struct {
			text string
			at   *time.Time
		}{"--from": {*from, &query.From}, "--to": {*to, &query.To}} {
			var err error
			if *bound.at, err = parseInstant(bound.text); err != nil {
				return console.Usagef("%s: %q is not a time; write it like 2026-01-31 or 2026-01-31T12:00:00Z", flag,
					bound.text)
			}
		}

		return withStore(cmd, func(ctx context.Context, s *store.Store, _ app.Config) error {
			account, err := accountByEmail(ctx, s, args[0])
			if err != nil {
				return err
			}
			query.AccountID = account.ID
			return exportLedger(ctx, cmd.OutOrStdout(), s, query)
		})
	}

	addSettings(cmd.Flags(), dataSettings...)
	return cmd
}

// parseInstant reads a day or a time; nothing is the zero time.
func parseInstant(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	return time.Parse(time.RFC3339Nano, text)
}

// exportLedger writes entries as they are read.
func exportLedger(ctx context.Context, w io.Writer, s *store.Store, query store.LedgerQuery) error {
	out := csv.NewWriter(w)
	if err := out.Write(ledgerHeader[:]); err != nil {
		return err
	}

	err := s.Ledger(ctx, query, func(l store.LedgerEntry) error {
		return out.Write([]string{
			l.At.Format(time.RFC3339Nano), l.Kind, l.Book,
			strconv.FormatInt(int64(l.Amount), 10), l.CallID, l.Operation,
			inert(l.Reason), strconv.FormatInt(int64(l.Balance), 10), l.JournalID, inert(l.Reference),
		})
	})

	out.Flush()
	if err != nil {
		return err
	}
	return out.Error()
}

// inert keeps spreadsheets from taking a text that came from outside for a
// formula. Amounts are numbers, and may begin with a minus.
func inert(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size > 0 && strings.ContainsRune("=+-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20", first) {
		return "'" + text
	}
	return text
}
