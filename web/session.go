package web

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
)

const (
	// sessionLife ends a session however much it is used, sessionIdle one that
	// is not used.
	sessionLife      = 30 * 24 * time.Hour
	sessionIdle      = 7 * 24 * time.Hour
	cookieName       = "relaypdf_session"
	secureCookieName = "__Host-" + cookieName
)

// Keys of a session. Store reads person, device and address too.
const (
	personKey  = "person"
	accountKey = "account"
	deviceKey  = "device"
	addressKey = "address"
	noticeKey  = "notice"
	// pendingKey is a user who has given their password, and not yet the code of their authenticator; pendingAt is
	// when.
	pendingKey   = "pending"
	pendingAtKey = "pendingAt"
	rememberKey  = "remember"
)

func newSessions(stored *store.Store, secure bool) *scs.SessionManager {
	m := scs.New()
	m.Store = sessionStore{stored}
	m.Codec = jsonCodec{}
	m.HashTokenInStore = true
	m.Lifetime = sessionLife
	m.IdleTimeout = sessionIdle

	m.Cookie.Name = cookieName
	m.Cookie.Path = "/"
	m.Cookie.HttpOnly = true
	m.Cookie.SameSite = http.SameSiteLaxMode
	m.Cookie.Persist = false // until the user chooses to be remembered

	if secure {
		m.Cookie.Name = secureCookieName
		m.Cookie.Secure = true
	}
	return m
}

// sessionFailed responds if a session could be neither read nor stored. If the visitor left, as the editor does with
// outdated pages, it is not an error of the server.
func (w *Web) sessionFailed(rw http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		middleware.ClientClosed(rw)
		return
	}
	w.log.LogAttrs(
		r.Context(), slog.LevelError, "session failed",
		slog.String("requestId", middleware.RequestID(r.Context())), slog.Any("error", err),
	)
	http.Error(rw, "Something failed on our side. Try again.", http.StatusInternalServerError)
}

// sessionStore implements the interface of scs with the sessions of the store.
type sessionStore struct{ store *store.Store }

var _ scs.CtxStore = sessionStore{}

func (s sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	return s.store.FindSession(ctx, token)
}

func (s sessionStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	return s.store.CommitSession(ctx, token, data, expiry)
}

func (s sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return s.store.DeleteSession(ctx, token)
}

// Find, Commit and Delete complete the interface: scs calls the methods with a context.
func (s sessionStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

func (s sessionStore) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

func (s sessionStore) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// jsonCodec stores a session's texts as JSON, which the store can look into.
type jsonCodec struct{}

type sessionData struct {
	Deadline time.Time      `json:"deadline"`
	Values   map[string]any `json:"values"`
}

// Encode returns a session as JSON.
func (jsonCodec) Encode(deadline time.Time, values map[string]any) ([]byte, error) {
	return json.Marshal(sessionData{deadline, values})
}

// Decode reads a session from JSON.
func (jsonCodec) Decode(data []byte) (time.Time, map[string]any, error) {
	var d sessionData
	err := json.Unmarshal(data, &d)
	return d.Deadline, d.Values, err
}
