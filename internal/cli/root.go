package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/service/schema"
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

// networkError is a response that did not come.
type networkError struct{ error }

func (e networkError) Unwrap() error { return e.error }

// exitCode returns the exit code for the error of a command.
func exitCode(ctx context.Context, err error) int {
	var refused *wire.Error
	var usage console.UsageError
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
	case errors.As(err, &usage), errors.As(err, &input):
		return exitUsage
	case errors.As(err, &network):
		return exitNetwork
	}

	return exitFailed
}

// program is the parts of the command line that depend on the system.
type program struct {
	// catalog returns the API that the client commands are for.
	catalog func() (catalog, error)
	// server are the commands for the machine of a server, and files those of them that are among the commands for
	// files.
	server, files []*cobra.Command
	// data are the settings of commands that open the data of a server.
	data []setting.Setting
}

// root returns the command line with all its commands.
func (p program) root() (*cobra.Command, error) {
	api, err := p.catalog()
	if err != nil {
		return nil, err
	}

	root := &cobra.Command{
		Use:           "relaypdf",
		Short:         "Turn HTML, web pages and Markdown into PDF and images",
		Long:          "relaypdf is a document server, its administration tools and a client for its API.",
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}

	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return console.Usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: operatorGroup, Title: "Server commands:"},
		&cobra.Group{ID: clientGroup, Title: "Document and API commands:"})

	for _, cmd := range p.server {
		cmd.GroupID = operatorGroup
		root.AddCommand(cmd)
	}

	files := newFilesCommand()
	files.AddCommand(p.files...)
	for _, cmd := range []*cobra.Command{
		newLoginCommand(), newLogoutCommand(), newWhoamiCommand(), newProfilesCommand(), newSetupCommand(),
		newAccountCommand(), newUsageCommand(), newPricesCommand(), files, newJobsCommand(), newTemplatesCommand(),
		newWebhooksCommand(api.Events), newConnectionsCommand(), newSigningCommand(), newMCPCommand(api.Tools),
	} {
		cmd.GroupID = clientGroup
		root.AddCommand(cmd)
	}

	root.AddCommand(newManCommand())
	if err := addOperations(root, api.Operations); err != nil {
		return nil, err
	}
	if err := addPipeline(root, api.Operations); err != nil {
		return nil, err
	}

	addHelp(root, p.data)
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
		err = console.UsageError{Err: err}
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
