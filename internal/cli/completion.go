package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// completionTime is the maximum time that a shell waits for the IDs of an account.
const completionTime = 3 * time.Second

// complete registers shell completions for the values of an operation's flags and for the extensions of its output.
func (c *operationCall) complete(cmd *cobra.Command) error {
	for _, f := range c.fields {
		if isFileSource(f.schema) || isFileSource(f.schema.Items) {
			continue // a file, which shells complete by themselves
		}

		choices := f.schema.Enum
		if f.schema.Items != nil && len(choices) == 0 {
			choices = f.schema.Items.Enum
		}

		var words []cobra.Completion
		for _, choice := range choices {
			words = append(words, fmt.Sprint(choice))
		}

		complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
		if len(words) == 0 {
			// Only values that are read from a file are completed as file names.
			complete = completeFileValue
		}
		if err := cmd.RegisterFlagCompletionFunc(f.flag, complete); err != nil {
			return err
		}
	}

	var extensions []cobra.Completion
	for _, f := range c.makes() {
		for _, extension := range f.extensions {
			extensions = append(extensions, strings.TrimPrefix(extension, "."))
		}
	}
	if err := cmd.RegisterFlagCompletionFunc(
		"output", cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)); err != nil {
		return err
	}

	if len(c.takes.fields) == 0 {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	return nil
}

// completeFileValue completes files for those flags whose value is one.
func completeFileValue(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if strings.HasPrefix(word, "@") || strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeIDs lets shells complete an ID, with a description next to it.
func completeIDs[Item any](
	list func(context.Context, *client.Client) ([]Item, error), show func(Item) (id, about string),
) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}

		service, err := connect(cmd, 0)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}

		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		items, err := list(ctx, service)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}

		var words []cobra.Completion
		for _, item := range items {
			id, about := show(item)
			words = append(words, cobra.CompletionWithDesc(id, strings.Join(strings.Fields(about), " ")))
		}

		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

var completeJobs = completeIDs(func(ctx context.Context, c *client.Client) ([]client.JobEntry, error) {
	list, err := c.Jobs().List(ctx, client.JobsListQuery{})
	return list.Jobs, err
}, func(job client.JobEntry) (string, string) {
	return job.ID, job.Operation + " " + job.Status + " " + console.ShortTime(&job.CreatedAt)
})

var completeFiles = completeIDs(func(ctx context.Context, c *client.Client) ([]client.FileEntry, error) {
	list, err := c.Files().List(ctx, client.FilesListQuery{})
	return list.Files, err
}, func(file client.FileEntry) (string, string) {
	return file.ID, file.Filename + " " + setting.SizeText(file.SizeBytes)
})
