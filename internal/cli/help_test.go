package cli

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/cli/operator"
	"github.com/relaypdf/relaypdf/service/operation"
)

// privateWords are words that readers outside the project do not know in this sense.
var privateWords = regexp.MustCompile(`(?i)\b(mend|books|typefaces?|beside|told|tells?|nobody|somebody|whoever|persons?|emailed letters?|in force|in the place of|` +
	`in place of|anew|of ours|goes on|has become|seals|sealed|unseal|lets? in|stands? for|keeps? for|programs?|answers?|interface|what is|what it)\b`)

// visitCommands calls do for every command that help lists.
func visitCommands(t *testing.T, do func(*cobra.Command)) {
	t.Helper()
	root, err := newProgram(operation.Rows).root()
	if err != nil {
		t.Fatal(err)
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		do(cmd)
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.Name() != "completion" {
				visit(sub)
			}
		}
	}
	visit(root)
}

func TestHelpFitsOnAScreen(t *testing.T) {
	visitCommands(t, func(cmd *cobra.Command) {
		text := helpText{cmd: cmd, topics: helpTopics(operator.DataSettings())}.render()
		if lines := strings.Count(text, "\n"); lines > maxHelpLines {
			t.Errorf("%s --help has %d lines, want at most %d", cmd.CommandPath(), lines, maxHelpLines)
		}
		if words := len(strings.Fields(cmd.Short)); words > 13 {
			t.Errorf("%s: the summary has %d words: %s", cmd.CommandPath(), words, cmd.Short)
		}
	})
}

func TestFlagDescriptionsAreShort(t *testing.T) {
	seen := map[string]bool{}
	visitCommands(t, func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if text := brief(f); strings.HasPrefix(text, "If false") {
				t.Errorf("%s --%s: %s: it is a condition, not a description", cmd.CommandPath(), f.Name, text)
			}
			if text := brief(f); utf8.RuneCountInString(text) > maxBrief && !seen[text] {
				seen[text] = true
				t.Errorf("%s --%s: %d characters, want at most %d: %s", cmd.CommandPath(), f.Name, utf8.RuneCountInString(text), maxBrief, text)
			}
		})
	})
}

func TestHelpUsesStandardWords(t *testing.T) {
	seen := map[string]bool{}
	visitCommands(t, func(cmd *cobra.Command) {
		for _, all := range []bool{false, true} {
			for line := range strings.SplitSeq(helpText{cmd: cmd, all: all}.render(), "\n") {
				if word := privateWords.FindString(line); word != "" && !seen[line] {
					seen[line] = true
					t.Errorf("%s: %q in %q", cmd.CommandPath(), word, strings.TrimSpace(line))
				}
			}
		}
	})
}

func TestHelpTopics(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
		not  string
	}{
		{[]string{"--help"}, "exit-codes", "130"},
		{[]string{"help", "exit-codes"}, "  130  interrupted", "Usage:"},
		{[]string{"help", "storage"}, "--s3-secret-key", "Usage:"},
		{[]string{"help", "connection"}, "--api-url url", "--s3-secret-key"},
		{[]string{"keys", "create", "--help"}, "relaypdf help storage", "--s3-secret-key"},
		{[]string{"pdf", "--help"}, "See relaypdf pdf create --help.", "--api-key"},
		{[]string{"pdf", "create", "--help"}, "--margin-top", "Variable RELAYPDF_"},
		{[]string{"help", "pdf", "create", "--all"}, "Variable RELAYPDF_API_URL", "More flags"},
		{[]string{"serve", "--help"}, "Flags in full: relaypdf help serve --all", "--s3-secret-key"},
		{[]string{"convert", "create", "--help"}, "See also: relaypdf help exit-codes, relaypdf help connection", "0    done"},
	} {
		if r := relaypdf(t, tt.args...); r.code != 0 || !strings.Contains(r.out, tt.want) || strings.Contains(r.out, tt.not) {
			t.Errorf("%q: got %d, want %q and not %q in:\n%s%s", tt.args, r.code, tt.want, tt.not, r.out, r.err)
		}
	}
}
