package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"relaypdf/store"
)

const (
	// maxClientID and maxRedirect limit applications' metadata, in bytes.
	maxClientID = 2000
	maxRedirect = 2000
	// maxDocument bounds the document of a program, as its draft recommends.
	maxDocument = 5 << 10
	// documentLife is how long one is not asked for again, maxDocuments how many are
	// remembered, documentTime how long one may take.
	documentLife = 5 * time.Minute
	maxDocuments = 256
	documentTime = 5 * time.Second
	// documentsPerPerson is how many one person may have fetched in triesWindow.
	documentsPerPerson = 20
)

// appSchemes are schemes of programs' own that are known; others have a dot, as
// those that RFC 8252 asks for, which no browser gives a meaning.
var appSchemes = []string{"cursor", "vscode", "vscode-insiders", "windsurf", "claude"}

var schemeOfApp = regexp.MustCompile(`^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+$`)

// shownName returns the name that an application gives itself, without invisible characters.
func shownName(name string) string {
	if name = deviceName(name); name == "" {
		return "A program without a name"
	}
	return name
}

// wrongRedirect returns the error of a redirect URL, or nothing: it must use https, lead to an application on the
// user's own machine, or use an application's own scheme.
func wrongRedirect(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil, len(address) > maxRedirect, strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' }):
		return "an address is no URI."
	case u.Fragment != "" || strings.Contains(address, "#"), u.User != nil:
		return "an address has a fragment or a user in it."
	case u.Scheme == "https" && u.Hostname() != "":
		return ""
	case u.Scheme == "http" && loopbackHost(u):
		return ""
	case slices.Contains(appSchemes, u.Scheme), schemeOfApp.MatchString(u.Scheme):
		return ""
	}
	return "an address must begin with https://, with http:// and localhost, 127.0.0.1 or [::1], or with a scheme of the program's own that has a dot."
}

func loopbackHost(u *url.URL) bool {
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// sameRedirect reports whether a redirect URL is one that an application has registered: the spelling must match,
// except for the port of an application on the user's machine, which uses any free port (RFC 8252).
func sameRedirect(registered, asked string) bool {
	if registered == asked {
		return true
	}
	a, err := url.Parse(registered)
	b, wrong := url.Parse(asked)
	if err != nil || wrong != nil || a.Scheme != "http" || !loopbackHost(a) || !loopbackHost(b) || a.Hostname() != b.Hostname() {
		return false
	}
	a.Host, b.Host = a.Hostname(), b.Hostname()
	return a.String() == b.String()
}

// verifier is the PKCE syntax of a verifier.
var verifier = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// challengeOf returns the S256 challenge of a verifier.
func challengeOf(text string) (string, bool) {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:]), verifier.MatchString(text)
}

// clientError means that a program is not known. Its text is for people.
type clientError struct{ text string }

func (e *clientError) Error() string { return e.text }

// asker is a program that asks a person.
type asker struct {
	store.OAuthClient
	// Site is the host that vouches for the application's metadata; empty if there is none.
	Site string
}

// clientOf finds a program by its id: one that has registered itself, or one whose
// id is the address of a document about it.
func (w *Web) clientOf(v *visit, id string) (asker, error) {
	if strings.HasPrefix(id, "https://") && w.cfg.Outward != nil {
		return w.documented(v, id)
	}
	if id == "" || len(id) > maxClientID {
		return asker{}, &clientError{"The link names no program (client_id)."}
	}
	client, err := w.store.Grants().Client(v.ctx(), id)
	if errors.Is(err, store.ErrNotFound) {
		return asker{}, &clientError{"The program is not known here, or was forgotten because nobody used it. It has to register again: remove the connection there, and add it again."}
	}
	return asker{OAuthClient: client}, err
}

// clientDocuments caches applications' metadata documents.
type clientDocuments struct {
	mu    sync.Mutex
	known map[string]clientDocument
}

type clientDocument struct {
	asker
	until time.Time
}

func (d *clientDocuments) get(id string, now time.Time) (asker, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.known[id]
	return found.asker, ok && found.until.After(now)
}

func (d *clientDocuments) put(a asker, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxDocuments || d.known == nil {
		d.known = map[string]clientDocument{}
	}
	d.known[a.ID] = clientDocument{a, until}
}

// documented finds a program by the document that its id is the address of.
func (w *Web) documented(v *visit, id string) (asker, error) {
	u, err := url.Parse(id)
	if err != nil || len(id) > maxClientID || u.Hostname() == "" || u.User != nil || strings.ContainsAny(id, "#\\ ") || u.Path == "" || u.Path == "/" ||
		slices.ContainsFunc(strings.Split(u.Path, "/"), func(part string) bool { return part == "." || part == ".." }) {
		return asker{}, &clientError{"The program's id is an address without a path, or is written wrongly."}
	}
	if known, ok := w.documents.get(id, w.now()); ok {
		return known, nil
	}
	if wait, ok := w.allow(v.ctx(), "oauth:document:"+v.person.ID, documentsPerPerson, triesWindow); !ok {
		return asker{}, &clientError{"Too many programs were looked up for you. Wait " + wait.Round(time.Second).String() + "."}
	}
	found, err := w.fetch(v, id)
	if err != nil {
		return asker{}, &clientError{"What " + u.Host + " says of the program cannot be used: " + err.Error() + "."}
	}
	made := asker{store.OAuthClient{ID: id, Name: shownName(found.Name), Redirects: found.Redirects}, u.Host}
	w.documents.put(made, w.now().Add(documentLife))
	return made, nil
}

// Errors of a metadata document.
var (
	errDocumentGone  = errors.New("it does not answer, or its address is not allowed")
	errDocumentKind  = errors.New("it is no JSON of at most 5 KiB")
	errDocumentOther = errors.New("it names another client_id")
	errDocumentWrong = errors.New("it has a secret, or addresses or kinds that are not possible here")
)

// fetch reads the document of an application, from public addresses only. It follows no redirect: the owner of the
// URL is responsible for its content.
func (w *Web) fetch(v *visit, id string) (registration, error) {
	var found registration
	ctx, cancel := context.WithTimeout(v.ctx(), documentTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return found, errDocumentGone
	}
	r.Header.Set("Accept", "application/json")
	response, err := w.cfg.Outward.Do(r)
	if err != nil {
		return found, errDocumentGone
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return found, errDocumentGone
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	media, _, wrong := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || wrong != nil || len(text) > maxDocument || media != "application/json" && !strings.HasSuffix(media, "+json") || json.Unmarshal(text, &found) != nil {
		return found, errDocumentKind
	}
	if found.ClientID != id {
		return found, errDocumentOther
	}
	if found.ClientSecret != "" || found.Method != "" && found.Method != "none" || found.wrong() != nil {
		return found, errDocumentWrong
	}
	return found, nil
}
