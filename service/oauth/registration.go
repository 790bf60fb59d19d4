package oauth

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/relaypdf/relaypdf/store"
)

const (
	maxRegistration = 16 << 10 // bytes
	maxRedirects    = 10
)

// clientMetadata describes a client, in a registration and in a client ID metadata document (RFC 7591).
type clientMetadata struct {
	ClientID      string   `json:"client_id"`
	ClientSecret  string   `json:"client_secret"`
	Name          string   `json:"client_name"`
	Redirects     []string `json:"redirect_uris"`
	Method        string   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// validate returns the first validation error, an *Error of RFC 7591.
func (m clientMetadata) validate() error {
	if len(m.Redirects) == 0 || len(m.Redirects) > maxRedirects {
		return newError("invalid_redirect_uri", fmt.Sprintf("redirect_uris must have 1 to %d URIs.", maxRedirects))
	}

	for _, redirect := range m.Redirects {
		if text := redirectError(redirect); text != "" {
			return newError("invalid_redirect_uri", "redirect_uris: "+text)
		}
	}
	for _, kind := range m.GrantTypes {
		if kind != codeGrant && kind != refreshGrant {
			return newError("invalid_client_metadata",
				"grant_types may only contain "+codeGrant+" and "+refreshGrant+".")
		}
	}
	for _, kind := range m.ResponseTypes {
		if kind != "code" {
			return newError("invalid_client_metadata", "response_types may only contain code.")
		}
	}
	return nil
}

// register stores a client that registers itself (RFC 7591). Every client is public, whatever it asks for: PKCE, and
// not a secret, protects its codes.
func (s *Server) register(w http.ResponseWriter, r *http.Request) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return newError("invalid_client_metadata", "Send the metadata as application/json.")
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxRegistration+1))
	if err != nil {
		return newError("invalid_client_metadata", "The request body is incomplete. Send it again.")
	}

	var metadata clientMetadata
	if len(text) > maxRegistration || json.Unmarshal(text, &metadata) != nil {
		return newError("invalid_client_metadata",
			fmt.Sprintf("The metadata must be one JSON object of at most %d KiB.", maxRegistration>>10))
	}
	if err := metadata.validate(); err != nil {
		return err
	}

	ip := s.cfg.ClientIP(r.Context())
	if err := s.allow(r.Context(), "register:"+ip, registrationsPerIP, limitWindow); err != nil {
		return err
	}
	client, err := s.store.RegisterClient(r.Context(), store.OAuthClient{
		Name: displayName(metadata.Name), Redirects: metadata.Redirects,
	}, ip)
	if err != nil {
		return err
	}

	return writeJSON(w, http.StatusCreated, map[string]any{
		"client_id": client.ID, "client_id_issued_at": client.CreatedAt.Unix(), "client_name": client.Name,
		"redirect_uris":              client.Redirects,
		"token_endpoint_auth_method": "none", "grant_types": []string{codeGrant, refreshGrant},
		"response_types": []string{"code"},
	})
}
