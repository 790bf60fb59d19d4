package wire

// Scopes of OAuth that a user may grant to an application.
const (
	ScopeDocuments = "documents"
	ScopeTemplates = "templates"
	ScopeWebhooks  = "webhooks"
	ScopeAccount   = "account:read"
	// ScopeSign permits the use of the account's signing identities. API keys can have it, too.
	ScopeSign = "sign"
)

// Scopes returns the scopes, the most common first.
func Scopes() []string {
	return []string{ScopeDocuments, ScopeTemplates, ScopeWebhooks, ScopeAccount, ScopeSign}
}

// The paths at which clients discover the authorization server (RFC 8414, 9728).
const (
	ServerMetadataPath   = "/.well-known/oauth-authorization-server"
	ResourceMetadataPath = "/.well-known/oauth-protected-resource"
)
