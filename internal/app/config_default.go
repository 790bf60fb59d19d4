package app

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/store"
)

// defaultDataDir gives root /var/lib and not its home: /root is closed to the
// unprivileged user that the engines run as.
func defaultDataDir(_ *Config, host machine) (string, error) {
	switch {
	case host.env["XDG_DATA_HOME"] != "":
		return filepath.Join(host.env["XDG_DATA_HOME"], "relaypdf"), nil
	case host.uid == 0:
		return "/var/lib/relaypdf", nil
	case host.env["HOME"] != "":
		return filepath.Join(host.env["HOME"], ".local", "share", "relaypdf"), nil
	}
	return "", errors.New("is missing and there is no home folder; set it to a folder that this user can write to")
}

// inDataDir derives an address below the data folder, or nothing when that
// setting is itself in error and has been complained about.
func inDataDir(scheme, name string) func(*Config, machine) (string, error) {
	return func(c *Config, _ machine) (string, error) {
		if c.DataDir == "" {
			return "", nil
		}
		return scheme + filepath.Join(c.DataDir, name), nil
	}
}

// defaultSandbox allows a weaker sandbox in containers only, since most runtimes refuse them namespaces.
func defaultSandbox(_ *Config, host machine) (string, error) {
	if host.container {
		return string(render.SandboxReduced), nil
	}
	return string(render.SandboxFull), nil
}

// inContainer looks for the marks that Docker, Podman, Kubernetes and systemd
// leave.
func inContainer(env map[string]string) bool {
	if env["container"] != "" || env["KUBERNETES_SERVICE_HOST"] != "" {
		return true
	}
	return slices.ContainsFunc([]string{"/.dockerenv", "/run/.containerenv"}, func(mark string) bool {
		_, err := os.Stat(mark)
		return err == nil
	})
}

func defaultRegion(_ *Config, host machine) (string, error) {
	if region := host.env["FLY_REGION"]; region != "" {
		return region, nil
	}
	return store.DefaultRegion, nil
}

// issuerHost is the default name of an identity provider.
func issuerHost(c *Config, _ machine) (string, error) {
	if c.OIDCIssuer == "" {
		return "", nil
	}
	issuer, err := url.Parse(c.OIDCIssuer)
	if err != nil {
		return "", err
	}
	return issuer.Hostname(), nil
}

// mcpAudience is the resource in the metadata of the agent endpoint (RFC 9728), which applications request from their
// issuer.
func mcpAudience(c *Config, _ machine) (string, error) {
	if c.MCPIssuer == "" {
		return "", nil
	}
	return c.BaseURL + api.AgentPath, nil
}

// mailFrom derives the sender of emails from the service's host.
func mailFrom(c *Config, _ machine) (string, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return "", err
	}
	return "relaypdf <noreply@" + base.Hostname() + ">", nil
}

// ownHosts are the hosts under which the service is reached, which documents may
// not reach.
func (c *Config) ownHosts() []string {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Hostname() == "" {
		return nil // setting.ParseURL has reported it
	}
	return []string{u.Hostname()}
}

// offices returns the number of office documents that are converted at once. It follows the resource plan and is
// not above the number of renders that the operator allows.
func (c *Config) offices() int {
	p, _ := c.MemoryPlan()
	return min(p.OfficeSlots, cmp.Or(c.RenderSlots, p.OfficeSlots))
}

// SQLiteFile returns the path of the SQLite database, or nothing with PostgreSQL.
func (c *Config) SQLiteFile() string {
	path, ok := strings.CutPrefix(c.DatabaseURL, "sqlite:")
	if !ok {
		return ""
	}
	path = strings.TrimPrefix(path, "//")
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.DataDir, path)
	}
	return filepath.Clean(path)
}
