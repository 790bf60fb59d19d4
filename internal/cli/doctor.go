package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
)

// doctorTime bounds a whole examination.
const doctorTime = 3 * time.Minute

// verdict is the result of a check.
type verdict string

const (
	good verdict = "ok"
	warn verdict = "warn" // works, with a loss
	fail verdict = "fail" // the service does not work, or not safely
)

// finding is the result of one check.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Message string  `json:"message"`
	Remedy  string  `json:"remedy"` // empty when all is well
}

// checkup is one check of the machine; it may find several things.
type checkup struct {
	name  string
	run   func(context.Context, app.Config) []finding
	needs string // name of a check that must not fail before this one runs; empty: none
}

// checkups is everything that `relaypdf doctor` looks at, in this order. The
// last one uses all that the others looked at.
var checkups = []checkup{
	{name: "user", run: checkUser},
	{name: "data folder", run: checkDataDir},
	{name: "disk", run: checkDisk},
	{name: "memory", run: checkMemory},
	{name: "limits", run: checkLimits},
	{name: "database", run: checkDatabase},
	{name: "files", run: checkBlobs},
	{name: "chromium", run: checkChromium},
	{name: "sandbox", run: checkSandbox},
	{name: "own address", run: checkOwnAddress},
	{name: "fonts", run: checkFonts},
	{name: "ocr", run: checkOCR},
	{name: "webp", run: checkWebP},
	{name: "mupdf", run: checkMuPDF},
	{name: "pdfa", run: checkPDFA},
	{name: "verapdf", run: checkVeraPDF},
	{name: "extra CA", run: checkExtraCA},
	{name: "pages", run: checkPages},
	{name: "clock", run: checkClock},
	{name: "render", run: checkRender, needs: "chromium"},
}

// newDoctorCommand finds problems that would keep the service from working.
func newDoctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the browser, sandbox, fonts, database and disk",
		Long: "Check that this machine has everything the server needs, and suggest a fix for each problem. As " +
			"root, the command acts as the owner of the data folder.\n\n" +
			"The exit code is 1 if a check fails. Warnings do not change the exit code.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), doctorTime)
			defer cancel()

			out := cmd.OutOrStdout()
			say := func(f finding) { sayFinding(out, f) }
			if asJSON {
				say = func(finding) {}
			}

			findings := examine(ctx, cmd, say)
			failures := 0
			for _, f := range findings {
				if f.Verdict == fail {
					failures++
				}
			}

			if asJSON {
				if err := printJSON(out, map[string]any{"ok": failures == 0, "findings": findings}); err != nil {
					return err
				}
			}

			if failures > 0 {
				return fmt.Errorf("%d of %d checks failed", failures, len(findings))
			}
			return nil
		},
	}

	app.AddFlags(cmd.Flags(), app.GroupServer)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// examine runs all checks and passes each finding to say as it comes. With wrong settings it stops there: the other
// checks would look in the wrong place.
func examine(ctx context.Context, cmd *cobra.Command, say func(finding)) []finding {
	config, err := loadSettings(cmd)
	all := checkSettings(config, err)
	for _, f := range all {
		say(f)
	}
	if err != nil {
		return all
	}

	for _, c := range checkups {
		var found []finding
		if failed(all, c.needs) {
			found = doubtful("fix "+c.needs+", then run relaypdf doctor again", "skipped, because the check %s failed",
				c.needs)
		} else {
			found = c.run(ctx, config)
		}

		for _, f := range found {
			if f.Check == "" {
				f.Check = c.name
			}
			say(f)
			all = append(all, f)
		}
	}

	return all
}

// failed reports whether the check found a failure.
func failed(all []finding, check string) bool {
	return slices.ContainsFunc(all, func(f finding) bool { return f.Check == check && f.Verdict == fail })
}

func checkSettings(config app.Config, err error) []finding {
	const name = "settings"
	if err != nil {
		var wrong []finding
		for line := range strings.Lines(err.Error()) {
			wrong = append(wrong, finding{
				name, fail, strings.TrimSpace(line),
				"change the setting as the message says; relaypdf config shows where each value comes from",
			})
		}
		return wrong
	}

	if len(config.Warnings) == 0 {
		return []finding{{Check: name, Verdict: good, Message: "all are valid"}}
	}

	var doubts []finding
	for _, text := range config.Warnings {
		doubts = append(doubts, finding{name, warn, text, "change the setting, or ignore this when it is meant so"})
	}
	return doubts
}

// sayFinding writes a finding for users.
func sayFinding(w io.Writer, f finding) {
	fmt.Fprintf(w, "%-5s %-12s %s\n", f.Verdict, f.Check, f.Message)
	if f.Remedy != "" {
		fmt.Fprintf(w, "%18s -> %s\n", "", f.Remedy)
	}
}

func okay(format string, args ...any) []finding {
	return []finding{{Verdict: good, Message: fmt.Sprintf(format, args...)}}
}

func doubtful(remedy, format string, args ...any) []finding {
	return []finding{{Verdict: warn, Message: fmt.Sprintf(format, args...), Remedy: remedy}}
}

func broken(remedy, format string, args ...any) []finding {
	return []finding{{Verdict: fail, Message: fmt.Sprintf(format, args...), Remedy: remedy}}
}
