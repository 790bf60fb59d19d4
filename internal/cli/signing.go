package cli

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// newSigningCommand works with the account's signing identities.
func newSigningCommand() *cobra.Command {
	return console.NewGroup("signing", "List, create and delete signing identities for pdf sign",
		newSigningList(), newSigningCreate(), newSigningDelete())
}

func newSigningList() *cobra.Command {
	return newShowCommand("list", "List the signing identities", func(
		c *client.Client, ctx context.Context,
	) (map[string][]client.SigningIdentity, error) {
		list, err := c.SigningIdentities().List(ctx)
		return map[string][]client.SigningIdentity{"signingIdentities": list.SigningIdentities}, err
	}, func(cmd *cobra.Command, list map[string][]client.SigningIdentity) error {
		return console.PrintTable(cmd.OutOrStdout(), "ID\tNAME\tSUBJECT\tEXPIRES", list["signingIdentities"],
			func(i client.SigningIdentity) []any {
				return []any{i.ID, i.Name, i.Certificate.Subject, console.ShortTime(&i.Certificate.NotAfter)}
			})
	})
}

var completeSigning = completeIDs(func(ctx context.Context, c *client.Client) ([]client.SigningIdentity, error) {
	list, err := c.SigningIdentities().List(ctx)
	return list.SigningIdentities, err
}, func(i client.SigningIdentity) (string, string) { return i.ID, i.Name })

func newSigningCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FILE", Short: "Create a signing identity from a PKCS#12 file", Args: cobra.ExactArgs(1),
		Long: "Create a signing identity from a PKCS#12 file and print its ID. The password of the file is read " +
			"from standard input, so process lists do not show it.",
		Example: "  relaypdf signing create key.p12 < password.txt",
	}
	name := cmd.Flags().String("name", "", "name of the identity. Default: the name of the file")
	setting.AddClientFlags(cmd.Flags())

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := os.ReadFile(args[0])
		if err != nil {
			return console.Usagef("read the key: %w", err)
		}

		password, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxPassword))
		if err != nil {
			return console.Usagef("read the password: %w", err)
		}

		base := filepath.Base(args[0])
		made, err := askService(cmd, func(ctx context.Context, c *client.Client) (client.SigningIdentity, error) {
			return c.SigningIdentities().Create(ctx, client.SigningIdentitiesCreateInput{
				Name:     cmp.Or(*name, strings.TrimSuffix(base, filepath.Ext(base))),
				PKCS12:   file,
				Password: string(bytes.TrimRight(password, "\r\n")),
			})
		})
		if err != nil {
			return err
		}

		return console.PrintLine(cmd, made.ID)
	}
	return cmd
}

// maxPassword is the maximum length of a password in bytes, with the end of its line.
const maxPassword = 4096

func newSigningDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "delete ID",
		Short:             "Delete a signing identity and its key",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSigning,
		RunE: func(cmd *cobra.Command, args []string) error {
			return onService(cmd,
				func(ctx context.Context, c *client.Client) error { return c.SigningIdentities().Delete(ctx, args[0]) })
		},
	}
	setting.AddClientFlags(cmd.Flags())
	return cmd
}
