package cli

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/service/schema"
)

// agentClient is an application that runs agents, and the form of its server configuration.
type agentClient struct {
	title string
	// file is its configuration, in a folder of the user or, for editors that keep one for each project, in this
	// folder.
	file func(user setting.Folders) string
	// member holds the servers by name; typed requires a type next to the command.
	member string
	typed  bool
}

// agentClients lists the clients that install supports.
var agentClients = map[string]agentClient{
	"claude-desktop": {
		title: "Claude Desktop",
		file: func(user setting.Folders) string {
			return filepath.Join(user.Config(), "Claude", "claude_desktop_config.json")
		},
		member: "mcpServers",
	},
	"claude-code": {
		title:  "Claude Code, for this folder",
		file:   func(setting.Folders) string { return ".mcp.json" },
		member: "mcpServers",
	},
	"cursor": {
		title:  "Cursor",
		file:   func(user setting.Folders) string { return filepath.Join(user.Home, ".cursor", "mcp.json") },
		member: "mcpServers",
	},
	"vscode": {
		title:  "Visual Studio Code, for this folder",
		file:   func(setting.Folders) string { return filepath.Join(".vscode", "mcp.json") },
		member: "servers",
		typed:  true,
	},
	"windsurf": {
		title: "Windsurf",
		file: func(user setting.Folders) string {
			return filepath.Join(user.Home, ".codeium", "windsurf", "mcp_config.json")
		},
		member: "mcpServers",
	},
}

// newMCPInstall adds the server to the configuration of a client.
func newMCPInstall(list func() ([]schema.Tool, error)) *cobra.Command {
	var roots []string
	var profile, toolsets string
	var show bool
	known := slices.Sorted(maps.Keys(agentClients))

	cmd := &cobra.Command{
		Use:       "install CLIENT",
		Short:     "Add the MCP server to a desktop client or an editor",
		Args:      cobra.ExactArgs(1),
		ValidArgs: known,
		Long: "Add the MCP server to the configuration of a client: " + strings.Join(known, ", ") +
			". Other entries do not change.\n\n" +
			"The entry contains no key. The MCP server uses the key of relaypdf login, unless RELAYPDF_API_KEY is " +
			"set in the client's environment or in .env of the folder it starts in.",
	}

	cmd.Flags().StringArrayVar(&roots, "root", nil,
		"folder that tools can read and add files to. Repeat the flag for more")
	cmd.Flags().StringVar(&profile, "profile", "",
		"profile that the MCP server uses. Default: the default profile at the time it starts")
	cmd.Flags().StringVar(&toolsets, "toolsets", "", toolsetsUsage)
	cmd.Flags().BoolVar(&show, "print", false, "print the entry instead of writing it")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, ok := agentClients[args[0]]
		if !ok {
			return console.Usagef("unknown client %q; known clients: %s", args[0], strings.Join(known, ", "))
		}

		logins, err := readProfiles()
		if err != nil {
			return err
		}
		if profile != "" {
			if _, err := logins.find(profile); err != nil {
				return err
			}
		}

		tools, err := list()
		if err != nil {
			return err
		}
		if _, err := mcp.Select(tools, toolsets); err != nil {
			return console.Usagef("--toolsets: %v", err)
		}
		entry, err := c.entry(profile, toolsets, roots)
		if err != nil {
			return err
		}

		if show {
			text, err := json.MarshalIndent(map[string]any{c.member: map[string]any{"relaypdf": entry}}, "", "  ")
			if err != nil {
				return err
			}
			return console.PrintLine(cmd, string(text))
		}

		user := setting.UserFolders()
		if user.Home == "" || user.Config() == "" {
			return console.Usagef("there is no home folder; set HOME")
		}
		file := c.file(user)
		if err := c.install(file, entry); err != nil {
			return err
		}

		told := "Wrote " + file + ". Restart " + c.title + " to use it."
		if filepath.IsAbs(file) && len(logins.All) == 0 {
			told += "\nNo saved login. Run relaypdf login, so that the client finds a key in every folder."
		}
		return console.PrintLine(cmd, told)
	}
	return cmd
}

// entry returns the configuration that starts this executable, with a profile if one is named, toolsets, and folders
// that do not depend on the client's working directory.
func (c agentClient) entry(profile, toolsets string, roots []string) (map[string]any, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}

	args := []string{"mcp"}
	if profile != "" {
		args = append(args, "--profile", profile)
	}
	if toolsets != "" {
		args = append(args, "--toolsets", toolsets)
	}

	for _, root := range roots {
		path, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, console.Usagef("--root %s is not a folder", root)
		}
		args = append(args, "--root", path)
	}

	entry := map[string]any{"command": program, "args": args}
	if c.typed {
		entry["type"] = "stdio"
	}
	return entry, nil
}

// install adds the entry to those of the client.
func (c agentClient) install(file string, entry map[string]any) error {
	config := map[string]any{}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &config); err != nil {
			return fmt.Errorf("%s is not valid JSON and was not changed: %w", file, err)
		}
	}

	servers, ok := config[c.member].(map[string]any)
	if config[c.member] != nil && !ok {
		return fmt.Errorf("in %s, %s is not an object; the file was not changed", file, c.member)
	}
	if servers == nil {
		servers = map[string]any{}
	}

	servers["relaypdf"] = entry
	config[c.member] = servers
	out, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return replaceFile(file, append(out, '\n'), ownerOnly)
}

// Modes of written files: readable only by their owner, or as the user's umask decides.
const (
	ownerOnly fs.FileMode = 0o600
	asUmask   fs.FileMode = 0o666
)

// replaceFile writes a file whole or not at all.
func replaceFile(file string, content []byte, mode fs.FileMode) error {
	part, err := os.OpenFile(filepath.Join(filepath.Dir(file), ".relaypdf-"+rand.Text()+".part"),
		os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}
