package cli

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// priceTime is the maximum time that a start waits for the service's prices.
const priceTime = 10 * time.Second

// newMCPCommand lets agents on this machine use the service.
func newMCPCommand(list func() ([]schema.Tool, error)) *cobra.Command {
	var roots []string
	var toolsets string
	cmd := &cobra.Command{
		Use: "mcp", Short: "Run the MCP server over standard input and output", Args: cobra.NoArgs,
		Long: "Run an MCP server over standard input and output, for desktop clients and editors. It has the same " +
			"toolsets as POST /mcp and calls the server of RELAYPDF_API_URL.\n\n" +
			"With --root, tools can read local files by path, and write results to new files with saveTo. Tools " +
			"cannot access files outside these folders, not even through symbolic links.",
	}

	cmd.Flags().StringArrayVar(&roots, "root", nil,
		"folder that tools can read and add files to. Repeat the flag for more")
	cmd.Flags().StringVar(&toolsets, "toolsets", "", toolsetsUsage)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		service, err := connect(cmd, 0)
		if err != nil {
			return err
		}

		tools, err := list()
		if err != nil {
			return err
		}
		selected, err := mcp.Select(pricedTools(cmd.Context(), service, tools), toolsets)
		if err != nil {
			return console.Usagef("--toolsets: %v", err)
		}

		documents, err := mcp.Documents(service.BaseURL)
		if err != nil {
			return err
		}

		local := mcp.Local{Tools: selected, Documents: documents, Version: version.Version, Service: service, Roots: roots}
		return local.Serve(cmd.Context(), io.NopCloser(cmd.InOrStdin()), keptOpen{cmd.OutOrStdout()})
	}

	setting.AddClientFlags(cmd.Flags())
	cmd.AddCommand(newMCPInstall(list))
	return cmd
}

// toolsetsUsage describes the flag of the command and of its installation.
const toolsetsUsage = "toolsets to list, separated by commas, or all. Default: default"

// keptOpen is an output that its owner closes.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

// pricedTools returns the tools with the prices of the service. If the service does not respond, the prices stay those
// of the operation table, because an agent's client must not fail to start for that.
func pricedTools(ctx context.Context, service *client.Client, tools []schema.Tool) []schema.Tool {
	ctx, cancel := context.WithTimeout(ctx, priceTime)
	defer cancel()
	list, err := service.Billing().PricesGet(ctx)
	if err != nil {
		return tools // the tools work as soon as the service does
	}

	prices := map[string]credit.Amount{}
	for _, price := range list.Prices {
		prices[price.Operation] = credit.Amount(price.Microdollars)
	}

	tools = slices.Clone(tools)
	for i, tool := range tools {
		if tool.Operation == nil {
			continue
		}
		if price, ok := prices[tool.Operation.Name]; ok {
			tools[i].Price = price
		}
	}
	return tools
}
