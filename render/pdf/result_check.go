package pdf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// CheckResults returns handlers whose PDFs must pass qpdf --check; otherwise the job fails with BrokenStructure. These
// results are named *.pdf; unchanged files, such as attachments, have other names. Broken signatures are reported.
func CheckResults(handlers engine.Handlers) engine.Handlers {
	checked := make(engine.Handlers, len(handlers))
	for name, handler := range handlers {
		handler = reportBroken(name, handler)
		checked[name] = func(ctx context.Context, w *engine.Work, args json.RawMessage, body []byte) ([]byte, error) {
			inputs, err := os.ReadDir(w.Dir)
			if err != nil {
				return nil, fmt.Errorf("inputs: %w", err)
			}

			result, err := handler(ctx, w, args, body)
			if err == nil {
				err = job.ToJob(checkResults(ctx, w, name, inputs, passwordsIn(args)))
			}
			return result, err
		}
	}

	return checked
}

// checkResults returns BrokenStructure if a PDF that a job wrote has errors. Streams whose data cannot be decoded stay
// as they are: such errors are the user's, if an input has them too.
func checkResults(ctx context.Context, w *engine.Work, jobName string, inputs []os.DirEntry, passwords []string) error {
	for _, name := range w.Outputs() {
		if !strings.HasSuffix(name, ".pdf") || job.IsSound(w, name) {
			continue
		}

		found, err := check(ctx, w, name, passwords)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}

		same := found.inData()
		if same {
			if same, err = anyInData(ctx, w, inputs, passwords); err != nil {
				return err
			}
		}
		if !same {
			text := "produces a damaged PDF, so there is no result"
			if jobName != RepairJob.Name {
				text += ". Repair the source first with pdf.repair"
			}
			return &job.Error{Kind: job.BrokenStructure, Text: text, Cause: errors.New(found[0])}
		}
	}

	return nil
}

// anyInData reports whether an input has errors in the data of its streams.
func anyInData(ctx context.Context, w *engine.Work, inputs []os.DirEntry, passwords []string) (bool, error) {
	for _, input := range inputs {
		if pdf, err := job.FileContains(w.Path(input.Name()), "%PDF-"); err != nil || !pdf {
			continue // it is not there any more, or of another kind
		}

		found, err := check(ctx, w, input.Name(), passwords)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(found, dataError.MatchString) {
			return true, nil
		}
	}

	return false, nil
}

// checkErrors are the lines of qpdf --check that report errors and warnings.
type checkErrors []string

// dataError matches qpdf's messages about a stream's data, but not about the structure.
var dataError = regexp.MustCompile(
	`error decoding stream data for object|stream will be re-processed without filtering|` +
		`input stream is complete but output may still be valid|` +
		`^ERROR: page \d+: content stream |^WARNING: page object \d+ \d+ stream |` +
		`^qpdf: (errors detected|operation succeeded with warnings)`,
)

// inData reports whether all errors are in the data of streams.
func (e checkErrors) inData() bool {
	return !slices.ContainsFunc(e, func(line string) bool { return !dataError.MatchString(line) })
}

// check returns the errors that qpdf reports after it has read the whole file. The file opens without a password, or
// with one of the given ones.
func check(ctx context.Context, w *engine.Work, name string, passwords []string) (found checkErrors, err error) {
	for _, password := range append([]string{""}, passwords...) {
		out, err := job.RunQPDF(
			ctx, w, job.QPDFJob{"inputFile": name, "password": password, "check": ""}, engine.Program{Joined: true},
		)
		var exit *engine.ExitError
		switch {
		case err == nil:
			return nil, nil
		case !errors.As(err, &exit):
			return nil, err
		}

		found = nil
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "WARNING: ") || strings.HasPrefix(line, "ERROR: ") ||
				strings.HasPrefix(line, "qpdf: ") {
				found = append(found, strings.TrimSpace(line))
			}
		}

		// qpdf 11 crashes on damaged images of encrypted files, after it has reported them.
		if exit.Signal != 0 && !slices.ContainsFunc(found, dataError.MatchString) {
			return nil, &job.Error{Kind: job.Exhausted, Cause: err}
		}
		if len(found) == 0 {
			found = checkErrors{exit.Error()}
		}

		if !bytes.Contains(out, []byte("invalid password")) {
			break
		}
	}

	return found, nil
}

// passwordsIn returns the passwords among a job's arguments.
func passwordsIn(args json.RawMessage) (found []string) {
	var walk func(key string, value any)
	walk = func(key string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for k, member := range v {
				walk(k, member)
			}
		case []any:
			for _, member := range v {
				walk(key, member)
			}
		case string:
			if v != "" && strings.HasSuffix(key, "Password") && !slices.Contains(found, v) {
				found = append(found, v)
			}
		}
	}

	var value any
	if json.Unmarshal(args, &value) == nil {
		walk("", value)
	}
	return found
}

// returnSource makes the source of a job its result, instead of qpdf's output. A source with errors does not become
// the result, because qpdf's output lacks them.
func returnSource(ctx context.Context, w *engine.Work, source job.Input) error {
	found, err := check(ctx, w, source.Name, []string{source.Password})
	if err != nil || len(found) > 0 {
		return err
	}
	return errors.Join(os.Rename(w.Path(source.Name), w.Path(job.Output)), job.MarkSound(w, job.Output))
}
