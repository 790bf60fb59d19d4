package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/store"
)

// devEmail is the account of a developer's machine.
const devEmail = "dev@localhost"

// welcomeDeveloper makes sure of a development account with a test key, and prints how to make the first document.
func welcomeDeveloper(ctx context.Context, a *app.App, out io.Writer) error {
	if !middleware.IsLoopback(a.BaseURL()) {
		return errors.New("--dev requires a loopback URL in RELAYPDF_BASE_URL")
	}

	account, err := a.Store.AccountByEmail(ctx, devEmail)
	if errors.Is(err, store.ErrNotFound) {
		account, err = a.Store.CreateAccount(ctx, devEmail, a.Config.Trial)
	}
	if err != nil {
		return err
	}

	secret, err := devKey(ctx, a, account)
	if err != nil {
		return err
	}
	return printWelcome(ctx, a, out, account, secret)
}

// welcomeFirst makes the first account of a server that has none, with an operator and a key, and prints how to log in
// and make the first document. Of several servers that start with one database, one prints it.
func welcomeFirst(ctx context.Context, a *app.App, out io.Writer) error {
	email := a.Config.AdminEmail
	if email == "" || !slices.Contains(a.Config.Roles, app.RoleWeb) {
		return nil
	}
	existing, err := a.Store.Accounts(ctx, store.AccountFilter{List: store.List{Limit: 1}})
	if err != nil || len(existing.Items) > 0 {
		return err
	}

	account, err := a.Store.CreateAccount(ctx, email, a.Config.Trial)
	if errors.Is(err, store.ErrExists) {
		return nil // another server was first
	}
	if err != nil {
		return err
	}

	_, secret, err := a.Store.CreateKey(ctx, store.NewKey{AccountID: account.ID, Name: "first", Signs: true})
	if err != nil {
		return err
	}
	return printWelcome(ctx, a, out, account, secret)
}

// printWelcome makes the account's owner an operator, and prints a login link and the first request.
func printWelcome(ctx context.Context, a *app.App, out io.Writer, account store.Account, secret string) error {
	owner, err := ensureOwner(ctx, a.Store, account)
	if err == nil && !owner.Operator {
		err = a.Store.SetOperator(ctx, owner.ID, true)
	}
	if err != nil {
		return err
	}

	link, err := signInLink(ctx, a.Store, a.BaseURL(), owner)
	if err != nil {
		return err
	}

	_, err = fmt.Fprintf(out, `
relaypdf is running at %[1]s

  dashboard  %[1]s/dashboard
  log in     %[5]s
             once, within 15 minutes; for another link: relaypdf people link %[2]s
  account    %[2]s, %[3]v in its wallet
  key        %[4]s
  reference  %[1]s/docs/api

Your first document:

curl %[1]s/v1/pdf -H "Authorization: Bearer %[4]s" -H "Content-Type: application/json" -d '{"markdown":"# Hello\n\nMade by **relaypdf**."}' -o hello.pdf

`, a.BaseURL(), account.Email, account.Balance, secret, link)
	return err
}

// devKey returns the secret of the development key, which is stored in the data folder so that a pasted request
// works again after a restart.
func devKey(ctx context.Context, a *app.App, account store.Account) (string, error) {
	path := filepath.Join(a.Config.DataDir, "dev.key")
	stored, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}

	secret := strings.TrimSpace(string(stored))
	if key, _, err := a.Store.KeyBySecret(ctx, secret); err == nil && key.AccountID == account.ID {
		return secret, nil
	}

	_, secret, err = a.Store.CreateKey(ctx,
		store.NewKey{AccountID: account.ID, Name: "development", Test: true, Signs: true})
	if err != nil {
		return "", err
	}
	return secret, os.WriteFile(path, []byte(secret+"\n"), 0o600)
}
