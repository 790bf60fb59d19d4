package cli

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/cli/console"
)

// sourceFilename is the field for the name of the source.
const sourceFilename = "sourceFilename"

// sourceNames are the fields with the source of an operation. On the command line they are arguments and not flags.
var sourceNames = [...]string{"html", "url", "markdown", "file", "files"}

// sources are the sources that an operation accepts. A new operation needs no code here: they derive from its schema.
type sources struct {
	fields []string
	item   *jsonschema.Schema // of files
	named  bool               // sourceFilename is a field
	// otherwise names the commands for a document that is not text; empty for text.
	otherwise func(sourceFile) string
	// local sends the files that a page refers to.
	local *localFiles
}

func sourcesOf(input *jsonschema.Schema) sources {
	var s sources
	for name, member := range properties(input) {
		if isSource(input, name) {
			s.fields = append(s.fields, name)
			if name == "files" {
				s.item = member.Items
			}
		}

		if name == sourceFilename {
			s.named = true
		}
	}
	return s
}

// isSource reports whether a field holds the source of an operation. A list of files is not the source if there is a
// single file.
func isSource(input *jsonschema.Schema, name string) bool {
	if name == "files" {
		_, beside := input.Properties.Get("file")
		return !beside
	}
	return slices.Contains(sourceNames[:], name)
}

func (s sources) has(name string) bool { return slices.Contains(s.fields, name) }

// takesFiles reports whether any file may be the source. Next to HTML and without its own name, a file is the archive
// of a site.
func (s sources) takesFiles() bool { return s.has("file") && (s.named || !s.has("html")) }

// usage returns the arguments in the usage line.
func (s sources) usage() string {
	switch {
	case s.has("files"):
		return "FILE|URL ..."
	case len(s.fields) == 0:
		return ""
	case s.has("url"):
		return "FILE|URL|-"
	}
	return "FILE|-"
}

func (s sources) help() string {
	if len(s.fields) == 0 {
		return ""
	}
	if s.has("files") {
		return "FILE: files in order, or their URLs."
	}

	kinds := []string{"- for standard input"}
	for _, kind := range []struct{ field, text string }{
		{"url", "URL, .url shortcut"},
		{"file", "file, such as a ZIP site"},
		{"markdown", "Markdown file (.md)"},
		{"html", "HTML file"},
	} {
		if kind.field == "file" && !s.has("html") {
			kind.text = "file"
		}
		if s.has(kind.field) {
			kinds = append([]string{kind.text}, kinds...)
		}
	}

	return "Source: " + strings.Join(kinds[:len(kinds)-1], ", ") + " or " + kinds[len(kinds)-1] + "."
}

// checkArgs is a cobra check of how many arguments there are.
func (s sources) checkArgs(cmd *cobra.Command, args []string) error {
	switch {
	case s.has("files"):
		return nil
	case len(s.fields) == 0 && len(args) > 0:
		return fmt.Errorf("%s accepts flags only; got %q", cmd.CommandPath(), args[0])
	case len(args) > 1:
		text := fmt.Sprintf("%s accepts one source; got %d: %q", cmd.CommandPath(), len(args), args)
		return fmt.Errorf("%s%s", text, s.suggestion(cmd, args[0]))
	case len(args) == 1 && args[0] != "-" && !isAddress(args[0]) && console.IsAbsent(args[0]):
		return fmt.Errorf("the file %q does not exist%s", args[0], s.suggestion(cmd, args[0]))
	}
	return nil
}

// suggestion returns the command that a mistyped one was probably meant to be, or the flag for a source that is not a
// local file.
func (s sources) suggestion(cmd *cobra.Command, arg string) string {
	if near := cmd.SuggestionsFor(arg); len(near) > 0 {
		return ", and no such command; did you mean " + cmd.CommandPath() + " " + near[0] + "?"
	}
	if strings.HasPrefix(arg, "file_") && cmd.Flags().Lookup("file-id") != nil {
		return "; name one that the service keeps by --file-id"
	}
	return ""
}

// sourceFile is one source: an address, or a name and a content.
type sourceFile struct {
	address string
	name    string // empty: standard input
	content []byte
}

// isArchive reports whether a document is a ZIP archive without another extension, such as that of office documents.
func (d sourceFile) isArchive() bool {
	ending := strings.ToLower(filepath.Ext(d.name))
	return (ending == ".zip" || ending == "") && http.DetectContentType(d.content) == "application/zip"
}

// put sets the source fields of a request from the arguments. They take the
// place of the sources that --json brought.
func (s sources) put(input map[string]any, stdin io.Reader, args []string, markdown bool) error {
	if len(args) == 0 {
		return nil
	}

	for _, name := range s.fields {
		delete(input, name)
	}

	if s.has("files") {
		var files []any
		for _, arg := range args {
			file, err := readFileSource(s.item, arg)
			if err != nil {
				return console.UsageError{Err: err}
			}
			files = append(files, file)
		}
		input["files"] = files
		return nil
	}

	doc, err := readDocument(stdin, args[0])
	if err != nil {
		return console.UsageError{Err: err}
	}

	if s.otherwise != nil && !s.takesFiles() {
		if said := s.otherwise(doc); said != "" && (!s.has("file") || !doc.isArchive()) {
			return console.Usagef("%s is %s", args[0], said)
		}
	}

	if err := s.putDocument(input, doc, s.choose(doc, markdown)); err != nil {
		return console.Usagef("%s: %w", args[0], err)
	}
	return nil
}

// putDocument sets the field that was chosen for the only source.
func (s sources) putDocument(input map[string]any, doc sourceFile, field string) error {
	switch field {
	case "":
		return fmt.Errorf("this operation accepts %s", strings.Join(s.fields, ", "))
	case "url":
		input[field] = doc.address
	case "file":
		input[field] = base64.StdEncoding.EncodeToString(doc.content)
		if s.named && doc.name != "" {
			input[sourceFilename] = filepath.Base(doc.name)
		}
	default:
		text := bytes.TrimPrefix(doc.content, []byte("\uFEFF"))
		if !utf8.Valid(text) {
			return errors.New("not text in UTF-8; convert it first")
		}

		if s.local == nil || doc.name == "" {
			input[field] = string(text)
			return nil
		}

		whole, err := s.local.embed(doc.name, field, string(text))
		if err != nil {
			return err
		}
		input[field] = whole
	}

	return nil
}

// choose returns the field for a document, or nothing if the operation accepts none of its kind: by its name, then
// by its content.
func (s sources) choose(doc sourceFile, markdown bool) string {
	first := func(names ...string) string {
		for _, name := range names {
			if s.has(name) {
				return name
			}
		}
		return ""
	}

	extension := strings.ToLower(filepath.Ext(doc.name))
	switch {
	case doc.address != "":
		return first("url")
	case markdown:
		return first("markdown")
	case extension == ".md" || extension == ".markdown":
		return first("markdown", "file")
	case extension == ".html" || extension == ".htm" || extension == ".xhtml":
		return first("html", "file")
	case s.has("html") && looksLikeHTML(doc.content):
		return "html"
	case doc.name == "":
		return first("html", "file", "markdown")
	case !s.takesFiles() && !doc.isArchive():
		return first("markdown", "html")
	}

	return first("file", "markdown", "html")
}

// looksLikeHTML follows the rules of browsers: any markup at the beginning means HTML.
func looksLikeHTML(content []byte) bool {
	text := bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\uFEFF")))
	return strings.HasPrefix(http.DetectContentType(text), "text/html") || bytes.HasPrefix(text, []byte("<"))
}

func isAddress(text string) bool {
	lower := strings.ToLower(text)
	return strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "http://")
}

func readDocument(stdin io.Reader, arg string) (sourceFile, error) {
	switch {
	case isAddress(arg):
		return sourceFile{address: arg}, nil
	case arg == "-":
		content, err := io.ReadAll(stdin)
		return sourceFile{content: content}, err
	}

	content, err := os.ReadFile(arg)
	if err != nil {
		return sourceFile{}, err
	}
	if strings.EqualFold(filepath.Ext(arg), ".url") {
		return readShortcut(arg, content)
	}

	return sourceFile{name: arg, content: content}, nil
}

// readShortcut reads an address from an internet shortcut (URL=…) or from a
// file that holds nothing else.
func readShortcut(name string, content []byte) (sourceFile, error) {
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "URL="); isAddress(line) {
			return sourceFile{address: line}, nil
		}
	}
	return sourceFile{}, fmt.Errorf("%s contains no URL; write URL=https://… into it", name)
}

// isFileSource reports whether a schema is an object that specifies a file, by its URL or by its content.
func isFileSource(schema *jsonschema.Schema) bool {
	if schema == nil || schema.Properties == nil {
		return false
	}
	_, ok := schema.Properties.Get("file")
	return ok
}

// readFileSource makes such an object of a path or an address.
func readFileSource(schema *jsonschema.Schema, arg string) (map[string]any, error) {
	if isAddress(arg) {
		source := map[string]any{"url": arg}
		if slices.Contains(schema.Required, "filename") {
			source["filename"] = addressName(arg)
		}
		return source, nil
	}

	content, err := os.ReadFile(arg)
	if err != nil {
		return nil, err
	}

	source := map[string]any{"file": base64.StdEncoding.EncodeToString(content)}
	if _, named := schema.Properties.Get("filename"); named {
		source["filename"] = filepath.Base(arg)
	}
	return source, nil
}

// addressName names a file by its address: the last part of the path, or the host if there is none.
func addressName(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "file" // the service reports its errors
	}
	if name := path.Base(parsed.Path); name != "." && name != "/" {
		return name
	}
	return parsed.Host
}
