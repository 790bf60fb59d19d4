package template

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/relaypdf/relaypdf/render/engine"
)

// The names of the engines' jobs.
const (
	renderJob   = "template render"
	validateJob = "template validate"
)

// garbagePercent is the garbage collector's GOGC value. A render leaves about 3 MB of garbage in a process that
// needs little more. Go's default would spend a third of the time on collection. The engine's memory limit bounds
// the garbage.
const garbagePercent = 400

// renderArgs are the arguments of a render; its body is the call as JSON, and its
// files the images.
type renderArgs struct {
	Account string       `json:"account"`
	Images  []imageEntry `json:"images,omitempty"`
}

// imageEntry is an image and the file that holds it.
type imageEntry struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	File string `json:"file"`
}

// answer is the result of a job; the document follows it after a newline.
type answer struct {
	Faults  []Fault   `json:"faults,omitempty"`
	Missing []Missing `json:"missing,omitempty"`
	Limit   string    `json:"limit,omitempty"`
	Wanted  []string  `json:"wanted,omitempty"`
	Report  *Report   `json:"report,omitempty"`
}

// Handlers returns the jobs of a process that renders templates. They share its cache of compiled templates.
func Handlers() engine.Handlers {
	programs := newCache()
	return engine.Handlers{
		renderJob:   engine.Handle(programs.serve),
		validateJob: engine.Handle(serveValidate),
	}
}

func (c *cache) serve(ctx context.Context, w *engine.Work, args renderArgs, body []byte) ([]byte, error) {
	c.once.Do(func() { debug.SetGCPercent(garbagePercent) })
	var call Call
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, err
	}

	given := images{}
	for _, entry := range args.Images {
		content, err := os.ReadFile(w.Path(entry.File))
		if err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
		given[entry.ID] = "data:" + entry.Type + ";base64," + base64.StdEncoding.EncodeToString(content)
	}

	html, wanted, err := c.render(ctx, args.Account, &call, given)
	return reply(answer{Wanted: wanted}, html, err)
}

func serveValidate(ctx context.Context, _ *engine.Work, _ struct{}, body []byte) ([]byte, error) {
	var call Call
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, err
	}
	report, err := validate(ctx, &call)
	return reply(answer{Report: &report}, "", err)
}

// reply writes an answer. Errors that are the template's become a part of it.
func reply(a answer, html string, err error) ([]byte, error) {
	var faults *Error
	var missing *MissingError
	var limit *LimitError
	switch {
	case errors.As(err, &faults):
		a = answer{Faults: faults.Faults}
	case errors.As(err, &missing):
		a = answer{Missing: missing.Paths}
	case errors.As(err, &limit):
		a = answer{Limit: limit.Message}
	case err != nil:
		return nil, err
	}

	header, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return append(append(header, '\n'), html...), nil
}

// read takes an answer apart.
func read(body []byte) (a answer, html []byte, err error) {
	header, html, _ := bytes.Cut(body, []byte("\n"))
	if err := json.Unmarshal(header, &a); err != nil {
		return a, nil, fmt.Errorf("template: answer of the engine: %w", err)
	}

	switch {
	case len(a.Faults) > 0:
		return a, nil, &Error{Faults: a.Faults}
	case len(a.Missing) > 0:
		return a, nil, &MissingError{Paths: a.Missing}
	case a.Limit != "":
		return a, nil, &LimitError{Message: a.Limit}
	}
	return a, html, nil
}
