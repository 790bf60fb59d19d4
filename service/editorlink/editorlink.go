// Package editorlink defines the permissions of a link to the template editor: its users are an account's own
// customers, in a frame of one site.
package editorlink

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store/seal"
)

// Path is the prefix of embedded pages.
const Path = "/embed/"

// Capability is one permission of a link. Every link may also read the template.
type Capability string

// Capabilities of a link.
const (
	Edit    Capability = "edit"    // to change the HTML
	Data    Capability = "data"    // to change the sample data
	Options Capability = "options" // to change the options of documents
	Preview Capability = "preview" // to see the pages, within the account's limits
	Publish Capability = "publish" // to publish the draft
)

// Capabilities lists them all.
func Capabilities() []Capability { return []Capability{Edit, Data, Options, Preview, Publish} }

// Session is the content of one link.
type Session struct {
	ID           string       `json:"id"` // opens nothing
	AccountID    string       `json:"account"`
	KeyID        string       `json:"key"` // ends with it
	TemplateID   string       `json:"template"`
	Capabilities []Capability `json:"may"`
	Origin       string       `json:"origin"` // of the only pages that may frame it
	ReturnURL    string       `json:"return,omitempty"`
	ExpiresAt    time.Time    `json:"until"`
}

// NewID returns an id for a session.
func NewID() string { return "emb_" + strings.ToLower(rand.Text()) }

// May reports whether a session has at least one of the capabilities.
func (s Session) May(one ...Capability) bool {
	return slices.ContainsFunc(one, func(c Capability) bool { return slices.Contains(s.Capabilities, c) })
}

// errToken means that a text is not the token of a link: it was changed or invented.
var errToken = errors.New("no token of an editor link")

// purpose keeps tokens apart from all else that is sealed.
const purpose = "editor link"

// Token returns the token for the link of a session: the session itself, encrypted so that only this service can read
// or write it.
func (s Session) Token(box *seal.Box) (string, error) {
	plain, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	sealed, err := box.Seal(purpose, plain)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// Open returns the session of a token, however old it is, or ErrToken.
func Open(box *seal.Box, token string) (Session, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return Session{}, errToken
	}
	plain, err := box.Open(purpose, sealed)
	if err != nil {
		return Session{}, fmt.Errorf("%w: %w", errToken, err)
	}

	var s Session
	err = json.Unmarshal(plain, &s)
	return s, err
}

// host is a name or an IPv4 address as a policy of frames may hold it.
var host = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// OriginOf returns the origin of a URL in the form that browsers use. Plain http is allowed for the user's own
// machine and, if insecure is set, for services that are themselves reached over http. The error continues the
// sentence that begins with the field's name.
func OriginOf(address string, insecure bool) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.User != nil || u.Hostname() == "" {
		return "", errors.New("must be an origin such as https://app.example.com")
	}

	scheme := strings.ToLower(u.Scheme)
	name := strings.ToLower(u.Hostname())
	port := u.Port()
	switch {
	case scheme != "https" && scheme != "http":
		return "", errors.New("must begin with https://")
	case scheme == "http" && !insecure && !loopback(name):
		return "", errors.New("must begin with https://; http:// is for localhost only")
	case !host.MatchString(name):
		return "", errors.New("must have a host of ASCII letters, digits, dots and hyphens, without wildcards; write others as xn--…")
	case scheme == "https" && port == "443", scheme == "http" && port == "80":
		port = ""
	}
	if port != "" {
		name = net.JoinHostPort(name, port)
	}
	return scheme + "://" + name, nil
}

func loopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback() || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// BareOrigin reports whether a URL is an origin and nothing more.
func BareOrigin(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Path == "" ||
		u.Path == "/") && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(address, "#")
}
