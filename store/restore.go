package store

import (
	"archive/tar"
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
	"strings"

	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/durable"
)

// ErrNotEmpty means that a folder to restore into holds something already.
var ErrNotEmpty = errors.New("the data folder is not empty; restore into a new one")

// ErrBadBackup means that the input is not a complete backup of relaypdf.
var ErrBadBackup = errors.New("not a usable backup")

// maxPadding is the maximum number of bytes after the manifest.
const maxPadding = 1 << 20

// Restore unpacks a backup into dataDir, which must be empty or absent: the database as relaypdf.db and the blobs
// below blobs. It checks every name, size and hash, and the integrity of the database. If a check fails, nothing is
// left behind. It returns ErrNotEmpty or ErrBadBackup, wrapped.
func Restore(ctx context.Context, r io.Reader, dataDir string) error {
	if err := requireEmpty(dataDir); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := restore(ctx, r, dataDir); err != nil {
		return fmt.Errorf("restore: %w", errors.Join(err, removeContents(dataDir)))
	}
	return nil
}

func requireEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = ErrNotEmpty
	}
	return err
}

// removeContents empties a folder that was empty when we began.
func removeContents(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

func restore(ctx context.Context, r io.Reader, dataDir string) error {
	blobs, err := blob.NewDisk(filepath.Join(dataDir, "blobs"))
	if err != nil {
		return err
	}

	packed, err := gzip.NewReader(durable.Reader(ctx, r))
	if err != nil {
		return badBackup("%w", err)
	}

	// The database gets its name last, so that a restore cut short is not taken
	// for a store.
	u := &unpacking{
		blobs:    blobs,
		database: filepath.Join(dataDir, backupDatabase+".restoring"),
		seen:     map[string]manifestFile{},
	}
	if err := u.unpack(ctx, tar.NewReader(packed)); err != nil {
		return err
	}

	// Reading to the end lets gzip verify its checksum. Only tar's padding is left.
	if _, err := io.CopyN(io.Discard, packed, maxPadding); !errors.Is(err, io.EOF) {
		return badBackup("it does not end after its manifest (%v)", err)
	}

	if err := checkDatabase(ctx, u.database); err != nil {
		return err
	}

	if err := os.Rename(u.database, filepath.Join(dataDir, databaseName)); err != nil {
		return err
	}
	return durable.SyncFolder(dataDir)
}

func badBackup(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBadBackup}, args...)...)
}

// unpacking is a backup on its way into a folder.
type unpacking struct {
	blobs    blob.Store
	database string
	seen     map[string]manifestFile
}

// unpack writes the archive's files and compares them with its manifest.
func (u *unpacking) unpack(ctx context.Context, archive *tar.Reader) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return badBackup("its manifest is missing: the archive was cut short")
		}
		if err != nil {
			return badBackup("%w", err)
		}

		if header.Typeflag != tar.TypeReg {
			return badBackup("%q is not a plain file", header.Name)
		}
		if _, twice := u.seen[header.Name]; twice {
			return badBackup("%q is in it twice", header.Name)
		}

		if header.Name == backupManifest {
			return u.compare(archive, header.Size)
		}

		if err := u.file(ctx, header.Name, archive); err != nil {
			return err
		}
	}
}

// file writes one file to the only place its name allows.
func (u *unpacking) file(ctx context.Context, name string, r io.Reader) error {
	hash := sha256.New()
	r = io.TeeReader(r, hash)
	var size int64
	var err error

	key, isBlob := strings.CutPrefix(name, backupBlobs)
	switch {
	case name == backupDatabase:
		size, err = writeNew(ctx, u.database, r)
	case name == SecretFile:
		size, err = writeNew(ctx, filepath.Join(filepath.Dir(u.database), SecretFile), r)
	case isBlob && blob.ValidKey(key):
		size, err = u.blobs.Put(ctx, key, r)
	default:
		return badBackup("it holds the unexpected name %q", name)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return badBackup("%q is cut short", name)
	}

	u.seen[name] = manifestFile{Name: name, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))}
	return err
}

func writeNew(ctx context.Context, path string, r io.Reader) (int64, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	return durable.Write(ctx, f, r)
}

// compare checks that the manifest lists exactly the unpacked files.
func (u *unpacking) compare(r io.Reader, size int64) error {
	if size > maxManifest {
		return badBackup("its manifest has %d bytes, at most %d can be", size, maxManifest)
	}

	var m manifest
	if err := json.NewDecoder(r).Decode(&m); err != nil {
		return badBackup("its manifest cannot be read: %w", err)
	}

	if m.Format != backupFormat {
		return badBackup("it has format %d, this version reads %d", m.Format, backupFormat)
	}
	if _, ok := u.seen[backupDatabase]; !ok {
		return badBackup("it holds no database")
	}
	if len(m.Files) != len(u.seen) {
		return badBackup("its manifest lists %d files, it holds %d", len(m.Files), len(u.seen))
	}

	for _, want := range m.Files {
		if u.seen[want.Name] != want {
			return badBackup("%q is damaged or missing", want.Name)
		}
	}

	return nil
}

// checkDatabase verifies the file, and ends the leases in it: the processes
// that held them do not run on the copy, so that the first reaper may release
// their calls.
func checkDatabase(ctx context.Context, path string) (err error) {
	db, err := openSQLite(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	db.SetMaxOpenConns(1)
	var verdicts []string
	if err := db.NewRaw("PRAGMA integrity_check").Scan(ctx, &verdicts); err != nil {
		return badBackup("its database cannot be read: %w", err)
	}
	if len(verdicts) != 1 || verdicts[0] != "ok" {
		return badBackup("its database is damaged: %s", strings.Join(verdicts, "; "))
	}

	var broken int
	if err := db.NewRaw("SELECT COUNT(*) FROM pragma_foreign_key_check").Scan(ctx, &broken); err != nil {
		return badBackup("its database cannot be read: %w", err)
	}
	if broken > 0 {
		return badBackup("%d rows of its database refer to rows that are missing", broken)
	}

	if _, err := db.NewRaw("DELETE FROM leases").Exec(ctx); err != nil {
		return badBackup("its database has no leases: %w", err)
	}

	// A single file, without a write-ahead log, is left to be renamed.
	_, err = db.NewRaw("PRAGMA journal_mode = DELETE").Exec(ctx)
	return err
}
