package job

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
)

// PackStored makes an archive the job's output: of files of the job's folder that
// are compressed already, as fill adds them under other names. They are removed.
func PackStored(w *engine.Work, archive string, fill func(add func(file, name string) error) error) (err error) {
	out, err := os.OpenFile(w.Path(archive), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	z := zip.NewWriter(out)
	written := int64(0)
	err = fill(func(file, name string) error {
		n, err := addStored(z, w.Path(file), name)
		if written += n; err == nil && written > MaxBytes {
			err = engine.ErrOutputTooLarge
		}
		return err
	})
	if err != nil {
		return err
	}

	w.Output(archive)
	return z.Close()
}

// addStored adds a file to an archive without compression, and removes it.
func addStored(z *zip.Writer, path, name string) (int64, error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	entry, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: time.Now().UTC()})
	n := int64(0)
	if err == nil {
		n, err = io.Copy(entry, in)
	}
	return n, errors.Join(err, in.Close(), os.Remove(path))
}
