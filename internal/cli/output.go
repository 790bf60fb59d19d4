package cli

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
)

// destination is the target of a result's bytes. It is opened before the call, so that a paid result can always be
// written.
type destination struct {
	name  string // of --output
	force bool
	after string // name of the file without --output; empty means the service's name

	part    *os.File // becomes the file when it is whole
	folder  string
	direct  bool   // part is a device or a pipe
	derived bool   // the name is from after
	format  format // the format of the name's extension, if it was checked
}

// isPlace reports whether --output names a folder, a device or a pipe, whose name does not imply a format.
func (d *destination) isPlace() bool {
	info, err := os.Stat(d.name)
	return err == nil && !info.Mode().IsRegular()
}

// open refuses outputs that would fail only after the call: an existing file, a folder without write permission,
// bytes on a terminal.
func (d *destination) open(stdout io.Writer, produces []string) error {
	isText := !slices.ContainsFunc(produces, func(t string) bool { return !isText(t) })
	switch {
	case d.name == "-":
		if console.IsTerminal(stdout) && !isText {
			return console.Usagef(
				"the result is binary and standard output is a terminal; redirect it, or name a file with --output")
		}
		return nil
	case d.name == "" && isText && allJSON(produces):
		return nil
	}

	d.folder = "."
	info, err := os.Stat(d.name)
	switch {
	case d.name != "" && err == nil && info.IsDir():
		d.folder = d.name
		d.name = ""
	case d.name != "" && err == nil && !info.Mode().IsRegular():
		d.direct = true
		d.part, err = os.OpenFile(d.name, os.O_WRONLY, 0)
		return err
	}

	if d.name == "" && d.after != "" {
		d.name = filepath.Join(d.folder, d.after)
		d.derived = true
	}

	if d.name != "" {
		if _, err := os.Lstat(d.name); err == nil && !d.force {
			return console.Usagef("%s exists already; overwrite it with --force, or name another file with --output", d.name)
		}
		d.format, _ = formatNamed(d.name)
		d.folder = filepath.Dir(d.name)
	}

	if console.IsAbsent(d.folder) {
		return console.Usagef("the folder %s does not exist; create it first", d.folder)
	}

	part := filepath.Join(d.folder, ".relaypdf-"+rand.Text()+".part")
	d.part, err = os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return console.UsageError{Err: err}
	}
	return nil
}

func allJSON(types []string) bool {
	return !slices.ContainsFunc(types, func(t string) bool { return !isJSON(t) })
}

func isJSON(contentType string) bool { return strings.HasPrefix(contentType, "application/json") }

func isText(contentType string) bool {
	return isJSON(contentType) || strings.HasPrefix(contentType, "text/") || strings.HasPrefix(contentType, "image/svg")
}

// write writes a result to the output and returns its path, empty for standard output, and its size. A file gets
// its name only when it is complete.
func (d *destination) write(stdout io.Writer, result *client.Result) (path string, size int64, err error) {
	toStdout := d.name == "-" || d.part == nil || (d.name == "" || d.derived) && isJSON(result.ContentType)
	out := io.Writer(d.part)
	if toStdout {
		out = stdout
	}
	if toStdout && isJSON(result.ContentType) && console.IsTerminal(stdout) {
		out = &prettyJSON{out: stdout}
	}

	size, err = io.Copy(out, result.Body)
	if err == nil && result.Size >= 0 && size != result.Size {
		err = io.ErrUnexpectedEOF
	}
	if pretty, ok := out.(*prettyJSON); ok && err == nil {
		err = pretty.flush()
	}

	if err != nil || toStdout {
		return "", size, err
	}
	if d.direct {
		return d.name, size, nil
	}

	path, err = d.storeFile(result)
	return path, size, err
}

// prettyJSON is a writer that indents JSON.
type prettyJSON struct {
	out  io.Writer
	text bytes.Buffer
}

// Write stores the bytes until the text is complete.
func (p *prettyJSON) Write(b []byte) (int, error) { return p.text.Write(b) }

// flush writes all of it. Text that is not JSON stays unchanged.
func (p *prettyJSON) flush() error {
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(p.text.Bytes()), "", "  ") != nil {
		_, err := p.out.Write(p.text.Bytes())
		return err
	}
	indented.WriteByte('\n')
	_, err := p.out.Write(indented.Bytes())
	return err
}

// storeFile gives the complete file its name: the requested one, or the result's own, with a number if that file exists.
// A wrong extension is corrected, such as for an archive with one image per page.
func (d *destination) storeFile(result *client.Result) (string, error) {
	path := d.name
	if path == "" {
		path = filepath.Join(d.folder, localName(result.Filename))
	}

	if came, ok := formatOf(result.ContentType); ok && d.format.media != "" && came.media != d.format.media {
		path = came.rename(path)
	}

	extension := filepath.Ext(path)
	stem := strings.TrimSuffix(path, extension)
	for n := 1; ; n++ {
		err := d.rename(path)
		if !errors.Is(err, fs.ErrExist) || n >= maxNumbered {
			return path, err
		}
		path = fmt.Sprintf("%s-%d%s", stem, n, extension)
	}
}

// maxNumbered bounds the search for a free name.
const maxNumbered = 10_000

// rename overwrites only with --force. A hard link, unlike a rename, fails if the name has come into use meanwhile.
func (d *destination) rename(path string) error {
	if d.force {
		return os.Rename(d.part.Name(), path)
	}
	err := os.Link(d.part.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// Some file systems have no links.
	if _, statErr := os.Lstat(path); !errors.Is(statErr, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return os.Rename(d.part.Name(), path)
}

// localName makes a name that a service sent fit for the current folder.
func localName(name string) string {
	name = strings.TrimLeft(filepath.Base(name), ".")
	if name == "" || name == string(filepath.Separator) {
		return "result"
	}
	return name
}

// discard closes the output and removes an unfinished file.
func (d *destination) discard() error {
	if d.part == nil {
		return nil
	}
	err := d.part.Close()
	if d.direct {
		return err
	}
	if removeErr := os.Remove(d.part.Name()); !errors.Is(removeErr, fs.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

// spinnerEvery is the interval at which the progress line changes.
const spinnerEvery = 100 * time.Millisecond

// startProgress shows on a terminal that something is going on and for how
// long, until stop is called, which may be done twice. It leaves no trace.
func startProgress(w io.Writer, what string) (stop func()) {
	return startChangingProgress(w, func() string { return what })
}

// startChangingProgress is startProgress with a text that changes.
func startChangingProgress(w io.Writer, what func() string) (stop func()) {
	if !console.IsTerminal(w) {
		return func() {}
	}

	ended := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		begin := time.Now()
		tick := time.NewTicker(spinnerEvery)
		defer tick.Stop()
		frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

		for n := 0; ; n++ {
			select {
			case <-ended:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(w, "\r\x1b[K%c %s  %.1f s", frames[n%len(frames)], what(), time.Since(begin).Seconds())
			}
		}
	}()

	stopped := false
	return func() {
		if !stopped {
			stopped = true
			close(ended)
			<-gone
		}
	}
}
