package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
)

// QPDFJob is a job file of qpdf: its options in camel case. Unlike arguments
// it takes any text as a password or a name without mistaking it for an option.
type QPDFJob map[string]any

// qpdfWarnings is qpdf's exit code for a result that needed repairs.
const qpdfWarnings = 3

// QPDF runs a job in the job's folder and returns qpdf's output. The error is an *engine.ExitError if qpdf failed.
func QPDF(ctx context.Context, w *engine.Work, job QPDFJob) ([]byte, error) {
	return qpdfWithin(ctx, w, job, 0)
}

// qpdfWithin is qpdf with a memory limit in bytes, below the job's.
func qpdfWithin(ctx context.Context, w *engine.Work, job QPDFJob, memory int64) ([]byte, error) {
	out, err := RunQPDF(ctx, w, job, engine.Program{Memory: memory})
	var exit *engine.ExitError
	_, asked := job["requiresPassword"]
	_, checked := job["check"]

	// The exit code of these two is the answer.
	if !asked && !checked && errors.As(err, &exit) && exit.Code == qpdfWarnings {
		return out, nil
	}

	if name, ok := job["outputFile"].(string); ok && err == nil {
		// qpdf does not decode what it encrypts, and so does not find that it has used a wrong key.
		encrypted, readErr := FileContains(w.Path(name), "/Encrypt")
		if err = readErr; err == nil && !encrypted {
			err = MarkSound(w, name)
		}
	}
	return out, err
}

// RunQPDF runs a job as a program with its own limits. Its error is an *engine.ExitError even if qpdf only warns.
func RunQPDF(ctx context.Context, w *engine.Work, job QPDFJob, program engine.Program) ([]byte, error) {
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
	program.MaxStdout = MaxQPDFOutput
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

// MaxQPDFOutput is the maximum size of qpdf's output: the outline of the largest documents has a few megabytes.
const MaxQPDFOutput = 64 << 20

// Output is the name of a job's result.
const Output = "output.pdf"

// Write runs a qpdf job on this document that writes a result of the job. Encryption stays as it is unless the job
// changes it.
func (d *Document) Write(ctx context.Context, job QPDFJob) error {
	if err := WriteResult(ctx, d, job); err != nil {
		return err
	}
	d.Work.Output(Output)
	return nil
}

// WriteResult is Write to a file that a later one may replace.
func WriteResult(ctx context.Context, d *Document, job QPDFJob) error {
	if d.Packed {
		job["objectStreams"] = "generate"
	}
	if d.Sealed != nil {
		job["copyEncryption"], job["encryptionFilePassword"] = d.Sealed.Name, d.Sealed.Password
	}
	return d.WriteTo(ctx, Output, job)
}

// WriteTo is Write to a file that is not the result, or not yet.
func (d *Document) WriteTo(ctx context.Context, name string, job QPDFJob) error {
	job["inputFile"], job["password"], job["outputFile"] = d.Name, d.Password, name
	_, err := QPDF(ctx, d.Work, job)
	return d.Damaged(err)
}

// Damaged blames the document for a program that failed on it, or that it
// crashed.
func (d *Document) Damaged(err error) error {
	var exit *engine.ExitError
	switch {
	case !errors.As(err, &exit):
		return err
	case exit.Signal != 0:
		return d.Fail(Exhausted, err)
	}
	return d.Fail(Damaged, err)
}

// soundTime is the time of change of a file that qpdf has written without a warning, or
// checked: its structure needs no second check. Any later change gives it another.
var soundTime = time.Unix(0, 0)

// MarkSound marks a file as one whose structure needs no second check.
func MarkSound(w *engine.Work, name string) error {
	return os.Chtimes(w.Path(name), time.Time{}, soundTime)
}

// IsSound reports whether a file is marked so.
func IsSound(w *engine.Work, name string) bool {
	about, err := os.Stat(w.Path(name))
	return err == nil && about.ModTime().Equal(soundTime)
}
