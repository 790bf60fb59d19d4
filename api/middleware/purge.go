package middleware

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Purge tells a cache in front of the service to forget what it keeps under keys
// of Public. The address is http: for one that takes the method PURGE with the
// header Surrogate-Key, as Varnish does with deploy/edge/varnish.vcl, and file:
// for the folder of an nginx.
func Purge(ctx context.Context, client *http.Client, address string, keys []string) error {
	for _, key := range keys {
		if !slices.Contains(Keys(), key) {
			return fmt.Errorf("nothing is kept under %q; the keys are %s", key, strings.Join(Keys(), ", "))
		}
	}
	to, err := url.Parse(address)
	if err != nil {
		return err
	}
	if to.Scheme == "file" {
		return purgeFolder(ctx, to.Path, keys)
	}
	r, err := http.NewRequestWithContext(ctx, "PURGE", address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Surrogate-Key", strings.Join(keys, " "))
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s answers %s to PURGE: is the address the cache's, and may this machine ask it?", address, answer.Status)
	}
	return nil
}

// purgeFolder removes the copies of an nginx, which has each in a file with the
// answer's headers at its beginning, and takes a file that is not there for one
// that was never kept.
func purgeFolder(ctx context.Context, folder string, keys []string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nginx has dropped it meanwhile
		}
		if err != nil || !entry.Type().IsRegular() || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		under, err := keysOf(root, path)
		if err == nil && slices.ContainsFunc(under, func(key string) bool { return slices.Contains(keys, key) }) {
			err = root.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// maxHead bounds in bytes what is read of a copy to find its keys.
const maxHead = 64 << 10

// keysOf reads the header Surrogate-Key of a copy.
func keysOf(root *os.Root, path string) (keys []string, err error) {
	file, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	head, err := io.ReadAll(io.LimitReader(file, maxHead))
	if err != nil {
		return nil, err
	}
	_, head, _ = bytes.Cut(head, []byte("\nKEY: "))
	head, _, _ = bytes.Cut(head, []byte("\r\n\r\n"))
	for line := range strings.SplitSeq(string(head), "\r\n") {
		if text, ok := strings.CutPrefix(line, "Surrogate-Key: "); ok {
			return strings.Fields(text), nil
		}
	}
	return nil, nil
}
