package app

import (
	"strings"
	"testing"
)

// TestSettingsOfAProviderOfIdentities: issuer and client belong together, the issuer is stored unchanged, and it must
// be encrypted.
func TestSettingsOfAProviderOfIdentities(t *testing.T) {
	load := func(vars ...string) (Config, error) { return loadConfig(flagsOf(t), user(vars...)) }
	c, err := load("RELAYPDF_OIDC_ISSUER=https://id.example.com/staff/", "RELAYPDF_OIDC_CLIENT_ID=relaypdf")
	if err != nil || c.OIDCIssuer != "https://id.example.com/staff/" || c.OIDCName != "id.example.com" || c.OIDCClientSecret != "" {
		t.Errorf("got %q, %q, %v", c.OIDCIssuer, c.OIDCName, err)
	}
	if c, err := load("RELAYPDF_OIDC_ISSUER=http://localhost:9000", "RELAYPDF_OIDC_CLIENT_ID=relaypdf", "RELAYPDF_OIDC_NAME=Fern & Kettle"); err != nil || c.OIDCName != "Fern & Kettle" {
		t.Errorf("on this machine: got %q, %v", c.OIDCName, err)
	}
	for name, q := range map[string]struct {
		vars []string
		want string
	}{
		"issuer alone": {[]string{"RELAYPDF_OIDC_ISSUER=https://id.example.com"}, "RELAYPDF_OIDC_CLIENT_ID: only one of them is set"},
		"client alone": {[]string{"RELAYPDF_OIDC_CLIENT_ID=relaypdf"}, "only one of them is set"},
		"unencrypted":  {[]string{"RELAYPDF_OIDC_ISSUER=http://id.example.com", "RELAYPDF_OIDC_CLIENT_ID=x"}, "must begin with https://"},
		"no address":   {[]string{"RELAYPDF_OIDC_ISSUER=id.example.com", "RELAYPDF_OIDC_CLIENT_ID=x"}, "RELAYPDF_OIDC_ISSUER"},
	} {
		if _, err := load(q.vars...); err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%s: got %v, want %q", name, err, q.want)
		}
	}
	if c, err := load(); err != nil || c.OIDCIssuer != "" || c.OIDCName != "" {
		t.Errorf("without one: got %q, %q, %v", c.OIDCIssuer, c.OIDCName, err)
	}
}

// TestSettingsOfAnIssuerOfTokens: the audience defaults to the URL of the agent endpoint.
func TestSettingsOfAnIssuerOfTokens(t *testing.T) {
	load := func(vars ...string) (Config, error) { return loadConfig(flagsOf(t), user(vars...)) }
	c, err := load("RELAYPDF_MCP_ISSUER=https://id.example.com/staff/", "RELAYPDF_BASE_URL=https://pdf.example.net")
	if err != nil || c.MCPIssuer != "https://id.example.com/staff/" || c.MCPAudience != "https://pdf.example.net/mcp" {
		t.Errorf("got %q, %q, %v", c.MCPIssuer, c.MCPAudience, err)
	}
	if c, err = load("RELAYPDF_MCP_ISSUER=https://id.example.com", "RELAYPDF_MCP_AUDIENCE=api://pdf"); err != nil || c.MCPAudience != "api://pdf" {
		t.Errorf("got %q, %v", c.MCPAudience, err)
	}
	if c, err = load(); err != nil || c.MCPIssuer != "" || c.MCPAudience != "" {
		t.Errorf("without one: got %q, %q, %v", c.MCPIssuer, c.MCPAudience, err)
	}
	for vars, want := range map[string]string{
		"RELAYPDF_MCP_AUDIENCE=api://pdf":           "without RELAYPDF_MCP_ISSUER",
		"RELAYPDF_MCP_ISSUER=http://id.example.com": "must begin with https://",
	} {
		if _, err := load(vars); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", vars, err, want)
		}
	}
}
