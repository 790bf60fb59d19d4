package render

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/spool"
)

// The limits of the files that come with a page.
const (
	MaxAssetBytes = 50 << 20 // together
	// maxSiteFiles is the maximum number of files in an archive.
	maxSiteFiles = 1000
	// maxIndex is the maximum size of a page.
	maxIndex = 10 << 20
)

// indexName is the name of an archive's page.
const indexName = "index.html"

// Site is a page with all files that it refers to. It must be closed.
type Site struct {
	HTML   string
	Index  string // its own name
	Assets []chrome.Asset
	files  []*spool.File
}

// SiteError is the reason why an archive is invalid. Its text continues a sentence that begins with the field's
// name.
type SiteError struct{ Text string }

func (e *SiteError) Error() string { return e.Text }

func siteError(format string, args ...any) error { return &SiteError{fmt.Sprintf(format, args...)} }

// OpenSite unpacks an archive with an index.html. If there are several, it uses the one nearest to the top, or the
// first of equals. Errors are *SiteError, the error of ctx, and those of the disk.
func OpenSite(ctx context.Context, archive engine.Content) (_ *Site, err error) {
	source, ok := archive.Open().(io.ReaderAt)
	if !ok {
		content, err := io.ReadAll(archive.Open())
		if err != nil {
			return nil, err
		}
		source = bytes.NewReader(content)
	}

	packed, err := zip.NewReader(source, archive.Size())
	if err != nil {
		return nil, siteError("must be a ZIP archive with an index.html")
	}

	site := &Site{}
	defer func() {
		if err != nil {
			err = errors.Join(err, site.Close())
		}
	}()
	if err := site.choose(packed.File); err != nil {
		return nil, err
	}

	left := int64(MaxAssetBytes)
	for _, file := range packed.File {
		if file.FileInfo().IsDir() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := site.unpack(file, &left); err != nil {
			return nil, err
		}
	}

	return site, nil
}

// choose checks the names of an archive and finds its page.
func (s *Site) choose(files []*zip.File) error {
	if len(files) > maxSiteFiles {
		return siteError("has %d files; the limit is %d", len(files), maxSiteFiles)
	}

	found := false
	seen := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name, "/")
		switch {
		case !ValidAssetName(name):
			return siteError(
				"contains an invalid file name, %.100q. Names must be relative, without .., empty parts or backslashes",
				file.Name,
			)
		case file.Mode()&fs.ModeType&^fs.ModeDir != 0:
			return siteError("contains %.100q, which is not a regular file", file.Name)
		case file.Flags&1 != 0:
			return siteError("is encrypted")
		case seen[name]:
			return siteError("contains the file %.100q more than once", file.Name)
		}

		seen[name] = true
		if path.Base(name) == indexName && !file.FileInfo().IsDir() &&
			(!found || strings.Count(name, "/") < strings.Count(s.Index, "/")) {
			s.Index = name
			found = true
		}
	}

	if !found {
		return siteError("must be a ZIP archive with an index.html; it contains none")
	}
	return nil
}

// unpack reads one file of an archive. It does not trust the size that the archive declares.
func (s *Site) unpack(file *zip.File, left *int64) error {
	content, err := file.Open()
	if err != nil {
		return siteError("contains %.100q, which cannot be unpacked", file.Name)
	}
	defer content.Close()

	out := spool.New("", *left)
	s.files = append(s.files, out)
	size, err := io.Copy(out, content) //nolint:gosec // The spool takes what is left of the limit.

	switch {
	case errors.Is(err, spool.ErrTooLarge):
		return siteError("must be at most %d MiB when unpacked", MaxAssetBytes>>20)
	case err != nil:
		return siteError("contains %.100q, which cannot be unpacked", file.Name)
	}
	*left -= size

	if file.Name != s.Index {
		s.Assets = append(s.Assets, chrome.Asset{Name: file.Name, Content: out})
		return nil
	}
	if size > maxIndex {
		return siteError("must have an index.html of at most %d MiB", maxIndex>>20)
	}

	text, err := io.ReadAll(out.Open())
	s.HTML = string(text)
	if err == nil && strings.TrimSpace(s.HTML) == "" {
		return siteError("has an empty index.html")
	}
	return err
}

// Close removes the unpacked files.
func (s *Site) Close() error {
	var faults []error
	for _, file := range s.files {
		faults = append(faults, file.Close())
	}
	s.files = nil
	return errors.Join(faults...)
}

// ValidAssetName reports whether a page can refer to a name. Such a name is relative and has parts separated by
// slashes. No part is empty or leads upwards.
func ValidAssetName(name string) bool {
	return utf8.ValidString(name) && len(name) <= 1024 && !strings.ContainsAny(name, "\\\x00") &&
		!strings.Contains(name, ":/") &&
		!slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part == "" || part == "." || part == ".." })
}
