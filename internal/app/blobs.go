package app

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/relaypdf/relaypdf/store/blob/s3"
)

// blobPlace is a place of files: a folder, a bucket, or none.
type blobPlace struct {
	Dir    string // absolute
	bucket s3.Config
}

// parseBlobs reads the place of files.
func parseBlobs(text string) (blobPlace, error) {
	if strings.HasPrefix(text, "s3:") {
		bucket, err := s3.Parse(text)
		return blobPlace{bucket: bucket}, err
	}

	path, ok := strings.CutPrefix(text, "file:")
	path = strings.TrimPrefix(path, "//") // file:///folder is file:/folder
	if !ok || !filepath.IsAbs(path) {
		return blobPlace{}, errors.New("is not a place of files; write file:/absolute/folder or s3://bucket/prefix")
	}
	return blobPlace{Dir: filepath.Clean(path)}, nil
}

func (p blobPlace) String() string {
	if p.Dir != "" {
		return p.Dir
	}
	return "bucket " + strings.TrimSuffix(p.bucket.Bucket+"/"+p.bucket.Prefix, "/")
}
