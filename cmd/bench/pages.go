package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"relaypdf/api/ratelimit"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/store/seal"
	"relaypdf/web"
)

// What the account has whose pages are measured.
const (
	pageCalls      = 200_000
	pageTemplates  = 1_000
	pageDeliveries = 20_000
	pageDays       = 365
	pagesGoal      = 30.0 // milliseconds, 95 of 100
)

// pageFigures are how long the server takes for a page of a large account.
type pageFigures struct {
	Database string  `json:"database"`
	Page     string  `json:"page"`
	P50      float64 `json:"p50Ms"`
	P95      float64 `json:"p95Ms"`
}

// large is the account whose pages are measured, on one database.
type large struct {
	db                *sql.DB
	blob              string // the database's type of bytes
	account, key      string
	endpoint, oneCall string
	part              int // makes less of everything
}

// pages measures every page of a large account, on either database. Nothing
// travels: the handler answers into memory.
func (l databases) pages(ctx context.Context, r *report) error {
	return l.eachDatabase(ctx, func(database string, b *bare, db *sql.DB) error {
		l.say("pages on %s: %d calls, %d templates, %d deliveries", database, pageCalls, pageTemplates, pageDeliveries)
		a := &large{db: db, blob: "BLOB", part: choose(l.lab, 1, 100)}
		if database == store.Postgres {
			a.blob = "BYTEA"
		}
		if err := a.fill(ctx, b); err != nil {
			return err
		}
		pages, err := b.pages()
		if err != nil {
			return err
		}
		cookie, err := b.signIn(ctx, pages.Handler(), a.account)
		if err != nil {
			return err
		}
		handler := pages.Handler()
		for _, path := range a.paths(pages) {
			took, err := each(ctx, choose(l.lab, 100, 5), func(ctx context.Context, _ int) error { return visit(ctx, handler, cookie, path) })
			if err != nil {
				return err
			}
			r.Pages = append(r.Pages, pageFigures{Database: database, Page: a.shown(path), P50: ms(percentile(took, 50)), P95: ms(percentile(took, 95))})
		}
		return nil
	})
}

// leadElsewhere are pages that show nothing to a member who needs no confirmation.
var leadElsewhere = []string{"/dashboard/settings/confirm"}

// paths are the pages that members look at: those of the table that need no id,
// those of one thing, and lists that are narrowed or leafed through.
func (a *large) paths(pages *web.Web) []string {
	var paths []string
	for _, page := range pages.Pages() {
		if page.Method == http.MethodGet && !strings.ContainsAny(page.Pattern, "{.") && !strings.HasPrefix(page.Pattern, "/oauth/") && slices.Contains([]string{"signed in", "manages"}, page.Need) && !slices.Contains(leadElsewhere, page.Pattern) {
			paths = append(paths, page.Pattern)
		}
	}
	return append(paths,
		"/dashboard?days=1", "/dashboard/documents/"+a.oneCall, "/dashboard/documents?status=failed", "/dashboard/documents?operation=pdf.merge", "/dashboard/documents?key="+a.key,
		"/dashboard/documents?cursor="+a.oneCall, "/dashboard/webhooks/"+a.endpoint, "/dashboard/deliveries?status=failed", "/dashboard/deliveries?endpoint="+a.endpoint,
		"/dashboard/keys?state=revoked", "/dashboard/wallet?by=key", "/dashboard/wallet?by=day", "/dashboard/wallet?kind=payments", "/dashboard/wallet?kind=credits",
	)
}

// shown is a page's address without ids.
func (a *large) shown(path string) string {
	return strings.NewReplacer(a.oneCall, "…", a.endpoint, "…", a.key, "…").Replace(path)
}

// pages returns the pages in front of the same database.
func (b *bare) pages() (*web.Web, error) {
	box, err := seal.New([]byte(rand.Text() + rand.Text()))
	if err != nil {
		return nil, err
	}
	return web.New(web.Config{
		Store: b.store, Box: box, Limiter: ratelimit.NewMemory(nil), CheckURL: noWayOut{}.CheckURL, BaseURL: b.client.url, SignUp: web.SignUpOpen, Local: true, Interface: b.api.ForPerson,
		ClientIP: func(*http.Request) string { return "127.0.0.1" }, Place: func(*http.Request) string { return "127.0.0.1" }, RequestID: func(context.Context) string { return "bench" },
		Operations: []string{"pdf.create", "pdf.merge", "images.create"}, Prices: map[string]credit.Amount{"pdf.create": 2000}, Logger: slog.New(slog.DiscardHandler),
	})
}

// signIn makes an owner of the account, and returns the cookie of their session.
func (b *bare) signIn(ctx context.Context, pages http.Handler, account string) (*http.Cookie, error) {
	person, err := b.store.People().Create(ctx, store.NewPerson{Email: "owner@example.com", Verified: true})
	if err != nil {
		return nil, err
	}
	if err := b.store.Members().Add(ctx, account, person.ID, store.RoleOwner); err != nil {
		return nil, err
	}
	secret, err := b.store.People().NewToken(ctx, store.Token{Purpose: store.TokenSignIn, PersonID: person.ID, ExpiresAt: time.Now().Add(time.Minute)})
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/login/link?token="+secret, http.NoBody))
	for _, cookie := range w.Result().Cookies() {
		if strings.Contains(cookie.Name, "session") {
			return cookie, nil
		}
	}
	return nil, fmt.Errorf("the sign-in was answered with status %d and no session", w.Code)
}

// visit asks for a page.
func visit(ctx context.Context, pages http.Handler, session *http.Cookie, path string) error {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
	r.AddCookie(session)
	w := httptest.NewRecorder()
	if pages.ServeHTTP(w, r); w.Code != http.StatusOK {
		return fmt.Errorf("%s: status %d", path, w.Code)
	}
	return nil
}

// crockford are the digits of ids.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// idAt is how ids of a time begin, after their kind.
func idAt(at time.Time) string {
	var text [10]byte
	ms := at.UnixMilli()
	for i := range text {
		text[len(text)-1-i] = crockford[ms%32]
		ms /= 32
	}
	return string(text[:]) + "loc"
}

// fill gives the first account a year of everything.
func (a *large) fill(ctx context.Context, b *bare) (err error) {
	if a.account, err = b.account(ctx); err != nil {
		return err
	}
	key, _, err := b.store.CreateKey(ctx, store.NewKey{AccountID: a.account, Name: "website"})
	if err != nil {
		return err
	}
	hook, err := b.store.CreateWebhook(ctx, store.NewWebhook{ID: b.store.NewID("we"), AccountID: a.account, URL: "https://hooks.example/in", Secret: []byte("sealed")})
	if err != nil {
		return err
	}
	a.key, a.endpoint = key.ID, hook.ID
	now := time.Now()
	for day := range pageDays {
		if err := a.fillDay(ctx, now.AddDate(0, 0, -day).Add(-time.Minute)); err != nil {
			return err
		}
	}
	return errors.Join(a.fillTemplates(ctx), analyze(ctx, a.db))
}

// fillDay makes the calls, postings and deliveries of a day. One call in fifty
// has failed, one delivery in twenty.
func (a *large) fillDay(ctx context.Context, at time.Time) error {
	calls, sent := max(1, pageCalls/pageDays/a.part), max(1, pageDeliveries/pageDays/a.part)
	prefix, day, micros := idAt(at), at.Unix()/(24*60*60), at.UnixMicro()
	if a.oneCall == "" {
		a.oneCall = "call_" + prefix + strings.Repeat("0", 25) + "1"
	}
	for _, fill := range []struct {
		query string
		args  []any
	}{
		{`INSERT INTO calls (id, result_id, account_id, key_id, operation, mode, request_id, lease, metered, quote, charge, status, day, created_at, ended_at, duration, error_code, error_message)
			SELECT 'call_' || CAST($3 AS TEXT) || ` + tail + `, 'file_' || CAST($3 AS TEXT) || ` + tail + `, CAST($2 AS TEXT), CAST($4 AS TEXT),
			CASE n % 3 WHEN 0 THEN 'pdf.create' WHEN 1 THEN 'pdf.merge' ELSE 'images.create' END, 'binary', 'req', '', TRUE, 2000,
			CASE n % 50 WHEN 0 THEN 0 ELSE 2000 END, CASE n % 50 WHEN 0 THEN 'failed' ELSE 'done' END, CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($6 AS BIGINT) + 400000, 400000 + n,
			CASE n % 50 WHEN 0 THEN 'render_failed' ELSE '' END, '' FROM numbers`, []any{calls, a.account, prefix, a.key, day, micros}},
		{`INSERT INTO journal (id, account_id, kind, cause, payment, held, created_at)
			SELECT 'jrn_' || CAST($3 AS TEXT) || ` + tail + `, CAST($2 AS TEXT), 'hold', 'call_' || CAST($3 AS TEXT) || ` + tail + `, -2000, 2000, CAST($4 AS BIGINT) FROM numbers`,
			[]any{calls, a.account, prefix, micros}},
		{`INSERT INTO events (id, account_id, type, body, created_at)
			SELECT 'evt_' || CAST($3 AS TEXT) || ` + tail + `, CAST($2 AS TEXT), 'job.completed', CAST('{}' AS ` + a.blob + `), CAST($4 AS BIGINT) FROM numbers`,
			[]any{sent, a.account, prefix, micros}},
		{`INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, receiver, url, status, attempts, last_status_code, created_at)
			SELECT 'dlv_' || CAST($3 AS TEXT) || ` + tail + `, CAST($2 AS TEXT), CAST($5 AS TEXT), 'evt_' || CAST($3 AS TEXT) || ` + tail + `, 'job.completed', CAST($5 AS TEXT), 'https://hooks.example/in',
			CASE n % 20 WHEN 0 THEN 'failed' ELSE 'delivered' END, 1, 200, CAST($4 AS BIGINT) FROM numbers`, []any{sent, a.account, prefix, micros, a.endpoint}},
	} {
		if _, err := a.db.ExecContext(ctx, numbers+fill.query, fill.args...); err != nil {
			return fmt.Errorf("%s: %w", fill.query, err)
		}
	}
	_, err := a.db.ExecContext(ctx, `INSERT INTO usage_days (account_id, day, operation, key_id, calls, amount)
		SELECT account_id, day, operation, key_id, COUNT(*), SUM(charge) FROM calls WHERE account_id = $1 AND day = $2 AND status = 'done' GROUP BY account_id, day, operation, key_id`, a.account, day)
	return err
}

// tail is the end of the id of number n: 26 characters.
const tail = `SUBSTR('00000000000000000000000000' || n, 1 + LENGTH(CAST(n AS TEXT)))`

func (a *large) fillTemplates(ctx context.Context) error {
	prefix := idAt(time.Now())
	for _, query := range []string{
		`INSERT INTO templates (id, account_id, slug, name, has_draft, revision, created_at, updated_at)
			SELECT 'tpl_' || CAST($3 AS TEXT) || ` + tail + `, CAST($2 AS TEXT), 'template-' || n, 'Template ' || n, TRUE, 1, CAST($4 AS BIGINT), CAST($4 AS BIGINT) FROM numbers`,
		`INSERT INTO template_drafts (template_id, html, sample_data, options)
			SELECT 'tpl_' || CAST($3 AS TEXT) || ` + tail + `, '<p>{{name}}</p>', '{}', '{}' FROM numbers WHERE CAST($2 AS TEXT) <> '' AND CAST($4 AS BIGINT) > 0`,
	} {
		if _, err := a.db.ExecContext(ctx, numbers+query, pageTemplates/a.part, a.account, prefix, time.Now().UnixMicro()); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return nil
}

func (r *report) writePages(w io.Writer) {
	if len(r.Pages) == 0 {
		return
	}
	fmt.Fprintf(w, "\nServer time of pages, for an account with %d calls, %d templates and %d deliveries. The goal is p95 < %.0f ms.\n\n", pageCalls, pageTemplates, pageDeliveries, pagesGoal)
	table(w, "page\tdatabase\tp50 ms\tp95 ms\twithin", func(w io.Writer) {
		for _, p := range r.Pages {
			fmt.Fprintf(w, "%s\t%s\t%.1f\t%.1f\t%s\n", p.Page, p.Database, p.P50, p.P95, verdict(p.P95 < pagesGoal))
		}
	})
}
