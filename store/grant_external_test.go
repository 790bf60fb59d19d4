package store_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// TestExternalClientsHaveOneGrantEach, though many come at once, the first time and after the end of their grant;
// and none whose user may not let clients in.
func TestExternalClientsHaveOneGrantEach(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		dev, err := f.CreateUser(ctx, store.NewUser{Email: "dev@example.com", Verified: true})
		if err == nil {
			err = f.AddMember(ctx, f.acc.ID, dev.ID, store.RoleDeveloper)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.member(t, "owner@example.com", store.RoleOwner)
		o := store.ExternalClient{Email: "Dev@example.com", ClientID: "https://id.example studio", Name: "studio", Home: "https://id.example", Resource: agents, Scopes: []string{"documents"}}
		for want := 1; want <= 2; want++ {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if access, err := f.ExternalGrantAccess(ctx, o, nil); err != nil || access.Account.ID != f.acc.ID {
						t.Errorf("got %+v, %v", access, err)
					}
				})
			}
			wg.Wait()
			if list, err := f.Grants(ctx, f.acc.ID); err != nil || len(list) != want {
				t.Fatalf("grants are %+v, %v; want %d", list, err, want)
			}
			f.clock.Advance(store.GrantDays * 24 * time.Hour)
		}
		if err := f.SetMemberRole(ctx, f.acc.ID, dev.ID, store.RoleViewer); err != nil {
			t.Fatal(err)
		}
		if access, err := f.ExternalGrantAccess(ctx, o, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a viewer lets in %+v, %v", access, err)
		}
		o.Email = "nobody@example.com"
		if access, err := f.ExternalGrantAccess(ctx, o, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a stranger lets in %+v, %v", access, err)
		}
	})
}
