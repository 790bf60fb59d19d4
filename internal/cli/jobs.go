package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// newJobsCommand manages work that continues after its request.
func newJobsCommand() *cobra.Command {
	return console.NewGroup("jobs", "List, show, wait for and cancel jobs (--response async)", newJobsList(), newJobsGet(),
		newJobsWait(), newJobsCancel())
}

func newJobsGet() *cobra.Command {
	return newJobCommand(&cobra.Command{Use: "get ID", Short: "Show the status of a job"}, client.Jobs.Get)
}

func newJobsCancel() *cobra.Command {
	return newJobCommand(&cobra.Command{
		Use: "cancel ID", Short: "Cancel a job",
		Long: "Cancel a job that has not ended. A bulk job keeps the documents that it has made, and is charged " +
			"for them. Any other job costs nothing.",
	}, client.Jobs.Delete)
}

// newJobCommand shows the status of a job after a request for it.
func newJobCommand(
	cmd *cobra.Command, ask func(jobs client.Jobs, ctx context.Context, id string) (wire.JobStatus, error),
) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = completeJobs
	asJSON := cmd.Flags().Bool("json", false, "print the job as a JSON object")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		job, err := askService(cmd, func(ctx context.Context, client *client.Client) (wire.JobStatus, error) {
			return ask(client.Jobs(), ctx, args[0])
		})
		if err != nil {
			return err
		}

		if *asJSON {
			return console.PrintJSON(cmd.OutOrStdout(), job)
		}
		return console.PrintLine(cmd, jobLine(job))
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// jobLine shows a job: its status, and its result or why there is none.
func jobLine(job wire.JobStatus) string {
	cells := []string{job.ID, job.Status}
	if job.BulkStatus != nil {
		cells = append(cells, recordsLine(job.BulkStatus))
	}

	switch {
	case job.Failed() != nil:
		cells = append(cells, job.Failed().Error())
	case job.URL != "":
		cells = append(cells, job.Filename, setting.SizeText(job.SizeBytes), job.URL)
	case job.ExpiresAt != nil:
		cells = append(cells, "its result has expired")
	}

	return strings.Join(cells, "  ")
}

// recordsLine shows how far a bulk job has come.
func recordsLine(bulk *wire.BulkStatus) string {
	text := fmt.Sprintf("%d of %d records, %d failed", bulk.Processed, bulk.Total, bulk.Failed)
	if bulk.ETASeconds != nil {
		text += fmt.Sprintf(", %v left", time.Duration(*bulk.ETASeconds)*time.Second)
	}
	return text
}

const (
	// jobRetries bridges a service that restarts while a job is waited for.
	jobRetries = 5
	// jobTime is how long a job is waited for by default.
	jobTime = time.Hour
)

// jobWait is one command line that waits for a job.
type jobWait struct {
	destination   *destination
	asJSON, quiet bool
	timeout       time.Duration
	progress      atomic.Pointer[string] // of a bulk job
}

func newJobsWait() *cobra.Command {
	w := &jobWait{destination: &destination{}}
	cmd := &cobra.Command{
		Use:               "wait ID",
		Short:             "Wait for a job and download its result",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeJobs,
		Long: "Wait until a job ends and download its result. If the job failed, the command exits with the code " +
			"of the job's error.",
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd, args[0]) },
	}

	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&w.destination.name, "output", "o", "",
		"file or folder for the result; - for standard output. Default: the name of the result, in the current folder")
	flags.BoolVarP(&w.destination.force, "force", "f", false, "overwrite the output file")
	flags.BoolVar(&w.asJSON, "json", false, "print details of the result as a JSON object")
	flags.BoolVarP(&w.quiet, "quiet", "q", false, "hide the progress and the summary")
	flags.DurationVar(&w.timeout, "timeout", jobTime, "maximum time to wait")

	setting.AddClientFlags(flags)
	return cmd
}

func (w *jobWait) run(cmd *cobra.Command, id string) (err error) {
	if w.asJSON && w.destination.name == "-" {
		return console.Usagef("--json and --output - both want standard output; choose one")
	}
	client, err := connect(cmd, 0)
	if err != nil {
		return err
	}
	if err := w.destination.open(cmd.OutOrStdout(), []string{"application/octet-stream"}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.destination.discard()) }()
	return w.finish(cmd, client, id)
}

// finish waits for a job, whose output is open, with its progress.
func (w *jobWait) finish(cmd *cobra.Command, client *client.Client, id string) error {
	client.Retries = max(client.Retries, jobRetries)

	begin := time.Now()
	stop := func() {}
	if !w.quiet {
		w.progress.Store(&id)
		stop = startChangingProgress(cmd.ErrOrStderr(), func() string { return *w.progress.Load() })
		defer stop()
	}

	made, err := w.receive(cmd, client, id)
	stop()
	if err != nil {
		return unreached(client.BaseURL, err)
	}

	if w.asJSON {
		return console.PrintJSON(cmd.OutOrStdout(), made)
	}
	if !w.quiet && console.IsTerminal(cmd.ErrOrStderr()) {
		fmt.Fprintln(cmd.ErrOrStderr(), strings.Join([]string{
			made.Path, setting.SizeText(made.SizeBytes), fmt.Sprintf("%.1f s", time.Since(begin).Seconds()),
		}, "  "))
	}
	return nil
}

// receive waits for a job and writes its result to the output.
func (w *jobWait) receive(cmd *cobra.Command, client *client.Client, id string) (download, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), w.timeout)
	defer cancel()

	job, err := client.Job(id).Wait(ctx, func(job wire.JobStatus) {
		if job.Status == wire.JobProcessing {
			w.progress.Store(new(jobLine(job)))
		}
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && cmd.Context().Err() == nil:
		return download{}, fmt.Errorf("the job has not ended after %v; next: relaypdf jobs wait %s", w.timeout, id)
	case err != nil:
		return download{}, err
	case job.URL == "":
		return download{}, &wire.Error{
			Code: wire.NotFound, Message: "The job is completed, but its result has expired or was not stored.",
		}
	}

	return fetchFile(ctx, cmd, client, job.ID, w.destination)
}

// fetchFile downloads a file to the output.
func fetchFile(
	ctx context.Context, cmd *cobra.Command, client *client.Client, id string, to *destination,
) (download, error) {
	result, err := client.Files().Get(ctx, id)
	if err != nil {
		return download{}, err
	}
	defer result.Body.Close()
	d := download{ID: id, Filename: result.Filename}
	if d.Path, d.SizeBytes, err = to.write(cmd.OutOrStdout(), result); err != nil {
		return d, networkError{fmt.Errorf("the download of %s is incomplete: %w", id, err)}
	}
	return d, nil
}

// download is a file that was fetched, as --json prints it.
type download struct {
	ID        string `json:"id"`
	Filename  string `json:"filename"`
	Path      string `json:"path"` // empty: standard output
	SizeBytes int64  `json:"sizeBytes"`
}
