package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

func TestAccountsEndAfterTheirGrace(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		call := f.begin(t, f.newCall(2000))
		f.settle(t, call.ID, 1500)
		owner, err := f.CreateUser(t.Context(), store.NewUser{Email: "owner@example.com", Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		guest, err := f.CreateUser(t.Context(), store.NewUser{Email: "guest@example.com", Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		other := f.newAccount(t, "other@example.com", 0)
		for _, m := range [][2]string{{f.acc.ID, owner.ID}, {f.acc.ID, guest.ID}, {other.ID, guest.ID}} {
			if err := f.AddMember(t.Context(), m[0], m[1], store.RoleOwner); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.CreateTemplate(t.Context(), store.NewTemplate{AccountID: f.acc.ID, Name: "Invoice", Content: store.TemplateContent{HTML: "x", SampleData: []byte("{}"), Options: []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
		end := func() {
			t.Helper()
			if at, err := f.ScheduleDeletion(t.Context(), f.acc.ID); err != nil || !at.Equal(f.clock.Now().Add(store.AccountGrace)) {
				t.Fatalf("it ends %v, %v", at, err)
			}
		}
		round := func() {
			t.Helper()
			if err := f.DeleteExpired(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
		}
		end()
		if key, err := f.Keys(t.Context(), f.acc.ID); err != nil || len(key) != 1 || key[0].RevokedAt == nil {
			t.Errorf("the key is %+v, %v", key, err)
		}
		if err := f.CancelDeletion(t.Context(), f.acc.ID); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(store.AccountGrace + time.Hour)
		round()
		if a, err := f.Account(t.Context(), f.acc.ID); err != nil || a.Suspended || a.ClosesAt != nil {
			t.Fatalf("an account that was kept is %+v, %v", a, err)
		}
		end()
		round()
		if a, err := f.AccountByEmail(t.Context(), f.acc.Email); err != nil || a.ClosesAt == nil {
			t.Fatalf("within the grace the account is %+v, %v", a, err)
		}
		f.clock.Advance(store.AccountGrace)
		round()
		a, err := f.Account(t.Context(), f.acc.ID)
		if err != nil || !a.Suspended || a.Email == f.acc.Email || a.ClosesAt != nil {
			t.Errorf("afterwards the account is %+v, %v", a, err)
		}
		if _, err := f.User(t.Context(), owner.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("its owner is still there: %v", err)
		}
		if m, err := f.Memberships(t.Context(), guest.ID); err != nil || len(m) != 1 || m[0].AccountID != other.ID {
			t.Errorf("a member of another account is a member of %+v, %v", m, err)
		}
		if list, err := f.Templates(t.Context(), store.TemplateFilter{AccountID: f.acc.ID}); err != nil || len(list.Items) != 0 {
			t.Errorf("its templates are %+v, %v", list, err)
		}
		if c, err := f.Call(t.Context(), call.ID); err != nil || c.Charge != 1500 {
			t.Errorf("the call is %+v, %v", c, err)
		}
		if _, err := f.CreateAccount(t.Context(), f.acc.Email, 0); err != nil {
			t.Errorf("the address is not free again: %v", err)
		}
		if _, err := f.CheckLedger(t.Context()); err != nil {
			t.Errorf("the ledger: %v", err)
		}
	})
}

// TestSecretsOfAnEndedAccountGo has a server of a release without connections and signing identities delete the account.
func TestSecretsOfAnEndedAccountGo(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		other := f.newAccount(t, "other@example.com", 0)
		for _, account := range []string{f.acc.ID, other.ID} {
			c := store.Connection{ID: f.NewID("conn"), AccountID: account, Name: "archive", Kind: "s3", Settings: "{}", Secret: []byte("sealed")}
			if _, err := f.CreateConnection(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			i := store.SigningIdentity{ID: f.NewID("sig"), AccountID: account, Name: "contracts", Certificate: "{}", Secret: []byte("sealed")}
			if _, err := f.CreateSigningIdentity(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.DB().ExecContext(t.Context(), "UPDATE accounts SET email = id || '@deleted.invalid', suspended = TRUE WHERE id = ?", f.acc.ID); err != nil {
			t.Fatal(err)
		}
		if err := f.DeleteExpired(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		for account, want := range map[string]int{f.acc.ID: 0, other.ID: 1} {
			if list, err := f.Connections(t.Context(), account); err != nil || len(list) != want {
				t.Errorf("%s has %d connections, %v, want %d", account, len(list), err, want)
			}
			if list, err := f.SigningIdentities(t.Context(), account); err != nil || len(list) != want {
				t.Errorf("%s has %d signing identities, %v, want %d", account, len(list), err, want)
			}
		}
	})
}
