package operator

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
)

// doctorTime bounds a whole examination.
const doctorTime = 3 * time.Minute

// Verdict is the result of a check.
type Verdict string

const (
	good Verdict = "ok"
	warn Verdict = "warn" // works, with a loss
	fail Verdict = "fail" // the service does not work, or not safely
)

// Finding is the result of one check.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message"`
	Remedy  string  `json:"remedy"` // empty when all is well
}

// checkup is one check of the machine; it may find several things.
type checkup struct {
	name  string
	run   func(context.Context, app.Config) []Finding
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
			say := func(f Finding) { sayFinding(out, f) }
			if asJSON {
				say = func(Finding) {}
			}

			findings := examine(ctx, cmd, say)
			failures := 0
			for _, f := range findings {
				if f.Verdict == fail {
					failures++
				}
			}

			if asJSON {
				if err := console.PrintJSON(out, map[string]any{"ok": failures == 0, "findings": findings}); err != nil {
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
func examine(ctx context.Context, cmd *cobra.Command, say func(Finding)) []Finding {
	config, err := loadSettings(cmd)
	all := checkSettings(config, err)
	for _, f := range all {
		say(f)
	}
	if err != nil {
		return all
	}

	for _, c := range checkups {
		var found []Finding
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
func failed(all []Finding, check string) bool {
	return slices.ContainsFunc(all, func(f Finding) bool { return f.Check == check && f.Verdict == fail })
}

func checkSettings(config app.Config, err error) []Finding {
	const name = "settings"
	if err != nil {
		var wrong []Finding
		for line := range strings.Lines(err.Error()) {
			wrong = append(wrong, Finding{
				name, fail, strings.TrimSpace(line),
				"change the setting as the message says; relaypdf config shows where each value comes from",
			})
		}
		return wrong
	}

	if len(config.Warnings) == 0 {
		return []Finding{{Check: name, Verdict: good, Message: "all are valid"}}
	}

	var doubts []Finding
	for _, text := range config.Warnings {
		doubts = append(doubts, Finding{name, warn, text, "change the setting, or ignore this when it is meant so"})
	}
	return doubts
}

// sayFinding writes a finding for users.
func sayFinding(w io.Writer, f Finding) {
	fmt.Fprintf(w, "%-5s %-12s %s\n", f.Verdict, f.Check, f.Message)
	if f.Remedy != "" {
		fmt.Fprintf(w, "%18s -> %s\n", "", f.Remedy)
	}
}

func okay(format string, args ...any) []Finding {
	return []Finding{{Verdict: good, Message: fmt.Sprintf(format, args...)}}
}

func doubtful(remedy, format string, args ...any) []Finding {
	return []Finding{{Verdict: warn, Message: fmt.Sprintf(format, args...), Remedy: remedy}}
}

func broken(remedy, format string, args ...any) []Finding {
	return []Finding{{Verdict: fail, Message: fmt.Sprintf(format, args...), Remedy: remedy}}
}
