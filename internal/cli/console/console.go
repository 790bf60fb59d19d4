// Package console has the parts of all commands: usage errors, groups of commands, and printing.
package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// UsageError is a mistake on the command line.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError with a formatted text.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// NewGroup returns a command that only holds others.
func NewGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
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
			return Usagef("%s", text)
		},
	}

	group.SuggestionsMinimumDistance = 2
	// Flags of a mistyped command are ignored, because they are not the error.
	group.FParseErrWhitelist.UnknownFlags = true
	group.AddCommand(commands...)
	return group
}

// IsTerminal reports whether an output is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// IsAbsent reports whether there is no file and no folder at a path.
func IsAbsent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// ShortTime shows a time to the minute, in UTC, and a dash for none.
func ShortTime(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// Say prints a confirmation on terminals. In pipes it prints nothing.
func Say(cmd *cobra.Command, format string, args ...any) error {
	if !IsTerminal(cmd.ErrOrStderr()) {
		return nil
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
	return err
}

// PrintLine prints a result of a command.
func PrintLine(cmd *cobra.Command, text string) error {
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

// PrintTable writes a header and a row of cells for each item, in columns.
func PrintTable[Item any](w io.Writer, header string, items []Item, cells func(Item) []any) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, header)
	for _, item := range items {
		for i, cell := range cells(item) {
			if i > 0 {
				fmt.Fprint(table, "\t")
			}
			fmt.Fprint(table, cell)
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// PrintJSON writes an object: in one line for programs, indented for users.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	if IsTerminal(w) {
		enc.SetIndent("", "  ")
	}
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
