package template

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/relaypdf/relaypdf/render/engine"
)

// Runner runs a job in an engine's process, such as engine.Pool.Run.
type Runner func(ctx context.Context, job engine.Job) (engine.Result, error)

// Images opens an upload of the account by its id. An error that is not the
// template's fault ends the render; ErrNoImage is.
type Images func(ctx context.Context, id string) (engine.Content, error)

// ErrNoImage means that an account has no such upload.
var ErrNoImage = errors.New("template: no such image")

// rounds is the maximum number of times that a template is filled again because it shows images that it did not
// name before. One image may depend on another.
const rounds = 3

// Render fills a template for an account and returns HTML. Its errors are *Error, *MissingError, *LimitError, and
// those of the runner and of open.
func Render(ctx context.Context, run Runner, account string, call Call, open Images) (string, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return "", fmt.Errorf("template: %w", err)
	}

	args := renderArgs{Account: account}
	var files []engine.File
	for range rounds {
		result, err := run(ctx, engine.Job{Name: renderJob, Args: args, Body: body, Files: files})
		if err != nil {
			return "", errors.Join(err, result.Close())
		}

		a, html, err := read(result.Body)
		if err != nil || len(a.Wanted) == 0 {
			return string(html), err
		}

		for _, id := range a.Wanted {
			content, kind, err := openImage(ctx, open, id)
			if err != nil {
				return "", err
			}
			entry := imageEntry{ID: id, Type: kind, File: fmt.Sprintf("image-%d", len(files))}
			args.Images = append(args.Images, entry)
			files = append(files, engine.File{Name: entry.File, Content: content})
		}
	}
	return "", &LimitError{
		Message: fmt.Sprintf("The template requests new images after %d passes. Use fixed image IDs.", rounds),
	}
}

// openImage opens an upload and detects its type.
func openImage(ctx context.Context, open Images, id string) (engine.Content, string, error) {
	unknown := &Error{Faults: []Fault{{
		Message: fmt.Sprintf("image: no stored file with ID %.80q, or it has expired", id),
	}}}
	if open == nil {
		return nil, "", unknown
	}

	content, err := open(ctx, id)
	switch {
	case errors.Is(err, ErrNoImage):
		return nil, "", unknown
	case err != nil:
		return nil, "", err
	case content.Size() > maxOutput:
		return nil, "", &LimitError{
			Message: fmt.Sprintf("The image %.80q exceeds the limit of %d bytes.", id, maxOutput),
		}
	}

	head, err := bufio.NewReaderSize(content.Open(), 1<<10).Peek(1 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}

	kind := imageType(head)
	if kind == "" {
		return nil, "", &Error{Faults: []Fault{{
			Message: fmt.Sprintf("image: the file %.80q must be a PNG, JPEG, GIF, WebP or SVG image", id),
		}}}
	}
	return content, kind, nil
}

func imageType(head []byte) string {
	switch kind := http.DetectContentType(head); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}

	if bytes.Contains(head, []byte("<svg")) {
		return "image/svg+xml"
	}
	return ""
}

// Validate reports the errors of a template and the values that it uses.
func Validate(ctx context.Context, run Runner, call Call) (Report, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return Report{}, fmt.Errorf("template: %w", err)
	}

	result, err := run(ctx, engine.Job{Name: validateJob, Args: struct{}{}, Body: body})
	if err != nil {
		return Report{}, errors.Join(err, result.Close())
	}

	a, _, err := read(result.Body)
	if err != nil || a.Report == nil {
		return Report{}, err
	}
	return *a.Report, nil
}
