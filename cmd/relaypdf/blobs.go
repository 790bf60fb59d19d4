package main

import (
	"errors"
	"fmt"
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

// none reports whether no place is named.
func (p blobPlace) none() bool { return p.dir == "" && p.bucket.Bucket == "" }

// is reports whether two places are one.
func (p blobPlace) is(other blobPlace) bool {
	return p.String() == other.String() && p.bucket.Endpoint == other.bucket.Endpoint
}

func (p blobPlace) String() string {
	if p.dir != "" {
		return p.dir
	}
	return "bucket " + strings.TrimSuffix(p.bucket.Bucket+"/"+p.bucket.Prefix, "/")
}

// openBlobs returns the files of the settings, in both places where there are two.
func openBlobs(config Config) (blob.Store, error) {
	first, err := openPlace(config, config.Blobs)
	if err != nil {
		return nil, fmt.Errorf("RELAYPDF_BLOBS: %w", err)
	}
	if config.BlobsFormer.none() {
		return first, nil
	}
	former, err := openPlace(config, config.BlobsFormer)
	if err != nil {
		return nil, fmt.Errorf("RELAYPDF_BLOBS_FORMER: %w", err)
	}
	return blob.NewPair(first, former), nil
}

// openPlace opens one place. A bucket need not answer yet.
func openPlace(config Config, place blobPlace) (blob.Store, error) {
	if place.dir != "" {
		return blob.NewDisk(place.dir)
	}
	bucket := place.bucket
	bucket.AccessKey, bucket.SecretKey, bucket.SessionToken = config.S3AccessKey, config.S3SecretKey, config.S3SessionToken
	roots, err := render.LoadRoots(config.ExtraCA)
	if err != nil {
		return nil, err
	}
	bucket.RootCAs = roots
	return s3.New(bucket)
}
