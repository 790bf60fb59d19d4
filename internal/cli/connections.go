package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// newConnectionsCommand works with the account's buckets and SFTP servers.
func newConnectionsCommand() *cobra.Command {
	return console.NewGroup("connections", "List, create, test and delete connections for deliverTo",
		newConnectionsList(), newConnectionsCreate(), newConnectionsTest(), newConnectionsDelete())
}

func newConnectionsList() *cobra.Command {
	return newShowCommand("list", "List the connections", func(
		c *client.Client, ctx context.Context,
	) (map[string][]client.Connection, error) {
		list, err := c.Connections().List(ctx)
		return map[string][]client.Connection{"connections": list.Connections}, err
	}, func(cmd *cobra.Command, list map[string][]client.Connection) error {
		return console.PrintTable(cmd.OutOrStdout(), "ID\tNAME\tKIND\tSERVER\tCREATED", list["connections"],
			func(c client.Connection) []any {
				server := "Amazon S3"
				switch {
				case c.SFTP != nil:
					server = c.SFTP.Host
				case c.S3 != nil && c.S3.Endpoint != "":
					server = c.S3.Endpoint
				}

				return []any{c.ID, c.Name, c.Kind, server, console.ShortTime(&c.CreatedAt)}
			})
	})
}

var completeConnections = completeIDs(func(ctx context.Context, c *client.Client) ([]client.Connection, error) {
	list, err := c.Connections().List(ctx)
	return list.Connections, err
},
	func(c client.Connection) (string, string) { return c.ID, c.Name })

func newConnectionsCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FILE", Short: "Create a connection from a JSON file and print its ID", Args: cobra.ExactArgs(1),
		Long: "Create a connection from FILE, which has the JSON of POST /v1/connections; - is standard input. " +
			"The secret is in the file, so process lists do not show it.",
		Example: "  relaypdf connections create bucket.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := readBody(cmd.InOrStdin(), args[0])
			if err != nil {
				return console.Usagef("read the connection: %w", err)
			}

			made, err := askService(cmd, func(ctx context.Context, c *client.Client) (client.Connection, error) {
				return createConnection(ctx, c, input)
			})
			if err != nil {
				return err
			}

			return console.PrintLine(cmd, made.ID)
		},
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// createConnection sends JSON of the user, whose unknown fields the service refuses.
func createConnection(ctx context.Context, c *client.Client, input any) (made client.Connection, err error) {
	body, err := json.Marshal(input)
	if err != nil {
		return made, err
	}
	response, err := c.Request(ctx, http.MethodPost, "/v1/connections", http.Header{}, body)
	if err != nil {
		return made, err
	}
	err = json.NewDecoder(response.Body).Decode(&made)
	return made, errors.Join(err, response.Body.Close())
}

func newConnectionsTest() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "test ID",
		Short:             "Write a small file to a connection and delete it",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeConnections,
		Long: "Write a small file to the bucket or the server of a connection, and delete it. The first successful " +
			"test of an SFTP server stores its host key, which is printed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			test, err := askService(cmd, func(ctx context.Context, c *client.Client) (client.ConnectionTest, error) {
				return c.Connections().Test(ctx, args[0])
			})
			switch {
			case err != nil:
				return err
			case !test.OK:
				return fmt.Errorf("the test failed at the step %s: %s", test.FailedStep, test.Message)
			case test.HostKey != "":
				return console.PrintLine(cmd, "ok, host key "+test.HostKey)
			}

			return console.PrintLine(cmd, "ok")
		},
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

func newConnectionsDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "delete ID",
		Short:             "Delete a connection and its secret",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeConnections,
		RunE: func(cmd *cobra.Command, args []string) error {
			return onService(cmd,
				func(ctx context.Context, c *client.Client) error { return c.Connections().Delete(ctx, args[0]) })
		},
	}
	setting.AddClientFlags(cmd.Flags())
	return cmd
}
