package email

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/relaypdf/relaypdf/render/engine"
)

// Job is the name of the job that makes a page of a message, for engine.Job. Its
// argument is the message's name in the job's folder. Its outputs are the page, and
// the files of Result.
const Job = "email"

// Result is the result of Job.
type Result struct {
	From, Subject string
	Files         []Named
	Notes         []string
	// Remote are URLs of images that are left out.
	Remote []string
}

// Named is an attachment of a message.
type Named struct{ Name, Type string }

// Handlers are the jobs of this package that a child of render/engine can do.
func Handlers() engine.Handlers {
	handler := engine.Handle(func(_ context.Context, w *engine.Work, name string, _ []byte) ([]byte, error) {
		result, err := printed(w, name)
		var refused *Error
		if errors.As(err, &refused) {
			return nil, &engine.JobError{Code: jobCode, Message: refused.Text}
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	})

	return engine.Handlers{Job: handler}
}

// jobCode marks the errors of this package among an engine's.
const jobCode = "email"

// FromJob returns the *Error that a job failed with, or else err itself.
func FromJob(err error) error {
	var failed *engine.JobError
	if errors.As(err, &failed) && failed.Code == jobCode {
		return &Error{failed.Message}
	}
	return err
}

// printed reads a message and writes its page and its files.
func printed(w *engine.Work, name string) (result Result, err error) {
	source, err := os.Open(w.Path(name))
	if err != nil {
		return result, fmt.Errorf("email: %w", err)
	}
	defer source.Close()

	m, err := Read(source)
	if err != nil {
		return result, err
	}

	page, remote, err := m.Page()
	if err != nil {
		return result, err
	}

	result = Result{From: m.From.String(), Subject: m.Subject, Notes: m.Notes, Remote: remote}
	outputs := [][]byte{[]byte(page)}
	for _, f := range m.attached() {
		result.Files = append(result.Files, Named{f.Name, f.Type})
		outputs = append(outputs, f.Content)
	}

	for i, content := range outputs {
		output := fmt.Sprintf("made%d", i)
		if err := os.WriteFile(w.Path(output), content, 0o600); err != nil {
			return result, fmt.Errorf("email: %w", err)
		}
		w.Output(output)
	}
	return result, nil
}
