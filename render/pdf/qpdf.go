package pdf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
)

// qpdfJob is a job file of qpdf: its options in camel case. Unlike arguments
// it takes any text as a password or a name without mistaking it for an option.
type qpdfJob map[string]any

// qpdfWarnings is qpdf's exit code for a result that needed repairs.
const qpdfWarnings = 3

// qpdf runs a job in the job's folder and returns qpdf's output. The error is an *engine.ExitError if qpdf failed.
func qpdf(ctx context.Context, w *engine.Work, job qpdfJob) ([]byte, error) {
	return qpdfWithin(ctx, w, job, 0)
}

// qpdfWithin is qpdf with a memory limit in bytes, below the job's.
func qpdfWithin(ctx context.Context, w *engine.Work, job qpdfJob, memory int64) ([]byte, error) {
	out, err := runQPDF(ctx, w, job, engine.Program{Memory: memory})
	var exit *engine.ExitError
	_, asked := job["requiresPassword"]
	_, checked := job["check"]

	// The exit code of these two is the answer.
	if !asked && !checked && errors.As(err, &exit) && exit.Code == qpdfWarnings {
		return out, nil
	}

	if name, ok := job["outputFile"].(string); ok && err == nil {
		// qpdf does not decode what it encrypts, and so does not find that it has used a wrong key.
		encrypted, readErr := contains(w.Path(name), "/Encrypt")
		if err = readErr; err == nil && !encrypted {
			err = markSound(w, name)
		}
	}
	return out, err
}

// runQPDF runs a job as a program with its own limits. Its error is an *engine.ExitError even if qpdf only warns.
func runQPDF(ctx context.Context, w *engine.Work, job qpdfJob, program engine.Program) ([]byte, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	file, err := writeTemp(w.Dir, "qpdf-*.json", text)
	if err != nil {
		return nil, fmt.Errorf("qpdf: %w", err)
	}

	program.Name = "qpdf"
	program.Args = []string{"--job-json-file=" + file}
	program.MaxStdout = maxQPDFOutput
	out, err := w.Exec(ctx, program)
	return out, errors.Join(err, os.Remove(file))
}

// writeTemp writes a new file that only we may read, and returns its path.
func writeTemp(dir, pattern string, content []byte) (string, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	return f.Name(), errors.Join(err, f.Close())
}

// maxQPDFOutput is the maximum size of qpdf's output: the outline of the largest documents has a few megabytes.
const maxQPDFOutput = 64 << 20

// output is the name of a job's result.
const output = "output.pdf"

// write runs a qpdf job on this document that writes a result of the job. Encryption stays as it is unless the job
// changes it.
func (d *document) write(ctx context.Context, job qpdfJob) error {
	if err := writeResult(ctx, d, job); err != nil {
		return err
	}
	d.work.Output(output)
	return nil
}

// writeResult is write to a file that a later one may replace.
func writeResult(ctx context.Context, d *document, job qpdfJob) error {
	if d.packed {
		job["objectStreams"] = "generate"
	}
	if d.sealed != nil {
		job["copyEncryption"], job["encryptionFilePassword"] = d.sealed.name, d.sealed.password
	}
	return d.writeTo(ctx, output, job)
}

// writeTo is write to a file that is not the result, or not yet.
func (d *document) writeTo(ctx context.Context, name string, job qpdfJob) error {
	job["inputFile"], job["password"], job["outputFile"] = d.name, d.password, name
	_, err := qpdf(ctx, d.work, job)
	return d.damaged(err)
}

// damaged blames the document for a program that failed on it, or that it
// crashed.
func (d *document) damaged(err error) error {
	var exit *engine.ExitError
	switch {
	case !errors.As(err, &exit):
		return err
	case exit.Signal != 0:
		return d.fail(Exhausted, err)
	}
	return d.fail(Damaged, err)
}

// soundTime is the time of change of a file that qpdf has written without a warning, or
// checked: its structure needs no second check. Any later change gives it another.
var soundTime = time.Unix(0, 0)

func markSound(w *engine.Work, name string) error {
	return os.Chtimes(w.Path(name), time.Time{}, soundTime)
}

func isSound(w *engine.Work, name string) bool {
	about, err := os.Stat(w.Path(name))
	return err == nil && about.ModTime().Equal(soundTime)
}
