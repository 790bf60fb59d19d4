package operator

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
)

// newSecretCommand changes the key of the secrets at rest.
func newSecretCommand() *cobra.Command {
	return console.NewGroup("secret", "Rotate the key that encrypts stored secrets", newSecretRotate())
}

func newSecretRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate", Short: "Create a secret key and encrypt stored secrets with it", Args: cobra.NoArgs,
		Long: "Create a secret key in the data folder and encrypt all stored secrets with it. A running server " +
			"starts to use the key within seconds. The old key stays in the file, after the new one, so older data " +
			"can still be decrypted.\n\n" +
			"RELAYPDF_SECRET_KEY can contain several keys, separated by commas. The first one encrypts; all of " +
			"them decrypt. To rotate:\n\n" +
			"  1. Add the new key at the end, on every machine.\n" +
			"  2. Move it to the front, on every machine.\n" +
			"  3. Run this command.\n" +
			"  4. Remove the old key after 24 hours, when no waiting job needs it.",
	}

	return onStore(cmd, func(ctx context.Context, s *store.Store, config app.Config, _ []string) error {
		if config.SecretKey == "" {
			if err := app.AddSecret(filepath.Join(config.DataDir, store.SecretFile)); err != nil {
				return err
			}
		}

		box, err := app.OpenBox(config)
		if err != nil {
			return err
		}

		n, err := s.Reseal(ctx, func(id string, sealed []byte) ([]byte, error) {
			return resealed(box, delivery.SecretPurpose(id), sealed)
		})
		if err != nil {
			return err
		}
		return console.PrintLine(cmd, fmt.Sprintf("%d secrets are encrypted with the new key", n))
	}, "secret-key")
}

// resealed encrypts a secret again if it was not encrypted with the newest key.
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
