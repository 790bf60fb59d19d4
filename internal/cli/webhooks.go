package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// newWebhooksCommand works with the account's endpoints.
func newWebhooksCommand(events []string) *cobra.Command {
	return console.NewGroup("webhooks", "List, create and delete webhook endpoints; forward events",
		newWebhooksList(), newWebhooksCreate(events), newWebhooksDelete(), newWebhooksListen())
}

func newWebhooksList() *cobra.Command {
	return newShowCommand("list", "List the webhook endpoints", func(
		c *client.Client, ctx context.Context,
	) (map[string][]client.WebhookEndpoint, error) {
		list, err := c.Webhooks().List(ctx)
		return map[string][]client.WebhookEndpoint{"webhooks": list.Webhooks}, err
	}, func(cmd *cobra.Command, list map[string][]client.WebhookEndpoint) error {
		return console.PrintTable(cmd.OutOrStdout(), "ID\tURL\tEVENTS\tENABLED\tCREATED", list["webhooks"],
			func(w client.WebhookEndpoint) []any {
				events := strings.Join(w.Events, ",")
				enabled := "yes"
				if len(w.Events) == len(events) {
					events = "all"
				}
				if !w.Enabled {
					enabled = strings.TrimSpace("no " + w.DisabledReason)
				}

				return []any{w.ID, w.URL, events, enabled, console.ShortTime(&w.CreatedAt)}
			})
	})
}

var completeWebhooks = completeIDs(
	func(ctx context.Context, c *client.Client) ([]client.WebhookEndpoint, error) {
		list, err := c.Webhooks().List(ctx)
		return list.Webhooks, err
	},
	func(w client.WebhookEndpoint) (string, string) { return w.ID, w.URL })

func newWebhooksCreate(types []string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create URL", Short: "Create a webhook endpoint and print its secret", Args: cobra.ExactArgs(1),
		Long: "Create a webhook endpoint. URL must be a public https URL. The signing secret is printed to " +
			"standard output and never shown again.",
	}

	events := cmd.Flags().StringSlice("events", nil,
		"events to send, separated by commas (default all). Events: "+strings.Join(types, ", "))
	asJSON := cmd.Flags().Bool("json", false, "print the endpoint with its secret as a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		made, err := askService(cmd, func(ctx context.Context, c *client.Client) (client.WebhookSecret, error) {
			return c.Webhooks().Create(ctx, client.WebhooksCreateInput{URL: args[0], Events: *events})
		})
		switch {
		case err != nil:
			return err
		case *asJSON:
			return console.PrintJSON(cmd.OutOrStdout(), made)
		}

		if err := console.Say(cmd, "made %s; its secret is shown only now", made.ID); err != nil {
			return err
		}
		return console.PrintLine(cmd, made.Secret)
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

func newWebhooksDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "delete ID",
		Short:             "Delete a webhook endpoint and its pending deliveries",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeWebhooks,
		RunE: func(cmd *cobra.Command, args []string) error {
			return onService(cmd,
				func(ctx context.Context, c *client.Client) error { return c.Webhooks().Delete(ctx, args[0]) })
		},
	}
	setting.AddClientFlags(cmd.Flags())
	return cmd
}
