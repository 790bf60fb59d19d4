package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"relaypdf/api"
	"relaypdf/store"
	"relaypdf/store/seal"
)

// openBox returns the box of the secret key: that of the settings or one that is
// made once and kept in the data folder. Machines that share a PostgreSQL have
// to be told it; one that serves only itself has not.
func openBox(config Config) (*seal.Box, error) {
	if config.SecretKey != "" {
		return seal.New([]byte(config.SecretKey))
	}
	if !strings.HasPrefix(config.DatabaseURL, "sqlite:") && !api.Loopback(config.BaseURL) {
		return nil, errors.New("RELAYPDF_SECRET_KEY: is needed with PostgreSQL, the same on every machine; use at least 32 random characters, for example from `openssl rand -base64 32`")
	}
	path := filepath.Join(config.DataDir, store.SecretFile)
	secret, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeSecret(path); err == nil {
			secret, err = readSecret(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	box, err := seal.New(secret)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore the file from a backup", path, err)
	}
	return box, nil
}

func readSecret(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	return []byte(strings.TrimSpace(string(text))), err
}

// makeSecret writes a new secret key, unless another process is first. The
// file is whole as soon as it has its name.
func makeSecret(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // crypto/rand.Read never fails: it ends the program instead.
	part, err := os.CreateTemp(filepath.Dir(path), ".secret-")
	if err != nil {
		return err
	}
	_, err = part.WriteString(base64.StdEncoding.EncodeToString(secret[:]) + "\n")
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = os.Link(part.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(part.Name()))
}
