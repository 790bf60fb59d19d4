package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/render/plan"
	"github.com/relaypdf/relaypdf/store"
)

// newServeCommand runs the service.
func newServeCommand() *cobra.Command {
	var dev bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := loadSettings(cmd)
			if err != nil {
				return err
			}

			if err := actAsOwner(config.DataDir); err != nil {
				return err
			}
			return serve(cmd.Context(), config, dev, cmd.ErrOrStderr(), cmd.OutOrStdout())
		},
	}

	app.AddFlags(cmd.Flags(), app.GroupServer)
	cmd.Flags().BoolVar(&dev, "dev", false, "create an account and a test key, and print a sample request")
	return cmd
}

// warnOfLimits logs the limits of the machine that are too low. Later, a thread that cannot start fails a document, or
// the start.
func warnOfLimits(config app.Config, log *slog.Logger) {
	p, _ := config.MemoryPlan()
	for _, short := range p.Shortages(plan.FindLimits()) {
		log.Warn("limit is too low", "limit", short.Name, "problem", short.Message, "remedy", short.Remedy)
	}
}

func serve(ctx context.Context, config app.Config, dev bool, logs, out io.Writer) (err error) {
	log := app.NewLogger(config, logs)
	for _, warning := range config.Warnings {
		log.Warn("setting", "warning", warning)
	}
	warnOfLimits(config, log)

	config.Dev = dev && middleware.IsLoopback(config.BaseURL)
	a, err := app.New(ctx, config, log, app.Hooks{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()

	log.Info("ready", "address", a.URL, "baseURL", a.BaseURL(), "metrics", a.PrivateURL, "version", version.Version)
	if dev {
		if err := welcome(ctx, a, out); err != nil {
			return err
		}
	}
	return a.Run(ctx)
}

// devEmail is the account of a developer's machine.
const devEmail = "dev@localhost"

// welcome makes sure of a development account with a key, and prints how to
// make the first document.
func welcome(ctx context.Context, a *app.App, out io.Writer) error {
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

  dashboard %[1]s/dashboard
  log in   %[5]s (once, within 15 minutes)
  account   %[2]s, %[3]v in its wallet
  key       %[4]s
  describe  %[1]s/openapi.json

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
