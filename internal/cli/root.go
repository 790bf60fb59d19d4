package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// exitInterrupted is the exit code that shells expect after SIGINT.
const exitInterrupted = 130

// exitClass is one exit code and its causes.
type exitClass struct {
	code    int
	meaning string
	codes   []wire.Code
}

const (
	exitFailed   = 1
	exitUsage    = 2
	exitAuth     = 3
	exitMoney    = 4
	exitLimit    = 5
	exitRender   = 6
	exitAway     = 7
	exitInput    = 8
	exitNetwork  = 9
	exitNotFound = 10
	exitChanged  = 11
)

// exitClasses is the whole meaning of the exit codes; the help text is made of it.
var exitClasses = []exitClass{
	{0, "done", nil},
	{exitFailed, "failed: an internal error, a failed check, a timeout or a cancelled job", []wire.Code{wire.InternalError, wire.Canceled}},
	{exitUsage, "usage: a flag, a setting or a local file is invalid; nothing was sent", nil},
	{exitAuth, "auth: the key is missing, invalid or not allowed to do this", []wire.Code{wire.Unauthorized, wire.AccountSuspended}},
	{exitMoney, "money: the balance or a spending limit does not cover the call", []wire.Code{wire.PaymentRequired}},
	{exitLimit, "limit: too many requests; retry later", []wire.Code{wire.RateLimited}},
	{exitRender, "processing: the document could not be rendered, processed or delivered", []wire.Code{wire.RenderFailed, wire.ProcessingFailed, wire.DeliveryFailed}},
	{exitAway, "unavailable: a part of the service is unavailable; retry later", []wire.Code{
		wire.ConvertUnavailable, wire.AIUnavailable, wire.StorageUnavailable,
	}},
	{exitInput, "input: the server rejected the request", []wire.Code{wire.InvalidRequest, wire.URLNotAllowed, wire.PayloadTooLarge}},
	{exitNetwork, "network: the server did not respond, or the connection was lost", nil},
	{exitNotFound, "not found: no such file, job, template, endpoint or connection", []wire.Code{wire.NotFound, wire.MethodNotAllowed}},
	{exitChanged, "conflict: someone else changed it in the meantime", []wire.Code{wire.PreconditionFailed}},
	{exitInterrupted, "interrupted", nil},
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// networkError is a response that did not come.
type networkError struct{ error }

func (e networkError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitCode returns the exit code for the error of a command.
func exitCode(ctx context.Context, err error) int {
	var refused *wire.Error
	var usage usageError
	var network networkError
	var input schema.FieldErrors

	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &refused):
		for _, class := range exitClasses {
			if slices.Contains(class.codes, refused.Code) {
				return class.code
			}
		}
	case errors.As(err, &usage), errors.As(err, &input),
		errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrExists):
		return exitUsage
	case errors.As(err, &network):
		return exitNetwork
	}

	return exitFailed
}

// newRootCommand returns the program with all its commands; rows are the
// operations it is a client for.
func newRootCommand(rows []schema.Definition[*operation.Deps]) (*cobra.Command, error) {
	table, err := schema.NewTable(rows)
	if err != nil {
		return nil, err
	}

	root := &cobra.Command{
		Use:           "relaypdf",
		Short:         "Turn HTML, web pages and Markdown into PDF and images",
		Long:          "relaypdf is a document server, its administration tools and a client for its API.",
		Version:       app.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}

	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: operatorGroup, Title: "Server commands:"},
		&cobra.Group{ID: clientGroup, Title: "Document and API commands:"})

	for _, cmd := range []*cobra.Command{
		newServeCommand(), newAccountsCommand(), newPeopleCommand(), newKeysCommand(table), newSecretCommand(),
		newConfigCommand(), newRoutesCommand(), newDoctorCommand(), newMigrateCommand(), newBackupCommand(),
		newRestoreCommand(), newEngineCommand(),
	} {
		cmd.GroupID = operatorGroup
		root.AddCommand(cmd)
	}
	for _, cmd := range []*cobra.Command{
		newLoginCommand(), newLogoutCommand(), newWhoamiCommand(), newProfilesCommand(), newSetupCommand(),
		newAccountCommand(), newUsageCommand(), newPricesCommand(), newFilesCommand(), newJobsCommand(),
		newTemplatesCommand(), newWebhooksCommand(), newConnectionsCommand(), newSigningCommand(), newMCPCommand(),
	} {
		cmd.GroupID = clientGroup
		root.AddCommand(cmd)
	}

	root.AddCommand(newManCommand())
	if err := addOperations(root, table); err != nil {
		return nil, err
	}
	if err := addPipeline(root, table); err != nil {
		return nil, err
	}

	addHelp(root)
	return root, nil
}

const (
	operatorGroup = "operator"
	clientGroup   = "client"
)

func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, class := range exitClasses {
		fmt.Fprintf(&b, "  %-3d  %s\n", class.code, class.meaning)
	}
	return b.String()
}

// execute runs the command line given to root, prints the error and returns the exit code. An error before a
// command's own code runs is a usage error, whatever cobra calls it.
func execute(ctx context.Context, root *cobra.Command) int {
	began := false
	observeRuns(root, &began)

	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !began {
		if text := err.Error(); strings.HasPrefix(text, "accepts ") || strings.HasPrefix(text, "requires ") {
			err = fmt.Errorf("%w; usage: %s", err, cmd.UseLine())
		}
		err = usageError{err}
	}

	if err != nil {
		explain(root.ErrOrStderr(), err)
	}
	return exitCode(ctx, err)
}

// observeRuns notes in began that one of the commands runs.
func observeRuns(cmd *cobra.Command, began *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*began = true
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		observeRuns(sub, began)
	}
}

// explain writes an error for users: all errors that the service found, how long to wait, and the request ID to
// quote to the operator.
func explain(w io.Writer, err error) {
	var refused *wire.Error
	if !errors.As(err, &refused) {
		fmt.Fprintln(w, "relaypdf:", err)
		return
	}

	if len(refused.Details) <= 1 {
		fmt.Fprintln(w, "relaypdf:", refused.Error())
	} else {
		fmt.Fprintln(w, "relaypdf: the server rejected the request:")
		for _, detail := range refused.Details {
			fmt.Fprintln(w, "  "+strings.TrimSpace(detail.Field+" "+detail.Message))
		}
	}

	if refused.RetryAfter > 0 {
		fmt.Fprintf(w, "  retry in %d seconds\n", refused.RetryAfter)
	}
	if refused.RequestID != "" {
		fmt.Fprintln(w, "  request ID:", refused.RequestID)
	}
}

// newGroup returns a command that only holds others.
func newGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use: name, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}

			text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				text += "; did you mean " + near[0] + "?"
			}
			return usagef("%s", text)
		},
	}

	group.SuggestionsMinimumDistance = 2
	// Flags of a mistyped command are ignored, because they are not the error.
	group.FParseErrWhitelist.UnknownFlags = true
	group.AddCommand(commands...)
	return group
}

// addSettings defines the flags of single settings, for commands that have no
// use for most of a group.
func addSettings(flags *pflag.FlagSet, names ...string) {
	app.AddFlags(flags)
	for _, name := range names {
		flags.String(name, "", app.LookupSetting(name).Usage())
	}
}
