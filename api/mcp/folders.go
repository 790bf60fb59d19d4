package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Members that only agents on this machine have.
const (
	pathMember = "path"
	pathHint   = "Path of a local file, in place of file."
	saveMember = "saveTo"
)

// maxLocal bounds a local file that is read, in bytes.
const maxLocal = 50 << 20

// folders are the folders that tools may use. The target of a link is in a folder only if it does not lead out of it.
type folders struct{ open []folder }

type folder struct {
	given, path string // the name as given, and the path
	root        *os.Root
}

// openFolders opens folders, each of which must exist.
func openFolders(paths []string) (_ *folders, err error) {
	f := &folders{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()

	for _, path := range paths {
		given, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		resolved, err := filepath.EvalSymlinks(given)
		if err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(resolved)
		if err != nil {
			return nil, err
		}
		f.open = append(f.open, folder{given, resolved, root})
	}

	return f, nil
}

func (f *folders) close() error {
	var errs []error
	for _, folder := range f.open {
		errs = append(errs, folder.root.Close())
	}
	return errors.Join(errs...)
}

// find returns the folder that contains a path, and the path within it. A relative path is in the first folder.
func (f *folders) find(path string) (*os.Root, string, error) {
	if len(f.open) == 0 {
		return nil, "", errors.New("requires access to local files. Start the server with --root FOLDER")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.open[0].path, path)
	}

	var names []string
	for _, folder := range f.open {
		for _, base := range []string{folder.path, folder.given} {
			if within, err := filepath.Rel(base, filepath.Clean(path)); err == nil && filepath.IsLocal(within) {
				return folder.root, within, nil
			}
		}
		names = append(names, folder.given)
	}

	return nil, "", fmt.Errorf("must be a path in %s", strings.Join(names, " or "))
}

// read reads a file.
func (f *folders) read(path string) ([]byte, error) {
	root, name, err := f.find(path)
	if err != nil {
		return nil, err
	}

	file, err := root.Open(name)
	if err != nil {
		return nil, errors.New("cannot be read: " + plainError(err))
	}
	defer file.Close()

	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, errors.New("cannot be read: " + plainError(err))
	case !info.Mode().IsRegular():
		return nil, errors.New("must be a file")
	case info.Size() > maxLocal:
		return nil, fmt.Errorf("must be at most %d MiB", maxLocal>>20)
	}

	content, err := io.ReadAll(io.LimitReader(file, maxLocal))
	if err != nil {
		return nil, errors.New("cannot be read: " + plainError(err))
	}
	return content, nil
}

// create makes a file that is not there yet.
func (f *folders) create(path string) (*os.Root, *os.File, string, error) {
	root, name, err := f.find(path)
	if err != nil {
		return nil, nil, "", err
	}

	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, nil, "", errors.New("already exists and is not overwritten. Choose another name")
	}
	if err != nil {
		return nil, nil, "", errors.New("cannot be written: " + plainError(err))
	}

	return root, file, name, nil
}

// plainError leaves the path out, which the agent has given itself.
func plainError(err error) string {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// offer lets a tool read local files for its file fields, and write its result to a file.
func (f *folders) offer(t *tool) error {
	// The listed input refers to those of other tools, so it does not have all places of files.
	input, err := t.input()
	if err != nil {
		return err
	}
	takes := addPaths(input)
	if t.Operation == nil && !takes {
		return nil
	}

	if listed, ok := t.described.InputSchema.(*jsonschema.Schema); ok && !t.unlisted {
		addPaths(listed)
		if t.Operation != nil {
			listed.Properties.Set(saveMember, &jsonschema.Schema{
				Type: "string", Description: "Path of a new local file for the result.",
			})
		}
	}

	inner := t.run
	t.run = func(ctx context.Context, s *service, arguments json.RawMessage) (*sdk.CallToolResult, error) {
		arguments, save, err := f.prepare(input, arguments, t.Operation != nil)
		if err != nil {
			return refused(err)
		}
		if save == "" {
			return inner(ctx, s, arguments)
		}
		return f.saved(ctx, s, save, func() (*sdk.CallToolResult, error) { return inner(ctx, s, arguments) })
	}
	return nil
}

// addPaths adds a path next to each file in a schema and reports whether there are any.
func addPaths(doc *jsonschema.Schema) (has bool) {
	if doc == nil || doc.Properties == nil {
		return doc != nil && doc.Items != nil && addPaths(doc.Items)
	}

	for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if addPaths(pair.Value) {
			has = true
		}
	}

	_, content := doc.Properties.Get("file")
	if _, stored := doc.Properties.Get("fileId"); content || stored {
		doc.Properties.Set(pathMember, &jsonschema.Schema{Type: "string", Description: pathHint})
		has = true
	}
	return has
}

// prepare puts the content of local files into the arguments, and removes the path of the result.
func (f *folders) prepare(
	input *jsonschema.Schema, arguments json.RawMessage, saves bool,
) (prepared json.RawMessage, save string, err error) {
	given, err := membersOf(arguments)
	if err != nil {
		return nil, "", err
	}

	kept := given[:0:0]
	for _, m := range given {
		if saves && m.name == saveMember {
			if err := json.Unmarshal(m.value, &save); err != nil || save == "" {
				return nil, "", schema.FieldErrors{{Field: saveMember, Message: "must be a path"}}
			}
			continue
		}
		kept = append(kept, m)
	}

	async := func(m member) bool { return m.name == asyncMember && string(m.value) == "true" }
	if save != "" && slices.ContainsFunc(kept, async) {
		return nil, "", schema.FieldErrors{{Field: saveMember, Message: "is mutually exclusive with async"}}
	}

	var faults schema.FieldErrors
	prepared, err = f.inline(input, kept, "", &faults)
	if err == nil {
		err = faults.OrNil()
	}
	return prepared, save, err
}

// inline replaces the paths in an object by the contents of their files.
func (f *folders) inline(
	doc *jsonschema.Schema, members []member, place string, faults *schema.FieldErrors,
) (json.RawMessage, error) {
	for i, m := range members {
		shape, ok := doc.Properties.Get(m.name)
		if !ok {
			continue
		}

		var err error
		switch {
		case m.name == pathMember && shape.Description == pathHint:
			err = f.inlineFile(&members[i], place, faults)
		case shape.Properties != nil:
			members[i].value, err = f.inlineObject(shape, m.value, place+m.name+".", faults)
		case shape.Items != nil && shape.Items.Properties != nil:
			members[i].value, err = f.inlineItems(shape.Items, m.value, place+m.name, faults)
		}
		if err != nil {
			return nil, err
		}
	}
	return objectOf(members)
}

func (f *folders) inlineFile(m *member, place string, faults *schema.FieldErrors) error {
	var path string
	if err := json.Unmarshal(m.value, &path); err != nil {
		faults.Add(place+pathMember, "must be a path")
		return nil //nolint:nilerr // it is reported with the other validation errors
	}

	content, err := f.read(path)
	if err != nil {
		faults.Add(place+pathMember, "%s", err.Error())
		return nil
	}

	m.name = "file"
	m.value, err = json.Marshal(base64.StdEncoding.EncodeToString(content))
	return err
}

// inlineObject leaves a value that is not an object unchanged, for the service to refuse.
func (f *folders) inlineObject(
	doc *jsonschema.Schema, value json.RawMessage, place string, faults *schema.FieldErrors,
) (json.RawMessage, error) {
	members, err := membersOf(value)
	if err != nil || members == nil {
		return value, nil //nolint:nilerr // the service refuses it
	}
	return f.inline(doc, members, place, faults)
}

func (f *folders) inlineItems(
	doc *jsonschema.Schema, value json.RawMessage, place string, faults *schema.FieldErrors,
) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return value, nil //nolint:nilerr // the service refuses it
	}

	for i := range items {
		var err error
		if items[i], err = f.inlineObject(doc, items[i], fmt.Sprintf("%s[%d].", place, i), faults); err != nil {
			return nil, err
		}
	}
	return json.Marshal(items)
}

// saved makes a call whose result goes to a local file. The file is created before the call is paid, and removed if
// the call fails.
func (f *folders) saved(
	ctx context.Context, s *service, path string, call func() (*sdk.CallToolResult, error),
) (_ *sdk.CallToolResult, err error) {
	root, file, name, err := f.create(path)
	if err != nil {
		return refused(schema.FieldErrors{{Field: saveMember, Message: err.Error()}})
	}

	written := false
	defer func() {
		err = errors.Join(err, file.Close())
		if !written {
			err = errors.Join(err, root.Remove(name))
		}
	}()

	result, err := call()
	if err != nil || result.IsError {
		return result, err
	}
	structured, ok := result.StructuredContent.(json.RawMessage)
	if !ok {
		return result, nil
	}
	var made wire.JobStatus
	if err := json.Unmarshal(structured, &made); err != nil {
		return nil, err
	}

	answer, err := s.open(ctx, made.ID)
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		return failed(answer)
	}
	if _, err := file.Write(answer.Body); err != nil {
		return nil, err
	}

	written = true
	return withSaved(result, structured, path)
}

// withSaved adds to a result the path that it was written to.
func withSaved(result *sdk.CallToolResult, structured json.RawMessage, path string) (*sdk.CallToolResult, error) {
	members, err := membersOf(structured)
	if err != nil {
		return nil, err
	}
	where, err := json.Marshal(path)
	if err != nil {
		return nil, err
	}
	text, err := objectOf(append(members, member{"savedTo", where}))
	if err != nil {
		return nil, err
	}

	result.StructuredContent = json.RawMessage(text)
	result.Content[len(result.Content)-1] = &sdk.TextContent{Text: string(text)}
	return result, nil
}
