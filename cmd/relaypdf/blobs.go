package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"relaypdf/render"
	"relaypdf/store"
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

// leastCache is room for some files; one of them may have a sixteenth of it.
const leastCache = 64 << 20

// parseCache reads the size of the cache.
func parseCache(text string) (int64, error) {
	size, err := parseSize(text)
	if err == nil && size < leastCache {
		err = fmt.Errorf("is too little: a cache has %s at least", sizeText(leastCache))
	}
	return size, err
}

// openBlobs returns the files of the settings, in both places where there are two,
// and with copies on this machine where a bucket is to have some.
func openBlobs(config Config, log *slog.Logger) (blob.Store, error) {
	first, err := openPlace(config, config.Blobs)
	if err != nil {
		return nil, fmt.Errorf("RELAYPDF_BLOBS: %w", err)
	}
	if config.BlobsCache > 0 && config.Blobs.dir == "" {
		if first, err = blob.NewCache(first, filepath.Join(config.DataDir, "blobs-cache"), config.BlobsCache, log); err != nil {
			return nil, fmt.Errorf("RELAYPDF_BLOBS_CACHE: %w", err)
		}
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

// pruneEvery is how often copies are looked for whose files are gone.
const pruneEvery = 10 * time.Minute

// pruneCache removes copies of files that have expired or been deleted, here or
// by other processes, until ctx ends.
func pruneCache(ctx context.Context, cache *blob.Cache, s *store.Store, log *slog.Logger) {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := cache.Prune(ctx, s.InUse); err != nil && ctx.Err() == nil {
			log.Warn("prune the cache of files failed", "error", err)
		}
	}
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
