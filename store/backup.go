package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/durable"
)

// A backup is a gzipped tar archive: the database, the blobs, and last a
// manifest with the size and hash of each, whose presence shows that the
// archive is whole.
const (
	backupFormat   = 1
	backupDatabase = "relaypdf.db"
	backupBlobs    = "blobs/"
	backupManifest = "manifest.json"
	// SecretFile is the file in the data folder with the key of the encrypted secrets, if the settings name none.
	// It is part of a backup.
	SecretFile = "secret.key"
	// maxManifest is the maximum that Restore reads into memory, about 500,000 blobs.
	maxManifest = 128 << 20
)

// manifest describes a backup.
type manifest struct {
	Format    int            `json:"format"`
	CreatedAt time.Time      `json:"createdAt"`
	Files     []manifestFile `json:"files"`
}

// manifestFile describes one file of a backup.
type manifestFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Backup writes a snapshot of the database and the blobs of its files to w while the store keeps working. Files
// deleted meanwhile are left out. With PostgreSQL it returns ErrUseDump.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if s.dialect != SQLite {
		return ErrUseDump
	}

	dir, err := os.MkdirTemp(s.dataDir, "backup-")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}

	err = s.backup(ctx, w, filepath.Join(dir, backupDatabase))
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, w io.Writer, snapshot string) error {
	blobs, err := s.snapshot(ctx, snapshot)
	if err != nil {
		return err
	}

	packed := gzip.NewWriter(w)
	a := &archive{tar: tar.NewWriter(packed), now: s.now().UTC()}

	f, err := os.Open(snapshot)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}

	if err := a.add(backupDatabase, info.Size(), f); err != nil {
		return err
	}
	if err := s.backupSecret(a); err != nil {
		return err
	}

	for _, key := range blobs {
		if err := s.backupBlob(ctx, a, key); err != nil {
			return err
		}
	}

	return errors.Join(a.finish(), packed.Close())
}

// snapshot writes a consistent copy of the database to path. It uses its own connection and delays neither readers
// nor the writer. It returns the keys of the blobs that the copy refers to.
func (s *Store) snapshot(ctx context.Context, path string) ([]string, error) {
	source, err := openSQLite(s.path)
	if err != nil {
		return nil, err
	}
	defer source.Close()

	if _, err := source.NewRaw("VACUUM INTO ?", path).Exec(ctx); err != nil {
		return nil, err
	}

	snapshotDB, err := openSQLite(path, "_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	defer snapshotDB.Close()

	var keys []string
	err = snapshotDB.NewRaw(`SELECT blob_key FROM files UNION SELECT input_key FROM jobs WHERE input_key <> '' ORDER BY 1`).
		Scan(ctx, &keys)
	return keys, err
}

// backupSecret adds the key that was generated for this data folder, if any.
func (s *Store) backupSecret(a *archive) error {
	secret, err := os.ReadFile(filepath.Join(s.dataDir, SecretFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.add(SecretFile, int64(len(secret)), bytes.NewReader(secret))
}

func (s *Store) backupBlob(ctx context.Context, a *archive, key string) error {
	r, size, err := s.blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	err = a.add(backupBlobs+key, size, durable.Reader(ctx, r))
	return errors.Join(err, r.Close())
}

// archive writes the files of a backup and remembers them for its manifest.
type archive struct {
	tar   *tar.Writer
	now   time.Time
	files []manifestFile
}

func (a *archive) add(name string, size int64, r io.Reader) error {
	err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: a.now, Format: tar.FormatPAX})
	if err != nil {
		return err
	}

	hash := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(a.tar, hash), r, size); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}

	a.files = append(a.files, manifestFile{Name: name, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))})
	return nil
}

// finish writes the manifest and ends the archive.
func (a *archive) finish() error {
	text, err := json.MarshalIndent(manifest{Format: backupFormat, CreatedAt: a.now, Files: a.files}, "", "  ")
	if err != nil {
		return err
	}

	header := &tar.Header{
		Name:    backupManifest,
		Mode:    0o600,
		Size:    int64(len(text)),
		ModTime: a.now,
		Format:  tar.FormatPAX,
	}

	if err := a.tar.WriteHeader(header); err != nil {
		return err
	}
	if _, err := a.tar.Write(text); err != nil {
		return err
	}
	return a.tar.Close()
}
