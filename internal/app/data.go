package app

import (
	"context"
	"fmt"
	"log/slog"

	"relaypdf/render"
	"relaypdf/store"
	"relaypdf/store/blob"
	"relaypdf/store/blob/s3"
)

// OpenBlobs opens the file storage of the settings. A bucket need not respond yet.
func OpenBlobs(config Config) (blob.Store, error) {
	if config.Blobs.Dir != "" {
		return blob.NewDisk(config.Blobs.Dir)
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

// OpenStore opens the store that the settings name.
func OpenStore(ctx context.Context, config Config, log *slog.Logger, hooks Hooks) (*store.Store, error) {
	blobs, err := OpenBlobs(config)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, store.Config{
		URL: config.DatabaseURL, SessionURL: config.SessionURL, RetentionMonths: config.RetentionMonths, DataDir: config.DataDir, Blobs: blobs, Region: config.Region, Machine: hooks.Clock, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("RELAYPDF_DATABASE_URL: %w", err)
	}
	return s, nil
}
