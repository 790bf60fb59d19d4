package operator

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/render/plan"
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
	level := new(slog.LevelVar)
	level.Set(config.LogLevel)
	if dev {
		level.Set(max(config.LogLevel, slog.LevelWarn)) // until the welcome is printed
	}
	log := app.NewLogger(level, logs)

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

	greet := welcomeFirst
	if dev {
		greet = welcomeDeveloper
	}
	if err := greet(ctx, a, out); err != nil {
		return err
	}

	level.Set(config.LogLevel)
	log.Info("ready", "address", a.URL, "baseURL", a.BaseURL(), "metrics", a.PrivateURL, "version", version.Version)
	return a.Run(ctx)
}
