package cli

import (
	"github.com/spf13/cobra"

	"relaypdf/api/operation"
	"relaypdf/api/schema"
)

// addPipeline adds relaypdf pipeline run, which is pipelines create with a file.
func addPipeline(root *cobra.Command, table *schema.Table[*operation.Deps]) error {
	run := &cobra.Command{}
	row := table.Lookup("pipelines.create")
	if row == nil {
		return nil // a part of the table, in a test
	}
	if err := configure(run, row, "run", otherCommands(table)); err != nil {
		return err
	}
	create := run.RunE
	run.Use, run.Args = "run FILE", cobra.ExactArgs(1)
	run.Long = "Run the pipeline in FILE, the JSON of POST /v1/pipelines; - for standard input.\n\n" + run.Long
	run.Example = "  relaypdf pipeline run flow.json -o letter.pdf"
	run.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.Flags().Set("json", args[0]); err != nil {
			return err
		}
		return create(cmd, nil)
	}
	group := newGroup("pipeline", "Run the pipeline in a file", run)
	group.GroupID = clientGroup
	root.AddCommand(group)
	return run.Flags().MarkHidden("json")
}
