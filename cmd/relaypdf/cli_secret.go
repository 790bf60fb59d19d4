package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"relaypdf/api/delivery"
	"relaypdf/store"
	"relaypdf/store/seal"
)

// newSecretCommand changes the key of the secrets at rest.
func newSecretCommand() *cobra.Command {
	return newGroup("secret", "Change the key that secrets are stored under", newSecretRotate())
}

func newSecretRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate", Short: "Seal what is stored with a new secret key, also while the service runs", Args: cobra.NoArgs,
		Long: "Make a new secret key in the data folder and seal what is stored with it; a running server takes it up within seconds. What was sealed before still opens, because the old key stays in the file, after the new one.\n\n" +
			"Where RELAYPDF_SECRET_KEY names the key, it can hold several, separated by commas: all of them open, and the first seals. Add the new one at the end on every machine, then move it to the front on every machine, then run this command; waiting jobs need the old key until they have ended, at most a day.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, s *store.Store, config Config) error {
				if config.SecretKey == "" {
					if err := addSecret(filepath.Join(config.DataDir, store.SecretFile)); err != nil {
						return err
					}
				}
				box, err := openBox(config)
				if err != nil {
					return err
				}
				n, err := s.Reseal(ctx, func(endpoint string, sealed []byte) ([]byte, error) {
					return resealed(box, delivery.SecretPurpose(endpoint), sealed)
				})
				if err != nil {
					return err
				}
				return printLine(cmd, fmt.Sprintf("%d secrets are sealed with the new key", n))
			})
		},
	}
	addSettings(cmd.Flags(), append(dataSettings, "secret-key")...)
	return cmd
}

// resealed seals again what was not sealed with the newest key.
func resealed(box *seal.Box, purpose string, sealed []byte) ([]byte, error) {
	if box.Newest(sealed) {
		return nil, nil
	}
	plain, err := box.Open(purpose, sealed)
	if err != nil {
		return nil, err
	}
	return box.Seal(purpose, plain)
}

// addSecret writes a new key before those of the file, which is whole at any
// moment.
func addSecret(path string) error {
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
