package app

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
)

// OpenBox returns the box of the secret key: that of the settings, or one that is made once and stored in the data
// folder. Machines that share a PostgreSQL must have the key in their settings; a single machine need not.
func OpenBox(config Config) (*seal.Box, error) {
	if config.SecretKey != "" {
		return seal.New(Secrets(config.SecretKey)...)
	}
	if !strings.HasPrefix(config.DatabaseURL, "sqlite:") && !middleware.IsLoopback(config.BaseURL) {
		return nil, errors.New(
			"RELAYPDF_SECRET_KEY: is needed with PostgreSQL, the same on every machine; " +
				"use at least 32 random characters, for example from `openssl rand -base64 32`",
		)
	}

	path := filepath.Join(config.DataDir, store.SecretFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(path); err != nil {
			return nil, fmt.Errorf("secret key: %w", err)
		}
	}

	box, err := seal.NewLoaded(func() ([][]byte, error) {
		text, err := os.ReadFile(path)
		return Secrets(string(text)), err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore the file from a backup", path, err)
	}
	return box, nil
}

// makeSecret writes a new secret key, unless another process is first. The
// file is whole as soon as it has its name.
func makeSecret(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}

	part, err := writeSecret(filepath.Dir(path), "")
	if err == nil {
		err = os.Link(part, path)
	}

	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, removeAny(part))
}

func removeAny(path string) error {
	if path == "" {
		return nil
	}
	return os.Remove(path)
}

// writeSecret writes a new key, followed by the earlier ones, to a new file.
func writeSecret(dir, before string) (path string, err error) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // crypto/rand.Read never fails: it ends the program instead.
	part, err := os.CreateTemp(dir, ".secret-")
	if err != nil {
		return "", err
	}
	_, err = part.WriteString(base64.StdEncoding.EncodeToString(secret[:]) + "\n" + before)
	return part.Name(), errors.Join(err, part.Sync(), part.Close())
}

// AddSecret adds a new key in front of the keys of the file. The file is complete at any moment.
func AddSecret(path string) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("secret key: %w", err)
	}
	part, err := writeSecret(filepath.Dir(path), string(before))
	if err != nil {
		return fmt.Errorf("secret key: %w", err)
	}
	return os.Rename(part, path)
}
