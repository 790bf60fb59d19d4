package engine

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Work is one job as its handler sees it.
type Work struct {
	// Dir is the job's private folder and the working directory. The inputs
	// are in it; it is emptied after the job.
	Dir string

	child   *innerChild
	memory  int64 // of each program
	cancel  context.CancelCauseFunc
	outputs []string
	warned  []Warning
	last    bool // see Last
}

// Last makes this job the last one of its child: something of the job is left that the next one must not find.
func (w *Work) Last() { w.last = true }

// Fonts returns the path of fontconfig's configuration.
func (w *Work) Fonts() string { return cmp.Or(w.child.Fonts.File, "/etc/fonts/fonts.conf") }

// Path returns the path of a file in the job's folder.
func (w *Work) Path(name string) string { return filepath.Join(w.Dir, name) }

// Output makes a file of the job's folder a result. It need not exist yet,
// but must be a regular file, not a link, when the handler returns.
func (w *Work) Output(name string) { w.outputs = append(w.outputs, name) }

// Outputs returns the names of the results so far.
func (w *Work) Outputs() []string { return slices.Clone(w.outputs) }

// Warn adds a warning to the result of the job, unless it has the same one.
func (w *Work) Warn(code, message string) {
	added := Warning{Code: code, Message: message}.bounded()
	if len(w.warned) < maxWarnings && !slices.Contains(w.warned, added) {
		w.warned = append(w.warned, added)
	}
}

// receiveFiles writes the files that follow a job's header into its folder. A
// failure to write is full: the rest is read all the same, so that the child
// can go on. err is the pipe's.
func receiveFiles(in *bufio.Reader, dir string, files []fileHeader) (full, err error) {
	for _, h := range files {
		rest := io.LimitedReader{R: in, N: h.Size}
		if full == nil {
			full = receiveFile(&rest, filepath.Join(dir, h.Name))
		}

		if _, err := io.Copy(io.Discard, &rest); err != nil {
			return full, err
		}
		if rest.N > 0 {
			return full, io.ErrUnexpectedEOF
		}
	}
	return full, nil
}

func receiveFile(in io.Reader, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(f, in)
		err = errors.Join(err, f.Close())
	}

	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EFBIG) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

// results are the outputs of a job, open and measured.
type results struct {
	headers []fileHeader
	files   []*os.File
}

// openOutputs opens the outputs that the handler named. It refuses anything else that a
// program may have put there, such as a link or a pipe.
func (w *Work) openOutputs(limit int64) (_ *results, err error) {
	r := &results{}
	defer func() {
		if err != nil {
			r.close()
		}
	}()

	if len(w.outputs) > maxFiles {
		return nil, fmt.Errorf("%d outputs, the limit is %d: %w", len(w.outputs), maxFiles, ErrOutputTooLarge)
	}

	for _, name := range w.outputs {
		if !plainName(name) || slices.ContainsFunc(r.headers, func(h fileHeader) bool { return h.Name == name }) {
			return nil, fmt.Errorf("output %q is not a file name, or is there twice", name)
		}

		f, err := os.OpenFile(w.Path(name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil, fmt.Errorf("output: %w", err)
		}
		r.files = append(r.files, f)

		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("output: %w", err)
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("output %q is no regular file", name)
		}

		if limit -= info.Size(); limit < 0 {
			return nil, fmt.Errorf("output %q: %w", name, ErrOutputTooLarge)
		}
		r.headers = append(r.headers, fileHeader{Name: name, Size: info.Size()})
	}
	return r, nil
}

// send writes the files after the message that announced them.
func (r *results) send(out io.Writer) error {
	for i, f := range r.files {
		if _, err := io.CopyN(out, f, r.headers[i].Size); err != nil {
			return fmt.Errorf("send %s: %w", r.headers[i].Name, noEOF(err))
		}
	}
	return nil
}

func (r *results) close() {
	for _, f := range r.files {
		_ = f.Close() // it was only read
	}
}
