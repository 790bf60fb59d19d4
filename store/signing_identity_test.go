package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/relaypdf/relaypdf/store"
)

// TestSigningIdentities creates identities up to their limit, reads them, and deletes one. Keys keep their scope when they
// are rolled.
func TestSigningIdentities(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		identity := func(name string) store.SigningIdentity {
			return store.SigningIdentity{ID: f.NewID("sig"), AccountID: f.acc.ID, Name: name, Certificate: `{"subject":"CN=Ada"}`, Secret: []byte("sealed")}
		}
		made, err := f.CreateSigningIdentity(ctx, identity("contracts"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.CreateSigningIdentity(ctx, identity("contracts")); !errors.Is(err, store.ErrExists) {
			t.Errorf("the same name: %v", err)
		}
		for i := 1; i < store.MaxSigningIdentities; i++ {
			if _, err := f.CreateSigningIdentity(ctx, identity(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.CreateSigningIdentity(ctx, identity("more")); !errors.Is(err, store.ErrTooManyIdentities) {
			t.Errorf("one more: %v", err)
		}
		other := f.newAccount(t, "other@example.com", 0)
		if _, err := f.SigningIdentity(ctx, other.ID, made.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of another account: %v", err)
		}
		if err := f.DeleteSigningIdentity(ctx, other.ID, made.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of another account: %v", err)
		}
		if got, err := f.SigningIdentity(ctx, f.acc.ID, made.ID); err != nil || got.Name != "contracts" || string(got.Secret) != "sealed" {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := f.DeleteSigningIdentity(ctx, f.acc.ID, made.ID); err != nil {
			t.Error(err)
		}
		if list, err := f.SigningIdentities(ctx, f.acc.ID); err != nil || len(list) != store.MaxSigningIdentities-1 {
			t.Errorf("%d identities, %v", len(list), err)
		}

		for _, signs := range []bool{true, false} {
			key, _, err := f.CreateKey(ctx, store.NewKey{AccountID: f.acc.ID, Signs: signs})
			if err != nil || key.Signs != signs {
				t.Fatalf("%+v, %v", key, err)
			}
			next, _, err := f.RollKey(ctx, f.acc.ID, key.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{key.ID, next.ID} {
				if got, err := f.KeySigns(ctx, id); err != nil || got != signs {
					t.Errorf("the key signs: %v, %v, want %v", got, err, signs)
				}
			}
		}
	})
}
