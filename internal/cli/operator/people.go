package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/store"
)

// signInLife is the lifetime of a login link.
const signInLife = 15 * time.Minute

// newPeopleCommand administers those who log in to the pages.
func newPeopleCommand() *cobra.Command {
	return console.NewGroup("people", "List users, print login links, and appoint operators",
		newPeopleList(), newPeopleLink(), newPeoplePromote(), newPeopleRemove())
}

// personByEmail finds the user that a command is about.
func personByEmail(ctx context.Context, s *store.Store, email string) (store.User, error) {
	person, err := s.UserByEmail(ctx, email)
	if errors.Is(err, store.ErrNotFound) {
		return person, console.Usagef("no user with the email %s; run relaypdf people list", email)
	}
	return person, err
}

func newPeopleList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List users", Args: cobra.NoArgs}
	return onStore(cmd, func(ctx context.Context, s *store.Store, _ app.Config, _ []string) error {
		people, err := s.Users(ctx)
		if err != nil {
			return err
		}
		return console.PrintTable(cmd.OutOrStdout(), "EMAIL\tNAME\tVERIFIED\tSECOND FACTOR\tOPERATOR\tSINCE", people,
			func(p store.User) []any {
				return []any{
					p.Email, p.Name, p.VerifiedAt != nil, len(p.Factor) > 0, p.Operator,
					p.CreatedAt.Format(time.DateOnly),
				}
			})
	})
}

func newPeopleLink() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "link EMAIL",
		Short: "Print a single-use login link, valid for 15 minutes",
		Args:  cobra.ExactArgs(1),
	}

	return onStore(cmd, func(ctx context.Context, s *store.Store, config app.Config, args []string) error {
		person, err := personByEmail(ctx, s, args[0])
		if err != nil {
			return err
		}

		base, err := serverURL(ctx, cmd, s, config)
		if err != nil {
			return err
		}
		link, err := signInLink(ctx, s, base, person)
		if err != nil {
			return err
		}
		return console.PrintLine(cmd, link)
	}, "base-url", "listen")
}

// serverURL returns the public URL of the server: that of the settings if it is set, then that of the server that
// started last on this data, and at last the default, with a remark.
func serverURL(ctx context.Context, cmd *cobra.Command, s *store.Store, config app.Config) (string, error) {
	if config.Origin(setting.BaseURL.Name) != setting.OriginDefault {
		return config.BaseURL, nil
	}

	url, err := s.BaseURL(ctx)
	if err != nil || url != "" {
		return url, err
	}

	fmt.Fprintf(cmd.ErrOrStderr(), "No server has started on this data. The link uses RELAYPDF_BASE_URL (%s). "+
		"Set it if your server has another URL.\n", config.BaseURL)
	return config.BaseURL, nil
}

// signInLink makes a link that signs a user in once.
func signInLink(ctx context.Context, s *store.Store, baseURL string, person store.User) (string, error) {
	secret, err := s.NewToken(ctx,
		store.Token{Purpose: store.TokenSignIn, PersonID: person.ID, ExpiresAt: s.Now().Add(signInLife)})
	if err != nil {
		return "", err
	}
	err = s.AddAuditEntry(ctx,
		store.AuditEntry{Who: "command line", Action: "link.made", Object: person.Email, Operator: true})
	return baseURL + "/login/link?token=" + secret, err
}

// onPerson makes cmd a command that changes the user named by its argument. The change returns the action for the audit
// log, and the state of the user after it.
func onPerson(
	cmd *cobra.Command,
	change func(ctx context.Context, s *store.Store, personID string) (action, state string, err error),
) *cobra.Command {
	return onStore(cmd, func(ctx context.Context, s *store.Store, _ app.Config, args []string) error {
		person, err := personByEmail(ctx, s, args[0])
		if err != nil {
			return err
		}

		action, state, err := change(ctx, s, person.ID)
		if err != nil {
			return err
		}
		entry := store.AuditEntry{Who: "command line", Action: action, Object: person.Email, Operator: true}
		if err := s.AddAuditEntry(ctx, entry); err != nil {
			return err
		}

		return console.PrintLine(cmd, person.Email+" "+state)
	})
}

func newPeoplePromote() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "promote EMAIL",
		Short: "Make a user an operator of this server",
		Args:  cobra.ExactArgs(1),
	}

	no := cmd.Flags().Bool("no", false, "remove the operator role")
	return onPerson(cmd, func(ctx context.Context, s *store.Store, personID string) (action, state string, err error) {
		action = "operator.named"
		state = "is an operator"
		if *no {
			action = "operator.ended"
			state = "is not an operator any more"
		}
		return action, state, s.SetOperator(ctx, personID, !*no)
	})
}

func newPeopleRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove EMAIL",
		Short: "Delete a user; their accounts and API keys remain",
		Args:  cobra.ExactArgs(1),
	}
	return onPerson(cmd, func(ctx context.Context, s *store.Store, personID string) (action, state string, err error) {
		return "person.removed", "is removed", s.RemoveUser(ctx, personID)
	})
}

// ensureOwner makes sure that an account has an owner who can log in: the user with its email address, for whom
// the operator vouches.
func ensureOwner(ctx context.Context, s *store.Store, account store.Account) (store.User, error) {
	person, err := s.CreateUser(ctx, store.NewUser{Email: account.Email, Verified: true})
	if errors.Is(err, store.ErrExists) {
		person, err = s.UserByEmail(ctx, account.Email)
	}
	if err != nil {
		return person, err
	}
	err = s.AddMember(ctx, account.ID, person.ID, store.RoleOwner)
	if errors.Is(err, store.ErrExists) {
		err = nil
	}
	return person, err
}
