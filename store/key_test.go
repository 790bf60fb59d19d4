package store_test

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

func TestKeys(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		expires, limit := noon.Add(time.Hour), credit.Amount(5000)
		made, secret, err := f.CreateKey(ctx, store.NewKey{
			AccountID: f.acc.ID, Name: "CI", Test: true, ExpiresAt: &expires, SpendLimit: &limit,
			Operations: []string{"pdf.create", "pdf.merge"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^pdf_test_[0-9A-Za-z]{40}$`).MatchString(secret) || made.Prefix != secret[:12] {
			t.Errorf("secret %q with prefix %q", secret, made.Prefix)
		}
		got, acc, err := f.KeyBySecret(ctx, secret)
		if err != nil || acc.ID != f.acc.ID || acc.Balance != trial || acc.Email != f.acc.Email || !acc.CreatedAt.Equal(noon) {
			t.Errorf("account by secret: got %+v, %v", acc, err)
		}
		if got.ID != made.ID || got.Name != "CI" || !got.Test || !got.ExpiresAt.Equal(expires) || *got.SpendLimit != limit ||
			!slices.Equal(got.Operations, made.Operations) || got.AccountID != f.acc.ID || !got.CreatedAt.Equal(noon) {
			t.Errorf("key by secret: got %+v", got)
		}
		_, live, err := f.CreateKey(ctx, store.NewKey{AccountID: f.acc.ID})
		if err != nil || !regexp.MustCompile(`^pdf_live_[0-9A-Za-z]{40}$`).MatchString(live) {
			t.Errorf("live secret %q, %v", live, err)
		}
		for _, ops := range [][]string{{""}, {"a,b"}} {
			if _, _, err := f.CreateKey(ctx, store.NewKey{AccountID: f.acc.ID, Operations: ops}); err == nil {
				t.Errorf("the operations %q were accepted", ops)
			}
		}
	})
}

func TestSecretsAreStoredHashed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		_, secret, err := f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID, Name: "k"})
		if err != nil {
			t.Fatal(err)
		}
		var hashes [][]byte
		if err := f.DB().NewRaw("SELECT hash FROM keys").Scan(t.Context(), &hashes); err != nil {
			t.Fatal(err)
		}
		for _, h := range hashes {
			if len(h) != 32 || bytes.Contains(h, []byte(secret[12:])) {
				t.Errorf("the stored hash is %q", h)
			}
		}
	})
}

func TestRevokedAndUnknownKeys(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		key, secret, err := f.CreateKey(ctx, store.NewKey{AccountID: f.acc.ID})
		if err != nil {
			t.Fatal(err)
		}
		other := f.newAccount(t, "eve@example.com", 0)
		if err := f.RevokeKey(ctx, other.ID, key.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("revoking another account's key: got %v, want ErrNotFound", err)
		}
		for range 2 {
			if err := f.RevokeKey(ctx, f.acc.ID, key.ID); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range []string{secret, "pdf_live_" + secret[9:], "", "pdf_live_' OR 1=1 --\x00"} {
			if _, _, err := f.KeyBySecret(ctx, s); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("KeyBySecret(%q): got %v, want ErrNotFound", s, err)
			}
		}
		c := f.newCall(10)
		c.KeyID = key.ID
		if err := f.Begin(ctx, c); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Begin with a revoked key: got %v, want ErrNotFound", err)
		}
		foreign := f.newCall(10)
		foreign.AccountID = other.ID
		foreign.Metered = true
		if err := f.Begin(ctx, foreign); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Begin with another account's key: got %v, want ErrNotFound", err)
		}
		soon := noon.Add(time.Minute)
		expiring, _, err := f.CreateKey(ctx, store.NewKey{AccountID: f.acc.ID, ExpiresAt: &soon})
		if err != nil {
			t.Fatal(err)
		}
		c.KeyID = expiring.ID
		f.release(t, f.begin(t, c).ID)
		f.clock.Advance(time.Minute)
		c = f.newCall(10)
		c.KeyID = expiring.ID
		if err := f.Begin(ctx, c); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Begin with an expired key: got %v, want ErrNotFound", err)
		}
		f.wallet(t, trial, 0, 0)
	})
}

// TestLastUse waits for the recording in the background by asking again.
func TestLastUse(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		_, secret, err := f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID})
		if err != nil {
			t.Fatal(err)
		}
		usedAt := func(want time.Time) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			for {
				key, _, err := f.KeyBySecret(ctx, secret)
				if err != nil {
					t.Fatal(err)
				}
				if key.LastUsedAt != nil && key.LastUsedAt.Equal(want) {
					return
				}
			}
		}
		usedAt(noon)
		f.clock.Advance(59 * time.Second)
		usedAt(noon)
		f.clock.Advance(time.Second)
		usedAt(noon.Add(time.Minute))
	})
}
