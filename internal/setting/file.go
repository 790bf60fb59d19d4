package setting

import (
	"fmt"
	"os"
	"strings"
)

// File is a settings file: RELAYPDF_NAME=value lines by name.
type File struct {
	Path  string
	Lines map[string]Line
}

// Line is the value of a setting in a file.
type Line struct {
	Text   string
	Number int
}

// Config names the settings file.
var Config = Setting{
	Name: "config", Kind: "file",
	Doc: "File with settings. One `RELAYPDF_NAME=value` per line; lines that start with `#` are comments. Flags and " +
		"environment variables override it.",
}

// OpenFile reads the file that the flag or the variable names; no name is
// no file. A file cannot name another one.
func OpenFile(from Sources) (File, []error) {
	value := Config.Find(from)
	if value.Text == "" {
		return File{}, nil
	}

	content, err := os.ReadFile(value.Text)
	if err != nil {
		return File{}, []error{Config.DescribeError(value, fmt.Errorf(
			"cannot be read (%w); name a file that exists, or leave it out", err,
		))}
	}
	return parseFile(value.Text, string(content))
}

// parseFile reads lines of NAME=value. A value may be in matching single or double quotes, which are removed;
// escapes are not supported.
func parseFile(path, content string) (File, []error) {
	file := File{Path: path, Lines: map[string]Line{}}
	var errs []error
	number := 0

	for line := range strings.Lines(content) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		name, text, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		before, twice := file.Lines[name]
		switch {
		case !ok:
			// The line is not quoted: it may be a secret without its name.
			errs = append(errs, fmt.Errorf("%s:%d: not a setting; write RELAYPDF_NAME=value", path, number))
		case name == Config.Variable():
			errs = append(errs, fmt.Errorf(
				"%s:%d: a settings file cannot name another one; remove the line", path, number,
			))
		case twice:
			errs = append(errs, fmt.Errorf(
				"%s:%d: %s is set in line %d already; remove one of them", path, number, name, before.Number,
			))
		default:
			file.Lines[name] = Line{Text: Unquote(strings.TrimSpace(text)), Number: number}
		}
	}

	return file, errs
}

// Unquote removes matching single or double quotes around a text.
func Unquote(text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}
