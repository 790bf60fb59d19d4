package main

import (
	"errors"
	"path/filepath"
	"strings"

	"relaypdf/render"
	"relaypdf/store/blob"
	"relaypdf/store/blob/s3"
)

// blobPlace is a place of files: a folder, a bucket, or none.
type blobPlace struct {
	dir    string // absolute
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
	return blobPlace{dir: filepath.Clean(path)}, nil
}

func (p blobPlace) String() string {
	if p.dir != "" {
		return p.dir
	}
	return "bucket " + strings.TrimSuffix(p.bucket.Bucket+"/"+p.bucket.Prefix, "/")
}

// openBlobs opens where the files of the settings are. A bucket need not answer yet.
func openBlobs(config Config) (blob.Store, error) {
	if config.Blobs.dir != "" {
		return blob.NewDisk(config.Blobs.dir)
	}
	bucket := config.Blobs.bucket
	bucket.AccessKey, bucket.SecretKey = config.S3AccessKey, config.S3SecretKey
	roots, err := render.LoadRoots(config.ExtraCA)
	if err != nil {
		return nil, err
	}
	bucket.RootCAs = roots
	return s3.New(bucket)
}
