package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/setting"
)

const (
	maxHelpLines = 64 // of a command's help, so that it fits on a screen
	maxBrief     = 60 // characters of a flag's description
	maxFlagHead  = 36 // characters of a flag and its type that the column of descriptions leaves room for
	helpWidth    = 100
)

// shortForm is the annotation of a command that is the short form of another;
// the value is the other's path.
const shortForm = "short for"

// helpTopic is a set of flags that many commands share. The help of a command
// refers to it, and "relaypdf help NAME" describes the flags.
type helpTopic struct {
	name, short, intro string
	settings           []setting.Setting
}

// helpTopics returns the topics of a program, some of whose commands have the flags of the settings in data.
func helpTopics(data []setting.Setting) []helpTopic {
	topics := []helpTopic{{
		"connection", "Flags for the server that commands call",
		"Commands that call a server use its URL and an API key. relaypdf login stores both in a profile.\n" +
			"Flags override the environment, which overrides .env in the current folder, which overrides the " +
			"profile.",
		[]setting.Setting{setting.APIKey, setting.APIURL, setting.Profile, setting.Config},
	}}
	if len(data) > 0 {
		topics = slices.Insert(topics, 0, helpTopic{
			"storage", "Flags for the database and the stored files",
			"Commands that open the data of a server read these settings. Set them as on the server.", data,
		})
	}
	return topics
}

// isClientSetting reports whether a name is that of a setting that commands which call a server have as a flag.
func isClientSetting(name string) bool {
	return slices.ContainsFunc(setting.ClientSettings, func(s setting.Setting) bool { return s.Name == name })
}

// topicOf returns the topic that describes a flag, nil when the command's own
// help does.
func topicOf(f *pflag.Flag, topics []helpTopic) *helpTopic {
	if _, ok := setting.Kind(f); !ok || f.Name == "data-dir" {
		return nil
	}
	for i, topic := range topics {
		if slices.ContainsFunc(topic.settings, func(s setting.Setting) bool { return s.Name == f.Name }) {
			return &topics[i]
		}
	}
	return nil
}

// addHelp gives root and its commands their help, and adds the topics.
func addHelp(root *cobra.Command, data []setting.Setting) {
	topics := helpTopics(data)
	root.InitDefaultHelpCmd()
	all := new(bool)
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Short = "Print the help of a command or a topic"
		help.Long = "Print the help of a command, or of a topic: " + strings.Join(topicNames(topics), ", ") + "."
		all = help.Flags().Bool("all", false, "describe every flag in full")
	}

	root.AddCommand(&cobra.Command{
		Use: "exit-codes", Short: "Exit codes and their meaning", Long: strings.TrimSpace(exitHelp()),
	})
	for _, topic := range topics {
		root.AddCommand(&cobra.Command{Use: topic.name, Short: topic.short, Long: topic.text()})
	}

	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		h := helpText{cmd: cmd, topics: topics, all: *all}
		fmt.Fprint(cmd.OutOrStdout(), h.render())
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		h := helpText{cmd: cmd, topics: topics}
		_, err := io.WriteString(cmd.OutOrStderr(), h.render())
		return err
	})
}

func topicNames(topics []helpTopic) []string {
	names := []string{"exit-codes"}
	for _, topic := range topics {
		names = append(names, topic.name)
	}
	return names
}

func (t *helpTopic) text() string {
	var b strings.Builder
	b.WriteString(t.intro + "\n\nFlags:\n")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, s := range t.settings {
		s.AddFlag(flags)
		writeFlag(&b, flags.Lookup(s.Name))
	}
	return strings.TrimSpace(b.String())
}

// helpText is the help of one command.
type helpText struct {
	cmd    *cobra.Command
	topics []helpTopic
	all    bool // whether to describe every flag in full
}

// render returns the help in maxHelpLines lines or fewer. Flags that do not fit are listed
// by name.
func (h helpText) render() string {
	head := h.head()
	if !h.cmd.Runnable() && !h.cmd.HasAvailableSubCommands() {
		return head // a topic
	}

	own, topics := h.flags()
	foot := h.foot(topics)
	if other := h.cmd.Annotations[shortForm]; other != "" && !h.all {
		return head + fmt.Sprintf("\nFlags are those of %s. See %s --help.\n", other, other) + foot
	}

	if h.all {
		h.cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if topicOf(f, h.topics) != nil {
				own = append(own, f)
			}
		})
		return head + fullFlags(own) + foot
	}

	room := maxHelpLines - strings.Count(head+foot, "\n")
	shown := len(own)
	for shown > 0 && strings.Count(briefFlags(own, shown), "\n") > room {
		shown--
	}

	return head + briefFlags(own, shown) + foot
}

// head is the help above the flags.
func (h helpText) head() string {
	var b strings.Builder
	cmd := h.cmd
	fmt.Fprintln(&b, wrap(cmp.Or(strings.TrimSpace(cmd.Long), cmd.Short+"."), "", helpWidth))
	if !cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		return b.String()
	}

	b.WriteString("\nUsage:\n")
	if cmd.Runnable() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}

	groups := slices.Clone(cmd.Groups())
	groups = append(groups, &cobra.Group{Title: "Other commands:"})
	if len(groups) == 1 {
		groups[0].Title = "Commands:"
	}

	for _, group := range groups {
		writeCommands(&b, group.Title, cmd,
			func(sub *cobra.Command) bool { return sub.IsAvailableCommand() && sub.GroupID == group.ID })
	}
	writeCommands(&b, "Topics of relaypdf help:", cmd, (*cobra.Command).IsAdditionalHelpTopicCommand)

	return b.String()
}

func writeCommands(b *strings.Builder, title string, cmd *cobra.Command, want func(*cobra.Command) bool) {
	first := true
	for _, sub := range cmd.Commands() {
		if !want(sub) {
			continue
		}
		if first {
			b.WriteString("\n" + title + "\n")
			first = false
		}
		fmt.Fprintf(b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
	}
}

// flags returns the flags that the command's help describes, and the topics
// that describe the others.
func (h helpText) flags() (own []*pflag.Flag, topics []string) {
	h.cmd.InitDefaultHelpFlag()
	h.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch topic := topicOf(f, h.topics); {
		case f.Hidden:
		case topic == nil:
			own = append(own, f)
		case !slices.Contains(topics, topic.name) && f.Name != setting.Config.Name:
			topics = append(topics, topic.name)
		}
	})
	return own, topics
}

func (h helpText) foot(topics []string) string {
	var b strings.Builder
	see := []string{"relaypdf help exit-codes"}
	for _, name := range topics {
		see = append(see, "relaypdf help "+name)
	}

	b.WriteString("\nSee also: " + strings.Join(see, ", ") + "\n")
	if path, isSub := strings.CutPrefix(h.cmd.CommandPath(), "relaypdf "); isSub && h.cmd.Runnable() && !h.all {
		b.WriteString("Flags in full: relaypdf help " + path + " --all\n")
	}
	if h.cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "Help of a command: %s COMMAND --help\n", h.cmd.CommandPath())
	}

	return b.String()
}

// briefFlags describes the first flags in a line each and names the others.
func briefFlags(flags []*pflag.Flag, shown int) string {
	if len(flags) == 0 {
		return ""
	}

	var b strings.Builder
	b.WriteString("\nFlags:\n")

	width := 0
	for _, f := range flags[:shown] {
		width = max(width, min(utf8.RuneCountInString(flagHead(f)), maxFlagHead))
	}
	for _, f := range flags[:shown] {
		head := flagHead(f)
		pad := strings.Repeat(" ", max(width-utf8.RuneCountInString(head), 0))
		b.WriteString(head + pad + "  " + brief(f) + defaultOf(f) + "\n")
	}

	if shown < len(flags) {
		var names []string
		for _, f := range flags[shown:] {
			names = append(names, "--"+f.Name)
		}
		b.WriteString("\nMore flags:\n" + wrap(strings.Join(names, " "), "  ", helpWidth) + "\n")
	}

	return b.String()
}

// fullFlags describes flags in full.
func fullFlags(flags []*pflag.Flag) string {
	var b strings.Builder
	b.WriteString("\nFlags:\n")
	for _, f := range flags {
		writeFlag(&b, f)
	}
	return b.String()
}

func writeFlag(b *strings.Builder, f *pflag.Flag) {
	_, usage := pflag.UnquoteUsage(f)
	fmt.Fprintf(b, "%s\n%s\n", flagHead(f), wrap(capitalize(usage)+defaultOf(f), "          ", helpWidth))
}

// flagHead is a flag with its shorthand and its kind of value.
func flagHead(f *pflag.Flag) string {
	head := "      --" + f.Name
	if f.Shorthand != "" {
		head = "  -" + f.Shorthand + ", --" + f.Name
	}
	kind, _ := pflag.UnquoteUsage(f)
	if of, ok := setting.Kind(f); ok && of != "" {
		kind = of
	}
	if kind != "" {
		head += " " + kind
	}
	return head
}

func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}

// briefs are the descriptions of fields whose first sentence is too long and
// cannot be cut.
var briefs = map[string]string{
	"callback-url":         "URL that receives a POST when the call ends",
	"device":               "Device to emulate: size, scale and touch",
	"fail-on-http-status":  "HTTP statuses that fail the call, such as 404 or 4xx",
	"file-id":              "Source: ID of an upload or an earlier result",
	"format":               "Paper format, such as A4 or Letter",
	"linearize":            "Prepare the PDF for fast display on the web",
	"password":             "Password that opens the PDF",
	"prefer-css-page-size": "Prefer the size in the page's @page rule",
	"formulas":             "Read dollar signs and TeX brackets in Markdown as formulas",
	"schema":               "JSON Schema of the data to extract",
	"store":                "Store copies of the input and the result",
	"timeout":              "Maximum time to load and render, in milliseconds",
	"wait-for-selector":    "Wait for an element that matches this CSS selector",
	"wait-for-timeout":     "Extra wait after loading, in milliseconds",
}

// brief returns the first sentence of a flag's description, or its independent part, in maxBrief characters or
// fewer.
func brief(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "If true, "), ". ")
	text = capitalize(strings.TrimSuffix(text, "."))

	if utf8.RuneCountInString(text) <= maxBrief {
		return text
	}
	if short := briefs[f.Name]; short != "" {
		return short
	}

	for _, separator := range []string{": ", "; ", " (", ", "} {
		if head, _, found := strings.Cut(text, separator); found && utf8.RuneCountInString(head) <= maxBrief {
			return head
		}
	}
	return text
}

func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// wrap breaks the lines of a text at spaces and indents them. Lines that are
// indented already stay as they are.
func wrap(text, indent string, width int) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(paragraph, " ") || paragraph == "" {
			lines = append(lines, paragraph)
			continue
		}

		line := indent
		for word := range strings.FieldsSeq(paragraph) {
			if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				lines = append(lines, line)
				line = indent
			}
			if line != indent {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}

	return strings.Join(lines, "\n")
}
