package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/version"
)

// newManCommand writes the manual.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write manual pages, one for each command", Args: cobra.ExactArgs(1),
		Long: "Write a manual page for each command to a folder. The folder is created if it is missing.\n\n" +
			"    relaypdf man ~/.local/share/man/man1 && man relaypdf-pdf-merge",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return console.UsageError{Err: err}
			}
			return errors.Join(writeManual(cmd.Root(), args[0])...)
		},
	}
}

// writeManual writes the pages of a command and of those below it.
func writeManual(cmd *cobra.Command, folder string) []error {
	if cmd.Hidden || cmd.IsAdditionalHelpTopicCommand() {
		return nil
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	errs := []error{os.WriteFile(filepath.Join(folder, name), []byte(manPage(cmd)), 0o644)}
	for _, sub := range cmd.Commands() {
		errs = append(errs, writeManual(sub, folder)...)
	}
	return errs
}

// manPage is a command's page, as man reads it.
func manPage(cmd *cobra.Command) string {
	var page strings.Builder
	title := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	section := func(name string) { fmt.Fprintf(&page, ".SH %s\n", name) }

	fmt.Fprintf(&page, ".TH \"%s\" 1 \"\" \"relaypdf %s\"\n", roff(strings.ToUpper(title)), roff(version.Version))
	section("NAME")
	fmt.Fprintf(&page, "%s \\- %s\n", roff(title), roff(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&page, ".B %s\n", roff(cmd.UseLine()))

	section("DESCRIPTION")
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	paragraphs(&page, strings.TrimSpace(text))

	flags := func(name string, set *pflag.FlagSet) {
		if !set.HasAvailableFlags() {
			return
		}
		section(name)
		set.VisitAll(func(f *pflag.Flag) { manFlag(&page, f) })
	}
	flags("OPTIONS", cmd.NonInheritedFlags())
	flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		section("EXAMPLES")
		fmt.Fprintf(&page, ".nf\n%s\n.fi\n", roff(cmd.Example))
	}

	section("EXIT STATUS")
	for _, class := range exitClasses {
		fmt.Fprintf(&page, ".TP\n.B %d\n%s\n", class.code, roff(class.meaning))
	}

	var also []string
	if cmd.HasParent() {
		also = append(also, manReference(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && !sub.IsAdditionalHelpTopicCommand() {
			also = append(also, manReference(sub))
		}
	}
	if len(also) > 0 {
		section("SEE ALSO")
		fmt.Fprintln(&page, strings.Join(also, ",\n"))
	}

	return page.String()
}

func manReference(cmd *cobra.Command) string {
	return "\\fB" + roff(strings.ReplaceAll(cmd.CommandPath(), " ", "-")) + "\\fR(1)"
}

func manFlag(page *strings.Builder, f *pflag.Flag) {
	if f.Hidden {
		return
	}

	name := "\\fB" + roff("--"+f.Name) + "\\fR"
	if f.Shorthand != "" {
		name = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + name
	}
	kind, usage := pflag.UnquoteUsage(f)
	if kind != "" {
		name += " \\fI" + roff(kind) + "\\fR"
	}

	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		usage += " (default " + f.DefValue + ")"
	}

	fmt.Fprintf(page, ".TP\n%s\n%s\n", name, roff(usage))
}

// paragraphs writes a text; indented lines stay as they are.
func paragraphs(page *strings.Builder, text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			page.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(page, ".nf\n%s\n.fi\n", roff(paragraph))
			continue
		}
		page.WriteString(roff(paragraph) + "\n")
	}
}

// roff writes a text so that none of it is a command.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
