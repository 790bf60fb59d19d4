package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// newAccountsCommand administers the accounts in the data folder.
func newAccountsCommand() *cobra.Command {
	return console.NewGroup("accounts", "Create, list, credit, suspend and resume accounts; export ledgers",
		newAccountsCreate(), newAccountsList(), newAccountsCredit(), newAccountsSuspend(), newAccountsResume(),
		newAccountsLedger())
}

func newAccountsCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create EMAIL",
		Short: "Create an account with an owner and trial credit",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			email, err := parseEmail(args[0])
			if err != nil {
				return err
			}

			return withNewStore(cmd, func(ctx context.Context, s *store.Store, config app.Config) error {
				account, err := s.CreateAccount(ctx, email, config.Trial)
				if errors.Is(err, store.ErrExists) {
					return console.Usagef("%s has an account already", email)
				}
				if err != nil {
					return err
				}

				if _, err := ensureOwner(ctx, s, account); err != nil {
					return err
				}

				fmt.Fprintf(cmd.ErrOrStderr(), "created with %v; next: relaypdf keys create --account %s\n",
					account.Balance, account.Email)
				return console.PrintLine(cmd, account.ID)
			})
		},
	}

	addSettings(cmd.Flags(), append(dataSettings, "trial")...)
	return cmd
}

// parseEmail reads the email address of an argument.
func parseEmail(text string) (string, error) {
	email, err := app.ParseEmail(text)
	if err != nil {
		return "", console.Usagef("%q %w", text, err)
	}
	return email, nil
}

// accountByEmail finds the account that a command is about.
func accountByEmail(ctx context.Context, s *store.Store, email string) (store.Account, error) {
	account, err := s.AccountByEmail(ctx, email)
	if errors.Is(err, store.ErrNotFound) {
		return account, console.Usagef("no account has the email address %s; relaypdf accounts list shows those that exist",
			email)
	}
	return account, err
}

// onAccount is a command that changes the account named by its first argument and then prints the result.
func onAccount(
	cmd *cobra.Command, change func(context.Context, *store.Store, store.Account, []string) error,
	say func(store.Account) string,
) *cobra.Command {
	return onStore(cmd, func(ctx context.Context, s *store.Store, _ app.Config, args []string) error {
		account, err := accountByEmail(ctx, s, args[0])
		if err != nil {
			return err
		}

		if err := change(ctx, s, account, args[1:]); err != nil {
			return err
		}

		if account, err = s.Account(ctx, account.ID); err != nil {
			return err
		}
		return console.PrintLine(cmd, say(account))
	})
}

func newAccountsCredit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credit EMAIL DOLLARS",
		Short: "Credit or debit a wallet, and print the new balance",
		Long: "Post an amount to a wallet, and print the new balance. An adjustment below zero debits the wallet. " +
			"Write -- before it.",
		Example: "  relaypdf accounts credit ada@example.com 25\n" +
			"  relaypdf accounts credit ada@example.com --kind adjustment -- -0.50",
		Args: cobra.ExactArgs(2),
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return console.Usagef("%w; see %s --help. Write -- before an amount below zero", err, cmd.CommandPath())
	})

	kind := cmd.Flags().String("kind", store.KindPayment,
		"kind of ledger entry. payment, trial, grant and promotion credit the wallet; refund, chargeback and ai "+
			"debit it; adjustment does either")
	reference := cmd.Flags().String("reference", "",
		"external reference, such as an invoice number. Each reference is posted once")
	reason := cmd.Flags().String("reason", "credited by the operator", "note in the ledger")

	return onAccount(cmd, func(ctx context.Context, s *store.Store, account store.Account, args []string) error {
		digits, debit := strings.CutPrefix(args[0], "-")
		amount, err := credit.ParseDollars(digits)
		switch {
		case err != nil, amount == 0:
			return console.Usagef("%q is not an amount in dollars above 0; write it like 25 or 0.50", args[0])
		case debit && *kind != store.KindAdjustment:
			return console.Usagef("%q is below 0; only --kind adjustment accepts that", args[0])
		case debit:
			amount = -amount
		}

		posting := store.NewPosting{
			AccountID: account.ID, Kind: *kind, Amount: amount, Reference: *reference, Reason: *reason,
		}
		if !slices.Contains(store.PostingKinds(), *kind) {
			return console.Usagef("--kind: %q is none of %s", *kind, strings.Join(store.PostingKinds(), ", "))
		}
		if posting.Reference == "" {
			posting.Reference = s.NewID("ref")
		}

		posted, err := s.Post(ctx, posting)
		if errors.Is(err, store.ErrExists) {
			return console.Usagef("--reference: %s was posted with another amount", *reference)
		}
		if err == nil && !posted {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s was posted before; nothing has changed\n", *reference)
		}
		return err
	}, func(account store.Account) string { return account.Balance.String() })
}

func newAccountsSuspend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suspend EMAIL",
		Short: "Suspend an account: reject its keys and hide its files",
		Args:  cobra.ExactArgs(1),
	}
	reason := cmd.Flags().String("reason", "", "reason, for the operator's records")
	return onAccount(cmd, func(ctx context.Context, s *store.Store, account store.Account, _ []string) error {
		return s.Suspend(ctx, account.ID, *reason)
	}, func(account store.Account) string { return account.Email + " is suspended" })
}

func newAccountsResume() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume EMAIL",
		Short: "End the suspension of an account",
		Args:  cobra.ExactArgs(1),
	}
	return onAccount(cmd, func(ctx context.Context, s *store.Store, account store.Account, _ []string) error {
		return s.Resume(ctx, account.ID)
	}, func(account store.Account) string { return account.Email + " is active" })
}

// AccountLine is an account in the output of `accounts list --json`.
type AccountLine struct {
	ID                  string        `json:"id"`
	Email               string        `json:"email"`
	Plan                string        `json:"plan"`
	BalanceMicrodollars credit.Amount `json:"balanceMicrodollars"`
	HeldMicrodollars    credit.Amount `json:"heldMicrodollars"`
	Suspended           bool          `json:"suspended"`
	SuspendReason       string        `json:"suspendReason"`
	CreatedAt           time.Time     `json:"createdAt"`
}

func newAccountsList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the accounts, the oldest first", Args: cobra.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")

	return onStore(cmd, func(ctx context.Context, s *store.Store, _ app.Config, _ []string) error {
		accounts, err := allAccounts(ctx, s)
		if err != nil {
			return err
		}

		if !*asJSON {
			return console.PrintTable(cmd.OutOrStdout(), "EMAIL\tID\tPLAN\tBALANCE\tHELD\tSTATUS\tCREATED", accounts,
				accountRow)
		}

		lines := []AccountLine{}
		for _, a := range accounts {
			lines = append(lines,
				AccountLine{a.ID, a.Email, a.Plan, a.Balance, a.Held, a.Suspended, a.SuspendReason, a.CreatedAt})
		}
		return console.PrintJSON(cmd.OutOrStdout(), map[string]any{"accounts": lines})
	})
}

// allAccounts reads all accounts, the oldest first.
func allAccounts(ctx context.Context, s *store.Store) (all []store.Account, err error) {
	filter := store.AccountFilter{List: store.List{Limit: store.MaxList}}
	for {
		page, err := s.Accounts(ctx, filter)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if filter.Cursor = page.Next; filter.Cursor == "" {
			slices.Reverse(all)
			return all, nil
		}
	}
}

func accountRow(a store.Account) []any {
	status := "active"
	if a.Suspended {
		status = "suspended"
		if a.SuspendReason != "" {
			status += " (" + a.SuspendReason + ")"
		}
	}
	return []any{a.Email, a.ID, a.Plan, a.Balance, a.Held, status, console.ShortTime(&a.CreatedAt)}
}
