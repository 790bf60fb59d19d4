package job

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/relaypdf/relaypdf/render/engine"
)

// DrawScript precedes the scripts that draw on pages.
//
//go:embed draw.js
var DrawScript string

// RunScript runs a script of MuPDF in the job's folder, under a name that no other has at
// the same time. The script finds its arguments in args and prints its result as JSON.
func RunScript[Result any](
	ctx context.Context, d *Document, name string, script []byte, args any,
) (result Result, err error) {
	text, err := json.Marshal(args)
	if err != nil {
		return result, err
	}

	argsFile := name + "on"
	begin := fmt.Appendf(nil, "var args = JSON.parse(read(%q));\n", argsFile)
	for file, content := range map[string][]byte{name: append(begin, script...), argsFile: text} {
		if err := os.WriteFile(d.Work.Path(file), content, 0o600); err != nil {
			return result, fmt.Errorf("script: %w", err)
		}
	}

	out, err := d.DrawPages(ctx, d.Pages, engine.Program{Name: "mutool", Args: []string{"run", engine.PathArg(name)}})
	if errors.Is(err, engine.ErrNoProgram) {
		return result, &Error{Kind: NoProgram, Text: "MuPDF", Cause: err}
	}
	if err != nil {
		return result, d.Damaged(err)
	}

	if err := json.Unmarshal(out, &result); err != nil {
		return result, d.Fail(Damaged, fmt.Errorf("%s printed no result: %w", name, err))
	}
	return result, nil
}

// OpenInput are the arguments of the script that opens a document.
type OpenInput struct {
	Input  string  `json:"input"`
	Output string  `json:"output"`
	Room   float64 `json:"room"`
	// Metadata is the file for the document's metadata.
	Metadata string `json:"metadata"`
}

// TakeJSON reads a file that a script wrote, and removes it.
func TakeJSON[T any](d *Document, name string) (value T, err error) {
	text, err := os.ReadFile(d.Work.Path(name))
	if err != nil {
		return value, d.Fail(Damaged, fmt.Errorf("script: %w", err))
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, d.Fail(Damaged, fmt.Errorf("%s: %w", name, err))
	}
	return value, os.Remove(d.Work.Path(name))
}

// SaveJSON writes a value, as JSON, to a new file of the job's folder.
func SaveJSON(w *engine.Work, name string, v any) (err error) {
	out, err := os.OpenFile(w.Path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return buffered.Flush()
}

// WriteJSON makes a value, as JSON, an output of the job.
func WriteJSON(w *engine.Work, name string, v any) error {
	w.Output(name)
	return SaveJSON(w, name, v)
}
