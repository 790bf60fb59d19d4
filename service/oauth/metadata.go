package oauth

import (
	"net/http"

	"github.com/relaypdf/relaypdf/api/wire"
)

// serverMetadata describes the authorization server (RFC 8414).
func (s *Server) serverMetadata(w http.ResponseWriter, _ *http.Request) error {
	base := s.cfg.BaseURL
	return writeMetadata(w, map[string]any{
		"issuer": base, "authorization_endpoint": base + AuthorizePath, "token_endpoint": base + wire.DeviceTokenPath,
		"registration_endpoint": base + registerPath, "revocation_endpoint": base + revokePath,
		"device_authorization_endpoint": base + wire.DeviceBeginPath,
		"response_types_supported":      []string{"code"}, "response_modes_supported": []string{"query"},
		"grant_types_supported":                      []string{codeGrant, refreshGrant, wire.DeviceGrant},
		"code_challenge_methods_supported":           []string{"S256"},
		"token_endpoint_auth_methods_supported":      []string{"none"},
		"revocation_endpoint_auth_methods_supported": []string{"none"},
		"scopes_supported":                           wire.Scopes(), "service_documentation": s.cfg.DocsURL,
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          s.cfg.Documents != nil,
	})
}

// resourceMetadata describes the protected resource (RFC 9728).
func (s *Server) resourceMetadata(w http.ResponseWriter, r *http.Request) error {
	servers := []string{s.cfg.BaseURL}
	if s.cfg.OutsideIssuer != "" {
		servers = []string{s.cfg.OutsideIssuer, s.cfg.BaseURL} // Clients take the first that they know.
	}

	return writeMetadata(w, map[string]any{
		"resource": s.Resource() + ResourceQuery(r.URL.RawQuery), "authorization_servers": servers,
		"bearer_methods_supported": []string{"header"},
		"scopes_supported":         wire.Scopes(), "resource_name": "relaypdf", "resource_documentation": s.cfg.DocsURL,
	})
}

// writeMetadata writes a document that pages of any origin may read.
func writeMetadata(w http.ResponseWriter, document map[string]any) error {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	return writeJSON(w, http.StatusOK, document)
}

// preflight answers the CORS request that precedes a read of metadata.
func preflight(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "Mcp-Protocol-Version, Content-Type, Accept")
	w.WriteHeader(http.StatusNoContent)
}
