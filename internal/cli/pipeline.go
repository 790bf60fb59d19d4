package cli

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/cli/console"
)

// addPipeline adds relaypdf pipeline run, which is pipelines create with a file, and hides the latter.
func addPipeline(root *cobra.Command, table operationList) error {
	run := &cobra.Command{}
	row := table.lookup("pipelines.create")
	if row == nil {
		return nil // a part of the table, in a test
	}
	if err := configure(run, row, "run", table); err != nil {
		return err
	}

	create := run.RunE
	run.Use = "run FILE"
	run.Args = cobra.ExactArgs(1)
	run.Long = "Run the pipeline in FILE, which has the JSON of POST /v1/pipelines; - is standard input. A source " +
		"{\"file\":\"@PATH\"} in a step is the file at PATH.\n\n" + run.Long
	run.Example = "  relaypdf pipeline run flow.json -o letter.pdf"

	run.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.Flags().Set("json", args[0]); err != nil {
			return err
		}
		return create(cmd, nil)
	}

	group := console.NewGroup("pipeline", "Run the pipeline in a file", run)
	group.GroupID = clientGroup
	root.AddCommand(group)
	subcommand(root, row.Words()[0]).Hidden = true
	return run.Flags().MarkHidden("json")
}

// stepLists are the fields of requests that hold steps.
var stepLists = []string{"steps", "then"}

// stepsOf returns the steps of a request.
func stepsOf(input map[string]any) (steps []map[string]any) {
	for _, field := range stepLists {
		list, _ := input[field].([]any)
		for _, item := range list {
			if step, ok := item.(map[string]any); ok {
				steps = append(steps, step)
			}
		}
	}
	return steps
}

// readStepFiles reads the files that the sources of steps name as @PATH.
func readStepFiles(input map[string]any) error {
	for i, step := range stepsOf(input) {
		if err := readFilesOf(step["input"]); err != nil {
			return console.Usagef("step %d: %w", i+1, err)
		}
	}
	return nil
}

// readFilesOf replaces each member file that begins with @ with the content of the file at that path.
func readFilesOf(v any) error {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := readFilesOf(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range v {
			text, _ := member.(string)
			path, named := strings.CutPrefix(text, "@")
			if name != "file" || !named {
				if err := readFilesOf(member); err != nil {
					return err
				}
				continue
			}

			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			v[name] = base64.StdEncoding.EncodeToString(content)
		}
	}

	return nil
}

// last returns the operation that makes the result of a request, with its input: that of the last step or of the
// output, zip.create for several outputs, and c without steps.
func (c *operationCall) last(input map[string]any) (*operationCall, map[string]any) {
	steps := stepsOf(input)
	if len(steps) == 0 {
		return c, input
	}

	made := steps[len(steps)-1]
	outputs, _ := input["output"].([]any)
	if len(outputs) == 0 {
		outputs = []any{input["output"]}
	}

	for _, step := range steps {
		if id := step["id"]; id != nil && id == outputs[0] {
			made = step
		}
	}

	op := made["op"]
	stepInput := made["input"]
	if len(outputs) > 1 {
		op = "zip.create"
		stepInput = nil
	}
	row := c.table.lookup(fmt.Sprint(op))
	if row == nil {
		return c, input // The service refuses it.
	}

	last := &operationCall{
		operation: row, table: c.table, fields: addFields(pflag.NewFlagSet("", pflag.ContinueOnError), row.Schema),
	}
	last.destination.name = c.destination.name
	of, _ := stepInput.(map[string]any)
	return last, of
}
