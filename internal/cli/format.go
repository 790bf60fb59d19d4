package cli

import (
	"fmt"
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/internal/cli/console"
)

// format is a file format of results.
type format struct {
	media      string
	extensions []string // the usual one first
}

// formats lists the output formats of all operations.
var formats = []format{
	{"application/pdf", []string{".pdf"}},
	{"application/json", []string{".json"}},
	{"application/zip", []string{".zip"}},
	{"image/png", []string{".png"}},
	{"image/jpeg", []string{".jpg", ".jpeg"}},
	{"image/webp", []string{".webp"}},
	{"image/tiff", []string{".tiff", ".tif"}},
	{"image/gif", []string{".gif"}},
	{"image/svg+xml", []string{".svg"}},
	{"text/html", []string{".html", ".htm"}},
	{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", []string{".docx"}},
	{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", []string{".xlsx"}},
}

// formatOf returns the format of a content type.
func formatOf(contentType string) (format, bool) {
	media, _, err := mime.ParseMediaType(contentType)
	at := slices.IndexFunc(formats, func(f format) bool { return err == nil && f.media == media })
	if at < 0 {
		return format{}, false
	}
	return formats[at], true
}

// formatNamed returns the format of files that end like a path does.
func formatNamed(path string) (format, bool) {
	at := slices.IndexFunc(formats, func(f format) bool { return f.names(path) })
	if at < 0 {
		return format{}, false
	}
	return formats[at], true
}

// names reports whether a path has the extension of the format.
func (f format) names(path string) bool {
	return slices.Contains(f.extensions, strings.ToLower(filepath.Ext(path)))
}

// rename gives a path the format's extension.
func (f format) rename(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + f.extensions[0]
}

// makes returns the formats that an operation can answer in, the usual one first.
func (c *operationCall) makes() []format {
	var made []format
	for _, media := range c.operation.Produces {
		if f, ok := formatOf(media); ok {
			made = append(made, f)
		}
	}
	return made
}

// formatField returns the field that chooses among the formats of an operation: the
// one whose every value is the extension of one. Nil is none.
func (c *operationCall) formatField() *field {
	made := c.makes()
	for _, f := range c.fields {
		isFormat := func(choice any) bool {
			name, ok := choice.(string)
			return ok && slices.ContainsFunc(made, func(m format) bool { return m.names("." + name) })
		}
		if len(f.schema.Enum) > 0 &&
			!slices.ContainsFunc(f.schema.Enum, func(choice any) bool { return !isFormat(choice) }) {
			return f
		}
	}
	return nil
}

// expected returns the format that a request asks for. Several pages rendered as images come as an archive, which is
// not known in advance.
func (c *operationCall) expected(input map[string]any) format {
	if f := c.formatField(); f != nil {
		choice, ok := f.in(input).(string)
		if !ok {
			choice, _ = f.schema.Default.(string)
		}
		if asked, ok := formatNamed("." + choice); ok {
			return asked
		}
	}
	return c.makes()[0]
}

// checkOutput refuses an output whose extension the operation cannot make, and derives the format from it if the
// request names none.
func (c *operationCall) checkOutput(input map[string]any) error {
	name := c.destination.name
	extension := filepath.Ext(name)
	if name == "-" || extension == "" || extension == "." || c.destination.isPlace() {
		return nil
	}

	var valid []string
	for _, f := range c.makes() {
		valid = append(valid, f.extensions...)
	}
	if !slices.Contains(valid, strings.ToLower(extension)) {
		return console.Usagef("--output %s: %s makes %s; name the file %s", name, c.command(), oneOf(valid),
			c.expected(input).rename(filepath.Base(name)))
	}

	named, _ := formatNamed(name)
	f := c.formatField()
	if f == nil {
		return nil
	}

	choices := slices.DeleteFunc(slices.Clone(f.schema.Enum),
		func(choice any) bool { return !named.names(fmt.Sprint(".", choice)) })
	switch {
	case len(choices) == 0: // an archive
		return nil
	case !f.isIn(input):
		return f.with(choices[0]).put(input)
	case !c.expected(input).names(name):
		return console.Usagef("--output %s: the request asks for %s; name the file %s, or leave --%s out", name,
			c.expected(input).extensions[0], c.expected(input).rename(filepath.Base(name)), f.flag)
	}

	return nil
}

// command returns the name of the operation's command.
func (c *operationCall) command() string {
	return "relaypdf " + strings.Join(c.operation.Words(), " ")
}

// oneOf writes a list in words.
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// nameAfter returns the name of a result made of one local file: the name of the file, with the extension of the
// result. If that is the file itself, the operation's last word is added.
func (c *operationCall) nameAfter(source string, input map[string]any) string {
	base := filepath.Base(source)
	made := c.expected(input)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	if stem == "" { // .profile
		stem = strings.TrimPrefix(base, ".")
	}
	if made.names(base) {
		words := c.operation.Words()
		stem += "-" + words[len(words)-1]
	}
	return stem + made.extensions[0]
}

// otherCommands returns a function that names the commands for a document that is not text.
func otherCommands(table operationList) func(sourceFile) string {
	var commands []string
	for _, operation := range table {
		takes := sourcesOf(operation.Schema)
		if strings.HasPrefix(operation.Name, "pdf.") &&
			(takes.takesFiles() || strings.Contains(operation.Summary, "PDFs")) {
			commands = append(commands, strings.Join(operation.Words(), " "))
		}
	}

	return func(doc sourceFile) string {
		switch media := http.DetectContentType(doc.content); {
		case media == "application/pdf":
			return "a PDF already. What takes one: relaypdf " + oneOf(commands)
		case strings.HasPrefix(media, "image/"):
			return "an image. relaypdf pdf from-images makes a PDF of it"
		case media == "application/zip", strings.HasPrefix(media, "application/") &&
			slices.Contains(officeExtensions, strings.ToLower(filepath.Ext(doc.name))):
			return "no HTML and no Markdown. relaypdf convert makes a PDF of office documents"
		}

		return ""
	}
}

// officeExtensions are extensions of office documents that are not archives.
var officeExtensions = []string{".doc", ".xls", ".ppt", ".rtf"}
