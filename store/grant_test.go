package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

const agents = "https://pdf.example/mcp"

// consent is a user's, to a client that has registered itself.
func (f *fixture) consent(t *testing.T, person store.User) store.Consent {
	t.Helper()
	client, err := f.RegisterClient(t.Context(), store.OAuthClient{Name: "Draftsman", Redirects: []string{"https://draftsman.example/callback"}}, "203.0.113.40")
	if err != nil {
		t.Fatal(err)
	}
	return store.Consent{
		Client: client, Redirect: "https://draftsman.example/callback", Challenge: "challenge", Resource: agents, Scopes: []string{"documents", "templates"},
		AccountID: f.acc.ID, PersonID: person.ID, Limit: 5 * credit.Dollar, ExpiresAt: f.clock.Now().Add(90 * 24 * time.Hour),
	}
}

// allowed returns the redemption of a client after a user has authorized it.
func (f *fixture) allowed(t *testing.T, c store.Consent) store.Redemption {
	t.Helper()
	code, err := f.AuthorizeClient(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return store.Redemption{Code: code, ClientID: c.Client.ID, Redirect: c.Redirect, Challenge: c.Challenge}
}

// letIn is a client with tokens.
func (f *fixture) letIn(t *testing.T, c store.Consent) store.GrantTokens {
	t.Helper()
	got, err := f.RedeemGrantCode(t.Context(), f.allowed(t, c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// opens expects a token to be valid, or not.
func (f *fixture) opens(t *testing.T, token string, want bool) store.GrantAccess {
	t.Helper()
	access, err := f.GrantAccess(t.Context(), token, agents)
	if want && err != nil || !want && !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a token opens %+v, %v; want %v", access, err, want)
	}
	return access
}

// TestGrant goes from the consent to calls that the grant's cap ends.
func TestGrant(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.member(t, "owner@example.com", store.RoleOwner)
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		c := f.consent(t, dev)
		c.Limit = 5000
		shown := f.allowed(t, c)
		if list, err := f.Grants(ctx, f.acc.ID); err != nil || len(list) != 0 {
			t.Errorf("there are %d grants before the program has come back, %v", len(list), err)
		}
		var told []string
		got, err := f.RedeemGrantCode(ctx, shown, func(g store.Grant, to []string) ([]store.QueuedEmail, error) {
			told = append([]string{g.Name, g.Email}, to...)
			return []store.QueuedEmail{{ID: f.NewID("let"), Sealed: []byte("sealed")}}, nil
		})
		if err != nil || !strings.HasPrefix(got.Access, store.AccessPrefix) || len(got.Refresh) < 48 || !got.AccessEnds.Equal(f.clock.Now().Add(store.AccessLife)) {
			t.Fatalf("got %+v, %v", got, err)
		}
		if want := []string{"Draftsman", "dev@example.com", "dev@example.com", "owner@example.com"}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
		access := f.opens(t, got.Access, true)
		if access.Account.ID != f.acc.ID || !slices.Equal(access.Scopes, c.Scopes) || *access.Grant.SpendLimit != 5000 || !access.Grant.Grant {
			t.Errorf("it opens %+v", access)
		}
		for name, token := range map[string]string{"the refresh token": got.Refresh, "the code": shown.Code, "nothing": "", "another": store.AccessPrefix + strings.Repeat("x", 40)} {
			if _, err := f.GrantAccess(ctx, token, agents); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s opens the door: %v", name, err)
			}
		}
		if _, err := f.GrantAccess(ctx, got.Access, "https://other.example/mcp"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the token opens another resource: %v", err)
		}
		if _, _, err := f.KeyBySecret(ctx, got.Access); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a token is a key: %v", err)
		}
		call := f.newCall(3000)
		call.KeyID = access.Grant.ID
		f.begin(t, call)
		second := f.newCall(3000)
		second.KeyID = access.Grant.ID
		var limit *store.LimitError
		if err := f.Begin(ctx, second); !errors.As(err, &limit) || limit.Limit != store.LimitKeySpend || limit.Spent != 3000 {
			t.Errorf("beyond the cap: %v", err)
		}
		if err := f.SetGrantLimit(ctx, f.acc.ID, access.Grant.ID, 6000); err != nil {
			t.Fatal(err)
		}
		f.begin(t, second)
		list, err := f.Grants(ctx, f.acc.ID)
		if err != nil || len(list) != 1 || list[0].Spent != 6000 || list[0].Limit != 6000 || list[0].Name != "Draftsman" || list[0].Email != "dev@example.com" || list[0].Home != c.Redirect || !list[0].Live(f.clock.Now()) {
			t.Errorf("listed: %+v, %v", list, err)
		}
		if _, _, err := f.RollKey(ctx, f.acc.ID, access.Grant.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a grant is rolled as a key: %v", err)
		}
		if err := f.RevokeGrant(ctx, f.newAccount(t, "bob@example.com", trial).ID, access.Grant.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("revoked by another account: %v", err)
		}
		if err := f.RevokeGrant(ctx, f.acc.ID, access.Grant.ID); err != nil {
			t.Fatal(err)
		}
		f.opens(t, got.Access, false)
		third := f.newCall(1)
		third.KeyID = access.Grant.ID
		if err := f.Begin(ctx, third); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a call by a revoked grant: %v", err)
		}
		if _, err := f.RenewGrantTokens(ctx, store.Renewal{Token: got.Refresh, ClientID: c.Client.ID}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("renewed after it was revoked: %v", err)
		}
	})
}

// TestGrantCodesWorkOnce, for their client and their resource only.
func TestGrantCodesWorkOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		c := f.consent(t, dev)
		for name, change := range map[string]func(*store.Redemption){
			"another program":          func(r *store.Redemption) { r.ClientID = "client_mallory" },
			"another address":          func(r *store.Redemption) { r.Redirect = "https://mallory.example/callback" },
			"another verifier":         func(r *store.Redemption) { r.Challenge = "other" },
			"no verifier":              func(r *store.Redemption) { r.Challenge = "" },
			"for another resource":     func(r *store.Redemption) { r.Resource = "https://other.example/mcp" },
			"an address that is added": func(r *store.Redemption) { r.Redirect += "?x" },
		} {
			right := f.allowed(t, c)
			wrong := right
			change(&wrong)
			if got, err := f.RedeemGrantCode(ctx, wrong, nil); !errors.Is(err, store.ErrDenied) || got.Access != "" {
				t.Errorf("%s: got %v, %v", name, got.Access != "", err)
			}
			if got, err := f.RedeemGrantCode(ctx, right, nil); !errors.Is(err, store.ErrUsed) || got.Access != "" {
				t.Errorf("after %s: got %v, %v", name, got.Access != "", err)
			}
		}
		late := f.allowed(t, c)
		f.clock.Advance(store.CodeLife)
		if _, err := f.RedeemGrantCode(ctx, late, nil); !errors.Is(err, store.ErrExpired) {
			t.Errorf("too late: %v", err)
		}
		if _, err := f.RedeemGrantCode(ctx, store.Redemption{Code: "guess", ClientID: c.Client.ID}, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a guess: %v", err)
		}
		shown := f.allowed(t, c)
		got, err := f.RedeemGrantCode(ctx, shown, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.opens(t, got.Access, true)
		if _, err := f.RedeemGrantCode(ctx, shown, nil); !errors.Is(err, store.ErrUsed) {
			t.Errorf("a second time: %v", err)
		}
		f.opens(t, got.Access, false)
		if _, err := f.RenewGrantTokens(ctx, store.Renewal{Token: got.Refresh, ClientID: c.Client.ID}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what came of a code that came twice is renewed: %v", err)
		}
	})
}

// TestGrantTokensRotate: each refresh token works once, and one that comes again ends
// everything.
func TestGrantTokensRotate(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		c := f.consent(t, dev)
		first := f.letIn(t, c)
		f.clock.Advance(store.AccessLife)
		f.opens(t, first.Access, false)
		for name, q := range map[string]struct {
			renewal store.Renewal
			want    error
		}{
			"another program":  {store.Renewal{Token: first.Refresh, ClientID: "client_mallory"}, store.ErrDenied},
			"another resource": {store.Renewal{Token: first.Refresh, ClientID: c.Client.ID, Resource: "https://other.example/mcp"}, store.ErrDenied},
			"more":             {store.Renewal{Token: first.Refresh, ClientID: c.Client.ID, Scopes: []string{"documents", "webhooks"}}, store.ErrScope},
			"the access token": {store.Renewal{Token: first.Access, ClientID: c.Client.ID}, store.ErrNotFound},
		} {
			if got, err := f.RenewGrantTokens(ctx, q.renewal); !errors.Is(err, q.want) || got.Access != "" {
				t.Errorf("%s: got %v; want %v", name, err, q.want)
			}
		}
		second, err := f.RenewGrantTokens(ctx, store.Renewal{Token: first.Refresh, ClientID: c.Client.ID, Scopes: []string{"documents"}, Resource: agents})
		if err != nil {
			t.Fatal(err)
		}
		if access := f.opens(t, second.Access, true); !slices.Equal(access.Scopes, []string{"documents"}) {
			t.Errorf("it opens %v", access.Scopes)
		}
		third, err := f.RenewGrantTokens(ctx, store.Renewal{Token: second.Refresh, ClientID: c.Client.ID})
		if err != nil || !slices.Equal(third.Scopes, c.Scopes) {
			t.Fatalf("got %+v, %v", third.Scopes, err)
		}
		if _, err := f.RenewGrantTokens(ctx, store.Renewal{Token: first.Refresh, ClientID: c.Client.ID}); !errors.Is(err, store.ErrUsed) {
			t.Errorf("an old one comes again: %v", err)
		}
		for _, token := range []string{second.Access, third.Access} {
			f.opens(t, token, false)
		}
		if _, err := f.RenewGrantTokens(ctx, store.Renewal{Token: third.Refresh, ClientID: c.Client.ID}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the latest one after that: %v", err)
		}
		if list, err := f.Grants(ctx, f.acc.ID); err != nil || len(list) != 1 || list[0].RevokedAt == nil {
			t.Errorf("listed: %+v, %v", list, err)
		}
		late := f.letIn(t, c)
		f.clock.Advance(store.RefreshLife)
		if _, err := f.RenewGrantTokens(ctx, store.Renewal{Token: late.Refresh, ClientID: c.Client.ID}); !errors.Is(err, store.ErrExpired) {
			t.Errorf("a month later: %v", err)
		}
	})
}

// TestGrantTokensOutliveNoGrant: no token lives longer than the user has allowed.
func TestGrantTokensOutliveNoGrant(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.consent(t, f.member(t, "dev@example.com", store.RoleDeveloper))
		c.ExpiresAt = f.clock.Now().Add(10 * time.Minute)
		got := f.letIn(t, c)
		f.opens(t, got.Access, true)
		f.clock.Advance(10 * time.Minute)
		f.opens(t, got.Access, false)
		if _, err := f.RenewGrantTokens(t.Context(), store.Renewal{Token: got.Refresh, ClientID: c.Client.ID}); !errors.Is(err, store.ErrExpired) {
			t.Errorf("renewed after its end: %v", err)
		}
	})
}

// TestGrantIsRenewedOnceUnderConcurrency: of many requests with the same token at once one succeeds, and the grant
// ends, as the token was copied.
func TestGrantIsRenewedOnceUnderConcurrency(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.consent(t, f.member(t, "dev@example.com", store.RoleDeveloper))
		first := f.letIn(t, c)
		answered := make(chan store.GrantTokens, 8)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				got, err := f.RenewGrantTokens(t.Context(), store.Renewal{Token: first.Refresh, ClientID: c.Client.ID})
				switch {
				case err == nil:
					answered <- got
				case !errors.Is(err, store.ErrUsed) && !errors.Is(err, store.ErrNotFound):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		close(answered)
		if len(answered) != 1 {
			t.Fatalf("%d were answered, want 1", len(answered))
		}
		f.opens(t, (<-answered).Access, false)
	})
}

// TestGrantsEndWithTheirUser: a grant ends if its user leaves or may not create keys any more, or if the account is
// suspended or closed.
func TestGrantsEndWithTheirUser(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]struct {
		change func(t *testing.T, f *fixture, person string) error
		known  bool // the caller sees why the token opens nothing
	}{
		"left": {change: func(t *testing.T, f *fixture, person string) error {
			return f.RemoveMember(t.Context(), f.acc.ID, person)
		}},
		"viewer": {change: func(t *testing.T, f *fixture, person string) error {
			return f.SetMemberRole(t.Context(), f.acc.ID, person, store.RoleViewer)
		}},
		"removed": {change: func(t *testing.T, f *fixture, person string) error {
			return f.RemoveUser(t.Context(), person)
		}},
		"ending": {change: func(t *testing.T, f *fixture, _ string) error {
			_, err := f.ScheduleDeletion(t.Context(), f.acc.ID)
			return err
		}},
		"suspended": {func(t *testing.T, f *fixture, _ string) error {
			return f.Suspend(t.Context(), f.acc.ID, "abuse")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, f *fixture) {
				f.member(t, "owner@example.com", store.RoleOwner)
				dev := f.member(t, "dev@example.com", store.RoleDeveloper)
				c := f.consent(t, dev)
				tokens, waiting := f.letIn(t, c), f.allowed(t, c)
				if err := q.change(t, f, dev.ID); err != nil {
					t.Fatal(err)
				}
				if access := f.opens(t, tokens.Access, q.known); q.known && !access.Account.Suspended {
					t.Error("nobody is told of the suspension")
				}
				if got, err := f.RenewGrantTokens(t.Context(), store.Renewal{Token: tokens.Refresh, ClientID: c.Client.ID}); err == nil {
					t.Errorf("renewed to %v", got.Scopes)
				}
				if got, err := f.RedeemGrantCode(t.Context(), waiting, nil); err == nil {
					t.Errorf("redeemed to %v", got.Scopes)
				}
				if list, err := f.Grants(t.Context(), f.acc.ID); err != nil || len(list) != 1 || !q.known && list[0].Live(f.clock.Now()) {
					t.Errorf("listed: %+v, %v", list, err)
				}
			})
		})
	}
}

// TestGrantTokensAreDropped by their client only: an access token alone, a refresh token with its grant.
func TestGrantTokensAreDropped(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		c := f.consent(t, f.member(t, "dev@example.com", store.RoleDeveloper))
		tokens := f.letIn(t, c)
		for _, token := range []string{tokens.Access, tokens.Refresh} {
			if err := f.RevokeGrantToken(ctx, token, "client_mallory"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("dropped by another program: %v", err)
			}
		}
		f.opens(t, tokens.Access, true)
		if err := f.RevokeGrantToken(ctx, tokens.Access, c.Client.ID); err != nil {
			t.Fatal(err)
		}
		f.opens(t, tokens.Access, false)
		next, err := f.RenewGrantTokens(ctx, store.Renewal{Token: tokens.Refresh, ClientID: c.Client.ID})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.RevokeGrantToken(ctx, next.Refresh, c.Client.ID); err != nil {
			t.Fatal(err)
		}
		f.opens(t, next.Access, false)
	})
}

// TestIdleClientsMakeRoom: a registered client without a grant is deleted, first when there are too many, and after a
// month in any case.
func TestIdleClientsMakeRoom(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		used, idle := f.consent(t, dev), f.consent(t, dev)
		f.letIn(t, used)
		f.clock.Advance(time.Second)
		if _, err := f.DB().NewRaw(`INSERT INTO oauth_clients (id, name, redirects, address, created_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
			SELECT 'client_' || i, '', 'https://x.example/', '', ? FROM n`, f.clock.Now().UnixMicro()).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		latest := f.consent(t, dev)
		for name, q := range map[string]struct {
			id   string
			want error
		}{"the oldest": {idle.Client.ID, store.ErrNotFound}, "one in use": {used.Client.ID, nil}, "the latest": {latest.Client.ID, nil}, "another": {"client_7", nil}} {
			if _, err := f.OAuthClient(ctx, q.id); !errors.Is(err, q.want) {
				t.Errorf("%s: got %v, want %v", name, err, q.want)
			}
		}
		f.clock.Advance(store.JobRetention + time.Hour)
		if err := f.DeleteExpired(ctx, 20_000); err != nil {
			t.Fatal(err)
		}
		if _, err := f.OAuthClient(ctx, latest.Client.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a month later: %v", err)
		}
		if _, err := f.OAuthClient(ctx, used.Client.ID); err != nil {
			t.Errorf("one with a grant is forgotten: %v", err)
		}
	})
}
