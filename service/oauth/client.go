package oauth

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/relaypdf/relaypdf/store"
)

const (
	// maxClientID and maxRedirect bound a client ID and a redirect URI, in bytes.
	maxClientID = 2000
	maxRedirect = 2000
)

// appSchemes are the known private-use URI schemes of clients. Others contain a dot, as RFC 8252 asks: no browser
// gives these a meaning.
var appSchemes = []string{"cursor", "vscode", "vscode-insiders", "windsurf", "claude"}

var appScheme = regexp.MustCompile(`^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+$`)

// visible returns a name that a client has sent, without characters that cannot be seen.
func visible(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, text))
}

// displayName is the name of a client on the consent page.
func displayName(name string) string {
	if name = visible(name); name == "" {
		return "Unnamed app"
	}
	return name
}

// redirectError returns the reason why a redirect URI is invalid, or "". It must lead to https, to a client on the
// user's own machine, or to a private-use scheme.
func redirectError(redirect string) string {
	u, err := url.Parse(redirect)
	invalid := func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' }
	switch {
	case err != nil, len(redirect) > maxRedirect, strings.ContainsFunc(redirect, invalid):
		return "each redirect URI must be a valid URI."
	case u.Fragment != "" || strings.Contains(redirect, "#"), u.User != nil:
		return "redirect URIs must not have a fragment or a user name."
	case u.Scheme == "https" && u.Hostname() != "":
		return ""
	case u.Scheme == "http" && IsLoopback(u):
		return ""
	case slices.Contains(appSchemes, u.Scheme), appScheme.MatchString(u.Scheme):
		return ""
	}

	return "each redirect URI must use https, http on localhost, 127.0.0.1 or [::1], or a private scheme with a dot, such as com.example.app."
}

// IsLoopback reports whether a redirect URI leads to the user's own machine.
func IsLoopback(u *url.URL) bool {
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// sameRedirect reports whether a redirect URI equals a registered one. The port of a client on the user's machine may
// differ: the client uses any free port (RFC 8252).
func sameRedirect(registered, requested string) bool {
	if registered == requested {
		return true
	}

	a, err := url.Parse(registered)
	b, requestErr := url.Parse(requested)
	if err != nil || requestErr != nil || a.Scheme != "http" || !IsLoopback(a) || !IsLoopback(b) ||
		a.Hostname() != b.Hostname() {
		return false
	}

	a.Host = a.Hostname()
	b.Host = b.Hostname()
	return a.String() == b.String()
}

// ClientError reports that a client cannot be identified. Its text is for the user; nothing is sent to the client.
type ClientError struct{ Text string }

func (e *ClientError) Error() string { return e.Text }

// Client is an app that asks a user for access.
type Client struct {
	store.OAuthClient
	// Site is the host of the client ID metadata document. It is empty if no one vouches for the client's metadata.
	Site string
}

// client returns a client by its ID: a registered one, or one whose ID is the URL of its metadata document.
func (s *Server) client(ctx context.Context, id, userID string) (Client, error) {
	if strings.HasPrefix(id, "https://") && s.cfg.Documents != nil {
		return s.documentedClient(ctx, id, userID)
	}

	if id == "" || len(id) > maxClientID {
		return Client{}, &ClientError{"The link has no valid client_id. Start the connection again in the app."}
	}

	client, err := s.store.OAuthClient(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return Client{}, &ClientError{
			"This app is not registered, or its unused registration expired. Remove the connection in the app, and add it again.",
		}
	}
	return Client{OAuthClient: client}, err
}
