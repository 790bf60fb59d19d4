package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// newKeysCommand administers the API keys in the data folder.
func newKeysCommand(table *schema.Table[*operation.Deps]) *cobra.Command {
	return console.NewGroup("keys", "Create, list and revoke API keys", newKeysCreate(table), newKeysList(), newKeysRevoke())
}

// keyOptions are the flags of `keys create` as they were given.
type keyOptions struct {
	account, name, expires, spendLimit string
	operations                         []string
	test, signs                        bool
}

func newKeysCreate(table *schema.Table[*operation.Deps]) *cobra.Command {
	var options keyOptions
	cmd := &cobra.Command{
		Use:   "create --account EMAIL",
		Short: "Create an API key and print it to standard output",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := options.parse(table, time.Now())
			if err != nil {
				return err
			}

			return withStore(cmd, func(ctx context.Context, s *store.Store, _ app.Config) error {
				account, err := accountByEmail(ctx, s, options.account)
				if err != nil {
					return err
				}

				key.AccountID = account.ID
				made, secret, err := s.CreateKey(ctx, key)
				if err != nil {
					return err
				}

				fmt.Fprintf(cmd.ErrOrStderr(), "created %s for %s; it is not shown again\n", made.ID, account.Email)
				return console.PrintLine(cmd, secret)
			})
		},
	}

	flags := cmd.Flags()
	flags.StringVar(&options.account, "account", "", "email address of the account (required)")
	flags.StringVar(&options.name, "name", "", "name of the key")
	flags.BoolVar(&options.test, "test", false,
		"create a test key (pdf_test_…). Its calls are free, and results have a Test band on each page and image")
	flags.BoolVar(&options.signs, "signs", false, "let the key use the account's signing identities")
	flags.StringVar(&options.expires, "expires", "",
		"expiry, such as 720h, 30d, 2027-01-31 or an RFC 3339 time. A date means 00:00 UTC on that day")
	flags.StringVar(&options.spendLimit, "spend-limit", "", "maximum total spending of the key, in US dollars")
	flags.StringSliceVar(&options.operations, "operations", nil, "allowed operations, separated by commas. Such a "+
		"key cannot change limits or webhooks. Operations: "+strings.Join(operationNames(table), ", "))

	addSettings(flags, append(dataSettings, "base-url", "listen")...)
	return cmd
}

// parse checks the flags and returns the key they describe, without its account.
func (o *keyOptions) parse(table *schema.Table[*operation.Deps], now time.Time) (store.NewKey, error) {
	key := store.NewKey{Name: o.name, Test: o.test, Signs: o.signs, Operations: o.operations}
	if o.account == "" {
		return key, console.Usagef("--account is missing; give the email address of the account")
	}

	for _, name := range o.operations {
		if table.Lookup(name) == nil {
			return key, console.Usagef("--operations: %q is not an operation; the operations are %s", name,
				strings.Join(operationNames(table), ", "))
		}
	}

	if o.spendLimit != "" {
		limit, err := credit.ParseDollars(o.spendLimit)
		if err != nil {
			return key, console.Usagef("--spend-limit: %w", err)
		}
		key.SpendLimit = &limit
	}

	if o.expires != "" {
		expires, err := parseExpiry(o.expires, now)
		if err != nil {
			return key, console.Usagef("--expires: %w", err)
		}
		key.ExpiresAt = &expires
	}
	return key, nil
}

func operationNames(table *schema.Table[*operation.Deps]) []string {
	var names []string
	for _, operation := range table.All() {
		names = append(names, operation.Name)
	}
	return names
}

// parseExpiry reads a time from now (720h, 30d), a day or an RFC 3339 time.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}

	if days, ok := strings.CutSuffix(text, "d"); err != nil && ok {
		if n, countErr := strconv.ParseUint(days, 10, 16); countErr == nil {
			at = now.AddDate(0, 0, int(n))
			err = nil
		}
	}

	if err != nil {
		var d time.Duration
		d, err = time.ParseDuration(text)
		at = now.Add(d)
	}

	switch {
	case err != nil:
		return at, fmt.Errorf("%q is not a time; write it like 720h, 30d, 2027-01-31 or 2027-01-31T12:00:00Z", text)
	case !at.After(now):
		return at, fmt.Errorf("%q is not in the future", text)
	}
	return at, nil
}

// KeyLine is a key in the output of `keys list --json`.
type KeyLine struct {
	ID                     string         `json:"id"`
	Name                   string         `json:"name"`
	Prefix                 string         `json:"prefix"`
	Status                 string         `json:"status"`
	Operations             []string       `json:"operations"`
	Signs                  bool           `json:"signs"`
	SpentMicrodollars      credit.Amount  `json:"spentMicrodollars"`
	SpendLimitMicrodollars *credit.Amount `json:"spendLimitMicrodollars"`
	CreatedAt              time.Time      `json:"createdAt"`
	ExpiresAt              *time.Time     `json:"expiresAt"`
	RevokedAt              *time.Time     `json:"revokedAt"`
	LastUsedAt             *time.Time     `json:"lastUsedAt"`
}

func newKeysList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list --account EMAIL", Short: "List the API keys of an account, oldest first", Args: cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")

	return onKeys(cmd, func(ctx context.Context, s *store.Store, account store.Account, _ []string) error {
		keys, err := s.Keys(ctx, account.ID)
		if err != nil {
			return err
		}

		lines := []KeyLine{}
		for _, k := range keys {
			lines = append(lines, KeyLine{
				ID: k.ID, Name: k.Name, Prefix: k.Prefix,
				Status: keyStatus(k, s.Now()), Operations: append([]string{}, k.Operations...), Signs: k.Signs,
				SpentMicrodollars: k.Spent, SpendLimitMicrodollars: k.SpendLimit,
				CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt,
			})
		}

		if *asJSON {
			return console.PrintJSON(cmd.OutOrStdout(), map[string]any{"keys": lines})
		}
		return console.PrintTable(cmd.OutOrStdout(),
			"ID\tNAME\tKEY\tSTATUS\tSPENT\tLIMIT\tOPERATIONS\tCREATED\tEXPIRES\tLAST USED", lines, KeyLine.cells)
	})
}

func (k KeyLine) cells() []any {
	limit := "-"
	operations := "all"
	name := k.Name

	if k.SpendLimitMicrodollars != nil {
		limit = k.SpendLimitMicrodollars.String()
	}
	if len(k.Operations) > 0 {
		operations = strings.Join(k.Operations, ",")
	}
	if name == "" {
		name = "-"
	}

	return []any{
		k.ID, name, k.Prefix + "…", k.Status, k.SpentMicrodollars, limit, operations,
		console.ShortTime(&k.CreatedAt), console.ShortTime(k.ExpiresAt), console.ShortTime(k.LastUsedAt),
	}
}

func keyStatus(k store.Key, now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !k.ExpiresAt.After(now):
		return "expired"
	}
	return "active"
}

func newKeysRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke --account EMAIL KEYID",
		Short: "Revoke an API key permanently",
		Args:  cobra.ExactArgs(1),
	}

	return onKeys(cmd, func(ctx context.Context, s *store.Store, account store.Account, args []string) error {
		err := s.RevokeKey(ctx, account.ID, args[0])
		if errors.Is(err, store.ErrNotFound) {
			return console.Usagef("%s has no key with the id %s; relaypdf keys list shows the ids, which start with key_",
				account.Email, args[0])
		}
		if err != nil {
			return err
		}

		return console.PrintLine(cmd, args[0]+" is revoked")
	})
}

// onKeys is a command about the keys of the account that --account names.
func onKeys(cmd *cobra.Command, do func(context.Context, *store.Store, store.Account, []string) error) *cobra.Command {
	email := cmd.Flags().String("account", "", "email address of the account (required)")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *email == "" {
			return console.Usagef("--account is missing; give the email address of the account")
		}

		return withStore(cmd, func(ctx context.Context, s *store.Store, _ app.Config) error {
			account, err := accountByEmail(ctx, s, *email)
			if err != nil {
				return err
			}
			return do(ctx, s, account, args)
		})
	}

	addSettings(cmd.Flags(), dataSettings...)
	return cmd
}
