package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/blob/s3"
	"github.com/relaypdf/relaypdf/store/seal"
)

// OpenBlobs opens the file storage of the settings. A bucket need not respond yet.
func OpenBlobs(config Config) (blob.Store, error) {
	if config.Blobs.Dir != "" {
		return blob.NewDisk(config.Blobs.Dir)
	}

	bucket := config.Blobs.bucket
	bucket.AccessKey = config.S3AccessKey
	bucket.SecretKey = config.S3SecretKey
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
		URL: config.DatabaseURL, SessionURL: config.SessionURL, RetentionMonths: config.RetentionMonths,
		DataDir: config.DataDir, Blobs: blobs, Region: config.Region, Machine: hooks.Clock, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("RELAYPDF_DATABASE_URL: %w", err)
	}
	return s, nil
}

// checkFolder refuses a folder of files that is not the one of the other processes of a PostgreSQL database.
func checkFolder(ctx context.Context, s *store.Store) error {
	if s.Dialect() != store.Postgres {
		return nil
	}

	err := s.CheckFolder(ctx)
	var other *store.FolderError
	if errors.As(err, &other) {
		return fmt.Errorf(
			"RELAYPDF_BLOBS: %w; name the same folder or bucket on every machine. "+
				"If the files were moved or lost, write %s to %s",
			other, other.Want, other.Path,
		)
	}
	return err
}

// secretAgreement is the name of a text that was encrypted with the secret key.
const secretAgreement = "secret"

// checkSecret refuses a secret key that cannot read what the other processes of a PostgreSQL database encrypt: they
// would fail each other's jobs and deliveries.
func checkSecret(ctx context.Context, s *store.Store, box *seal.Box) error {
	if s.Dialect() != store.Postgres {
		return nil
	}

	sealed, err := box.Seal(secretAgreement, []byte(secretAgreement))
	if err != nil {
		return err
	}
	own := base64.StdEncoding.EncodeToString(sealed)
	agreed, err := s.Agree(ctx, secretAgreement, own)
	if err != nil || agreed == own {
		return err
	}

	sealed, err = base64.StdEncoding.DecodeString(agreed)
	if err == nil {
		_, err = box.Open(secretAgreement, sealed)
	}
	if err != nil {
		return errors.New(
			"RELAYPDF_SECRET_KEY: is not the key of this database's other processes; set the same key on every machine, " +
				"followed by the earlier ones. If the earlier key is lost, delete the row \"secret\" of the table agreements",
		)
	}
	if box.Newest(sealed) {
		return nil
	}
	return s.ReplaceAgreement(ctx, secretAgreement, own)
}
