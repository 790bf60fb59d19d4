package web_test

import (
	"context"
	"database/sql"
	"net/http"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// holdPool takes all connections of a pool until release is called.
func holdPool(t *testing.T, pool *sql.DB, count int) (release func()) {
	t.Helper()
	var held []*sql.Conn
	release = func() {
		for _, conn := range held {
			_ = conn.Close()
		}
		held = nil
	}
	t.Cleanup(release)
	for range count {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		conn, err := pool.Conn(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	return release
}

// TestPagesReadWithTheirOwnConnections: pages of lists and of single things answer
// while all connections of the paid path are taken, and paid calls go on while those of
// the pages are: a page fails then, within its deadline.
func TestPagesReadWithTheirOwnConnections(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v, op := h.join(t, "maya@example.com"), h.operator(t)
		account := h.mayas(t)
		key, secret, err := h.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "production"})
		if err != nil {
			t.Fatal(err)
		}
		hook, err := h.CreateWebhook(t.Context(), store.NewWebhook{ID: h.NewID("we"), AccountID: account.ID, URL: "https://hooks.example/in", Secret: []byte("sealed"), SecretPrefix: "whsec_x"})
		if err != nil {
			t.Fatal(err)
		}
		lease := acquire(t, h)
		begin := func() store.NewCall {
			result := h.NewID("file")
			return store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: account.ID, KeyID: key.ID, Operation: "pdf.create", Mode: "binary", RequestID: "r", Quote: 2000, Lease: lease}
		}
		call := begin()
		if err := h.Begin(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		job := begin()
		job.Operation, job.Mode, job.Lease, job.Job = "pdf.bulk", "async", "", &store.NewJob{Input: []byte("sealed")}
		if err := h.Begin(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		pages := map[*visitor][]string{
			v: {
				"/dashboard", "/dashboard/documents", "/dashboard/documents/" + call.ID, "/dashboard/documents/" + job.ID, "/dashboard/keys", "/dashboard/keys/" + key.ID + "/revoke", "/dashboard/webhooks",
				"/dashboard/webhooks/" + hook.ID, "/dashboard/deliveries", "/dashboard/requests", "/dashboard/usage", "/dashboard/wallet", "/dashboard/settings", "/dashboard/settings/security", "/dashboard/settings/members", "/dashboard/settings/data", "/dashboard/settings/audit", "/dashboard/apps",
			},
			op: {"/admin", "/admin/accounts/" + account.ID, "/admin/engine", "/admin/jobs", "/admin/deliveries", "/admin/edge", "/admin/settings", "/admin/audit"},
		}
		answer := func() {
			t.Helper()
			for who, paths := range pages {
				for _, path := range paths {
					if a := who.get(path); a.status != http.StatusOK {
						t.Errorf("%s answers %d", path, a.status)
					}
				}
			}
		}
		answer()
		var releases []func()
		for name, pool := range h.Pools() {
			switch maximum := pool.Stats().MaxOpenConnections; {
			case name == "pages":
			case name == "write" && h.Dialect() == store.SQLite:
				releases = append(releases, holdPool(t, pool, maximum-1)) // One is permanently the writer's.
			default:
				releases = append(releases, holdPool(t, pool, maximum))
			}
		}
		answer()
		h.clock.Advance(2 * time.Minute) // The session is stored again, and a page does without.
		if a := v.get("/dashboard/documents"); a.status != http.StatusOK {
			t.Errorf("a page answers %d where its session cannot be stored again", a.status)
		}
		for _, release := range releases {
			release()
		}

		pool := h.Pools()["pages"]
		release := holdPool(t, pool, pool.Stats().MaxOpenConnections)
		if a := v.get("/dashboard/documents"); a.status != http.StatusInternalServerError {
			t.Errorf("the page answers %d while its connections are taken", a.status)
		}
		if _, _, err := h.KeyBySecret(t.Context(), secret); err != nil {
			t.Errorf("a key is not found while the pages' connections are taken: %v", err)
		}
		if err := h.Begin(t.Context(), begin()); err != nil {
			t.Errorf("a call does not begin while the pages' connections are taken: %v", err)
		}
		release()
		answer()
	})
}
