package cli

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/internal/setting"
)

// maxEnvFile is the maximum size of a file of variables. A larger one is not an environment file.
const maxEnvFile = 1 << 20

// envFile is a file of variables, one in each line, as programs read them when they
// start. It may not be there yet.
type envFile struct {
	path string // with links followed
	text string
}

// readEnvFile reads a file of variables, and makes sure that it could be written.
func readEnvFile(name string) (envFile, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return envFile{}, err
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}

	file := envFile{path: name}
	switch info, err := os.Stat(name); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return file, err
	case !info.Mode().IsRegular() || info.Size() > maxEnvFile:
		return file, fmt.Errorf("%s is not a valid .env file; write one NAME=value per line", name)
	default:
		text, err := os.ReadFile(name)
		if err != nil {
			return file, err
		}
		file.text = string(text)
	}

	// The file is replaced whole, so its folder has to be writable.
	probe, err := os.CreateTemp(filepath.Dir(name), ".relaypdf-*")
	if err != nil {
		return file, fmt.Errorf("%s cannot be written: %w", name, err)
	}

	return file, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// variableLine matches a line that sets a variable, up to its value.
func variableLine(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^([ \t]*(?:export[ \t]+)?` + regexp.QuoteMeta(name) + `[ \t]*=[ \t]*)([^\r\n]*)`)
}

// comment matches the comment after a value without quotes.
var comment = regexp.MustCompile(`[ \t]+#.*$`)

// values returns the values in the lines of a variable, without quotes.
func (f *envFile) values(name string) (values []string) {
	for _, line := range variableLine(name).FindAllStringSubmatch(f.text, -1) {
		values = append(values, setting.Unquote(strings.TrimSpace(comment.ReplaceAllString(" "+line[2], ""))))
	}
	return values
}

// has reports whether a variable has a value in any of its lines.
func (f *envFile) has(name string) bool {
	return slices.ContainsFunc(f.values(name), func(value string) bool { return strings.Trim(value, `"'`) != "" })
}

// get returns the value of a variable; the last line counts.
func (f *envFile) get(name string) string {
	values := f.values(name)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// set gives a variable a value that needs no quotes: in its line, or in a new one at
// the end. Other lines and comments stay as they are.
func (f *envFile) set(name, value string) {
	line := variableLine(name)
	if line.MatchString(f.text) {
		f.text = line.ReplaceAllStringFunc(f.text, func(found string) string {
			parts := line.FindStringSubmatch(found)
			note := ""
			if !strings.HasPrefix(parts[2], `"`) && !strings.HasPrefix(parts[2], "'") {
				note = comment.FindString(" " + parts[2])
			}
			return parts[1] + value + note
		})
		return
	}

	ending := "\n"
	if strings.Contains(f.text, "\r\n") {
		ending = "\r\n"
	}

	if f.text != "" && !strings.HasSuffix(f.text, "\n") {
		f.text += ending
	}
	f.text += name + "=" + value + ending
}

// write replaces the file, which only its owner can read from then on.
func (f *envFile) write() error { return replaceFile(f.path, []byte(f.text), ownerOnly) }

// ignoreInGit makes the git repository that the file is in, if it is in one, ignore
// it, and returns the .gitignore that was changed for that.
func (f *envFile) ignoreInGit() (changed string, err error) {
	folder, base := filepath.Split(f.path)
	folder = filepath.Clean(folder)

	var folders []string // from the file's up to the repository's
	for at := folder; ; at = filepath.Dir(at) {
		folders = append(folders, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			break
		}
		if filepath.Dir(at) == at {
			return "", nil
		}
	}

	ignored := false
	for i := len(folders) - 1; i >= 0; i-- {
		text, err := os.ReadFile(filepath.Join(folders[i], ".gitignore"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		inside, err := filepath.Rel(folders[i], f.path)
		if err != nil {
			return "", err
		}
		ignored = ignores(string(text), filepath.ToSlash(inside), ignored)
	}
	if ignored {
		return "", nil
	}

	changed = filepath.Join(folder, ".gitignore")
	text, err := os.ReadFile(changed)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}

	line := "/" + base + "\n"
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	out, err := os.OpenFile(changed, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return "", err
	}

	_, err = out.WriteString(line)
	return changed, errors.Join(err, out.Close())
}

// ignores reports whether a .gitignore ignores a file below it; before is the result of the .gitignore files above.
// The last matching pattern counts.
func ignores(text, inside string, before bool) bool {
	for line := range strings.Lines(text) {
		pattern := strings.TrimSpace(line)
		if pattern == "" || strings.HasPrefix(pattern, "#") || strings.HasSuffix(pattern, "/") {
			continue
		}

		pattern, not := strings.CutPrefix(pattern, "!")
		name := inside
		if !strings.Contains(pattern, "/") {
			name = path.Base(inside)
		}
		rooted := strings.TrimPrefix(strings.TrimPrefix(pattern, "**/"), "/")
		if matched, err := path.Match(rooted, name); err == nil && matched {
			before = !not
		}
	}

	return before
}
