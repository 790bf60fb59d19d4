// Package static holds the files that browsers load for the pages: styles, scripts, fonts and images, bundled by
// `make assets`. Their URLs contain a hash of the content, so browsers may cache them for ever.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

//go:embed all:dist
var bundled embed.FS

// Prefix is the path prefix of the files.
const Prefix = "/static/"

// ErrMissing means that the program was built without its assets.
var ErrMissing = errors.New("the pages' assets are not built into this program; run `make assets`, then build again")

// Files are the bundled assets. Their content never changes.
type Files struct {
	byName map[string]*file
	byPath map[string]*file
}

type file struct {
	name, path, kind string
	content          []byte
	// zipped returns the same bytes, gzipped on first use; nil if that saves nothing.
	zipped func() []byte
}

// Open reads the bundled assets, once in a process. It returns ErrMissing if there are none.
func Open() (*Files, error) { return read() }

var read = sync.OnceValues(func() (*Files, error) {
	dist, err := fs.Sub(bundled, "dist")
	if err != nil {
		return nil, err
	}
	return open(dist)
})

func open(dist fs.FS) (*Files, error) {
	f := &Files{byName: map[string]*file{}, byPath: map[string]*file{}}
	err := fs.WalkDir(dist, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}

		content, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		f.add(name, content)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the assets: %w", err)
	}
	if len(f.byName) == 0 {
		return nil, ErrMissing
	}

	f.link()
	return f, nil
}

func (f *Files) add(name string, content []byte) {
	kind := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".woff2" {
		kind = "font/woff2"
	}
	f.byName[name] = &file{name: name, kind: kind, content: content}
}

// link gives every file its address. Style sheets refer to fonts by their
// plain names, which become their addresses.
func (f *Files) link() {
	for _, sheets := range []bool{false, true} {
		for _, one := range f.byName {
			if (path.Ext(one.name) == ".css") != sheets {
				continue
			}
			if sheets {
				for _, other := range f.byName {
					if other.path != "" {
						one.content = bytes.ReplaceAll(one.content, []byte("./"+other.name), []byte(other.path))
					}
				}
			}

			sum := sha256.Sum256(one.content)
			ext := path.Ext(one.name)
			one.path = Prefix + strings.TrimSuffix(one.name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
			one.zipped = sync.OnceValue(func() []byte { return zip(one) })
			f.byPath[one.path] = one
		}
	}
}

// zip returns a file's content gzipped; fonts are compressed already.
func zip(f *file) []byte {
	if path.Ext(f.name) == ".woff2" {
		return nil
	}

	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(f.content)
	}
	err = errors.Join(err, w.Close())
	if err != nil || zipped.Len() >= len(f.content) {
		return nil
	}
	return zipped.Bytes()
}

// URL returns the address of a file. It panics for a name that is not
// bundled: pages name their assets in their source.
func (f *Files) URL(name string) string {
	one, ok := f.byName[name]
	if !ok {
		panic("static: no asset is named " + name)
	}
	return one.path
}

// noGzip is gzip in a header Accept-Encoding that refuses it.
var noGzip = regexp.MustCompile(`(?i)gzip *; *q=0(\.0*)? *(,|$)`)

// TakesGzip reports whether the client of a request accepts a gzipped response.
func TakesGzip(r *http.Request) bool {
	accepted := strings.Join(r.Header.Values("Accept-Encoding"), ",")
	return strings.Contains(accepted, "gzip") && !noGzip.MatchString(accepted)
}

// ServeHTTP sends a file by its address.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, ok := f.byPath[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}

	h := w.Header()
	h.Set("Content-Type", one.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")

	content := one.content
	if zipped := one.zipped(); zipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if TakesGzip(r) {
			h.Set("Content-Encoding", "gzip")
			content = zipped
		}
	}

	http.ServeContent(w, r, one.name, time.Time{}, bytes.NewReader(content))
}
