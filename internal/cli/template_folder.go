package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
)

// The files of a template's folder.
const (
	templateSource   = "template.html"
	templateData     = "data.json"
	templateOptions  = "options.json"
	templatePartials = "partials"
	templateState    = ".relaypdf.json"
)

// templateContent is the content of a template, local or at a service.
type templateContent struct {
	html          string
	data, options json.RawMessage
	partials      map[string]string
}

// files are the content as the files of a folder, by their path in it.
func (c templateContent) files() map[string]string {
	files := map[string]string{
		templateSource: c.html, templateData: prettyText(c.data), templateOptions: prettyText(c.options),
	}
	for name, html := range c.partials {
		files[filepath.Join(templatePartials, name+".html")] = html
	}
	return files
}

// prettyText writes an object as users edit it.
func prettyText(object json.RawMessage) string {
	if object = bytes.TrimSpace(object); len(object) == 0 {
		object = json.RawMessage("{}")
	}
	var text bytes.Buffer
	if json.Indent(&text, object, "", "  ") != nil {
		return string(object)
	}
	return text.String() + "\n"
}

// templateFolder is a template that is edited here.
type templateFolder struct {
	path  string
	state folderState
}

// folderState records the services that the folder was pulled from or pushed to.
type folderState struct {
	Slug    string                  `json:"slug"`
	Servers map[string]*remoteState `json:"servers"`
}

// remoteState is a template at one service as it was seen last.
type remoteState struct {
	ID       string            `json:"id"`
	ETag     string            `json:"etag"`
	Partials map[string]string `json:"partials"` // digests, by name
}

// openTemplateFolder reads the state of a folder. The state of a new folder is empty.
func openTemplateFolder(path string) (*templateFolder, error) {
	f := &templateFolder{path: path}
	text, err := os.ReadFile(filepath.Join(path, templateState))
	if err == nil {
		err = json.Unmarshal(text, &f.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, console.Usagef("%s: %w; pull the template again with --force", filepath.Join(path, templateState), err)
	}
	if f.state.Servers == nil {
		f.state.Servers = map[string]*remoteState{}
	}
	return f, nil
}

// partialFile is the syntax of partials' names, at the service and here.
var partialFile = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

// readTemplateFolder opens a folder and reads its template.
func readTemplateFolder(path string) (*templateFolder, templateContent, error) {
	folder, err := openTemplateFolder(path)
	if err != nil {
		return nil, templateContent{}, err
	}
	content, err := folder.read()
	return folder, content, err
}

// read returns the folder's files. Data and options may be missing.
func (f *templateFolder) read() (templateContent, error) {
	c := templateContent{partials: map[string]string{}}
	html, err := os.ReadFile(filepath.Join(f.path, templateSource))
	if errors.Is(err, fs.ErrNotExist) {
		return c, console.Usagef("no %s in %s; run relaypdf templates pull SLUG to create a template folder", templateSource,
			f.path)
	}
	if err != nil {
		return c, console.UsageError{Err: err}
	}
	c.html = string(html)

	for name, object := range map[string]*json.RawMessage{templateData: &c.data, templateOptions: &c.options} {
		text, err := os.ReadFile(filepath.Join(f.path, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			*object = json.RawMessage("{}")
			continue
		case err != nil:
			return c, console.UsageError{Err: err}
		}

		if err := checkObject(text); err != nil {
			return c, console.Usagef("%s: %w", filepath.Join(f.path, name), err)
		}
		*object = text
	}

	entries, err := os.ReadDir(filepath.Join(f.path, templatePartials))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, console.UsageError{Err: err}
	}

	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".html")
		if !ok || entry.IsDir() || !partialFile.MatchString(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(f.path, templatePartials, entry.Name()))
		if err != nil {
			return c, console.UsageError{Err: err}
		}
		c.partials[name] = string(text)
	}

	return c, nil
}

// checkObject returns an error with the position if a text is not a JSON object.
func checkObject(text []byte) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal(text, &object)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		before := text[:min(int(syntax.Offset), len(text))]
		return fmt.Errorf("line %d: %w", bytes.Count(before, []byte("\n"))+1, err)
	}
	if err != nil {
		return errors.New("must be a JSON object: {…}")
	}
	return nil
}

// changed returns the files that differ from those that the latest pull or push wrote.
func (f *templateFolder) changed(now templateContent) []string {
	var changed []string
	for name, text := range now.files() {
		here, err := os.ReadFile(filepath.Join(f.path, name))
		if err == nil && string(here) != text {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// write puts a content into the folder.
func (f *templateFolder) write(c templateContent) error {
	if err := os.MkdirAll(filepath.Join(f.path, templatePartials), 0o755); err != nil {
		return console.UsageError{Err: err}
	}
	for name, text := range c.files() {
		if err := replaceFile(filepath.Join(f.path, name), []byte(text), asUmask); err != nil {
			return console.UsageError{Err: err}
		}
	}
	return nil
}

// remember notes a template as a service has it now.
func (f *templateFolder) remember(server string, t client.TemplateState, partials map[string]string) error {
	remote := &remoteState{ID: t.ID, ETag: t.ETag, Partials: map[string]string{}}
	for name, html := range partials {
		remote.Partials[name] = digest(html)
	}
	f.state.Slug = t.Slug
	f.state.Servers[server] = remote
	text, err := json.MarshalIndent(f.state, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(f.path, templateState), append(text, '\n'), asUmask)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// namedPartial matches a reference to a partial, and its name if it is constant.
var namedPartial = regexp.MustCompile(`\{\{\{?~?#?>\s*(?:["']?([A-Za-z0-9_-]+)["']?)?`)

// fetchTemplate reads a template, with the partials that it shows.
func fetchTemplate(ctx context.Context, c *client.Client, id string) (client.TemplateState, templateContent, error) {
	t, err := c.Templates().Get(ctx, id)
	if err != nil {
		return t, templateContent{}, err
	}

	list, err := c.Templates().PartialsList(ctx)
	if err != nil {
		return t, templateContent{}, err
	}

	stored := map[string]string{}
	for _, partial := range list.Partials {
		if partialFile.MatchString(partial.Name) {
			stored[partial.Name] = partial.HTML
		}
	}

	content := templateContent{data: t.SampleData, options: t.Options}
	if t.HTML != nil {
		content.html = *t.HTML
	}
	content.partials = usedPartials(content.html, stored)
	return t, content, nil
}

// usedPartials returns the partials that a source includes, directly or through others; all of them if the data chooses
// one.
func usedPartials(html string, stored map[string]string) map[string]string {
	used := map[string]string{}
	open := []string{html}
	for len(open) > 0 {
		source := open[0]
		open = open[1:]

		for _, match := range namedPartial.FindAllStringSubmatch(source, -1) {
			if match[1] == "" {
				return maps.Clone(stored)
			}
			text, there := stored[match[1]]
			if _, known := used[match[1]]; there && !known {
				used[match[1]] = text
				open = append(open, text)
			}
		}
	}

	return used
}

// inlined returns the source with the partials in it, so the local ones are shown instead of those at the service.
// They are at the end, so lines keep their numbers.
func (c templateContent) inlined() string {
	var text strings.Builder
	text.WriteString(c.html)
	for _, name := range slices.Sorted(maps.Keys(c.partials)) {
		fmt.Fprintf(&text, "{{#*inline \"%s\"}}%s{{/inline}}", name, c.partials[name])
	}
	return text.String()
}
