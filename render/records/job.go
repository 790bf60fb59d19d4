package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/relaypdf/relaypdf/render/engine"
)

// Job is the name of the job that reads a file, for engine.Job. Its argument is the Options, its input the file
// InputName, and its output the records, one per line.
const Job = "records"

// InputName is the name of the file in the job's folder.
const InputName = "records"

// jobCode marks the errors of this package among an engine's.
const jobCode = "records"

// Handlers are the jobs of this package that a child of render/engine can do.
func Handlers() engine.Handlers {
	return engine.Handlers{Job: engine.Handle(func(_ context.Context, w *engine.Work, options Options, _ []byte) ([]byte, error) {
		count, err := readFile(w, options)
		var refused *Error
		if errors.As(err, &refused) {
			return nil, &engine.JobError{Code: jobCode, Message: refused.Text}
		}
		if err != nil {
			return nil, fmt.Errorf("records: %w", err)
		}
		return json.Marshal(count)
	})}
}

func readFile(w *engine.Work, options Options) (count int, err error) {
	const output = "records.jsonl"
	source, err := os.Open(w.Path(InputName))
	if err != nil {
		return 0, err
	}
	defer source.Close()

	about, err := source.Stat()
	if err != nil {
		return 0, err
	}

	out, err := os.Create(w.Path(output))
	if err != nil {
		return 0, err
	}

	w.Output(output)
	count, err = Read(source, about.Size(), out, options)
	return count, errors.Join(err, out.Close())
}

// FromJob returns the *Error that a job failed with, or else err itself.
func FromJob(err error) error {
	var failed *engine.JobError
	if errors.As(err, &failed) && failed.Code == jobCode {
		return &Error{failed.Message}
	}
	return err
}
