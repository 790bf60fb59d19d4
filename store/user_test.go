package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

func (f *fixture) newPerson(t *testing.T, email string) store.User {
	t.Helper()
	p, err := f.CreateUser(t.Context(), store.NewUser{Email: email, Name: "Ada", Password: "hash"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPeople(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, people := t.Context(), f
		made := f.newPerson(t, " Eve@Example.com ")
		got, err := people.UserByEmail(ctx, "EVE@example.com")
		if err != nil || got.ID != made.ID || got.Email != "eve@example.com" || got.Password != "hash" || got.VerifiedAt != nil || got.PasswordSetAt == nil {
			t.Errorf("by email: got %+v, %v", got, err)
		}
		if _, err := people.CreateUser(ctx, store.NewUser{Email: "eve@example.COM"}); !errors.Is(err, store.ErrExists) {
			t.Errorf("the same address again: got %v, want ErrExists", err)
		}
		for _, email := range []string{"", "eve", "@example.com", "eve@", "e ve@example.com", "eve@example.com\nbcc: x", "\xff@example.com", "<eve@example.com>"} {
			if _, err := people.CreateUser(ctx, store.NewUser{Email: email}); err == nil {
				t.Errorf("the address %q was accepted", email)
			}
		}
		for _, want := range []bool{true, false} {
			if first, err := people.VerifyUser(ctx, made.ID, ""); err != nil || first != want {
				t.Errorf("verify: got %v, %v; want %v", first, err, want)
			}
		}
		f.newPerson(t, "mallory@example.com")
		if err := people.ChangeCredentials(ctx, made.ID, store.CredentialChange{Email: new("mallory@example.com")}); !errors.Is(err, store.ErrExists) {
			t.Errorf("another's address: got %v, want ErrExists", err)
		}
		if err := people.ChangeCredentials(ctx, made.ID, store.CredentialChange{Identity: new("https://id.example 1")}); err != nil {
			t.Fatal(err)
		}
		if got, err := people.UserByIdentity(ctx, "https://id.example 1"); err != nil || got.ID != made.ID {
			t.Errorf("by identity: got %+v, %v", got, err)
		}
		mallory, err := people.UserByEmail(ctx, "mallory@example.com")
		if err != nil {
			t.Fatal(err)
		}
		if err := people.ChangeCredentials(ctx, mallory.ID, store.CredentialChange{Identity: new("https://id.example 1")}); !errors.Is(err, store.ErrExists) {
			t.Errorf("another's identity: got %v, want ErrExists", err)
		}
		if _, err := people.User(ctx, "per_unknown"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown id: got %v, want ErrNotFound", err)
		}
	})
}

func TestLinksWorkOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, people := t.Context(), f
		p := f.newPerson(t, "eve@example.com")
		link := store.Token{Purpose: store.TokenReset, PersonID: p.ID, Data: "x", ExpiresAt: noon.Add(time.Hour)}
		before, err := people.NewToken(ctx, link)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := people.NewToken(ctx, link)
		if err != nil {
			t.Fatal(err)
		}
		for name, use := range map[string][2]string{"the one before": {store.TokenReset, before}, "another purpose": {store.TokenVerify, secret}, "a guess": {store.TokenReset, "guess"}} {
			if _, err := people.UseToken(ctx, use[0], use[1]); !errors.Is(err, store.ErrUsed) {
				t.Errorf("%s: got %v, want ErrUsed", name, err)
			}
		}
		if got, err := people.UseToken(ctx, store.TokenReset, secret); err != nil || got.PersonID != p.ID || got.Data != "x" {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := people.UseToken(ctx, store.TokenReset, secret); !errors.Is(err, store.ErrUsed) {
			t.Errorf("used again: got %v, want ErrUsed", err)
		}
		expiring, err := people.NewToken(ctx, link)
		if err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(time.Hour)
		if _, err := people.Token(ctx, store.TokenReset, expiring); !errors.Is(err, store.ErrUsed) {
			t.Errorf("expired: got %v, want ErrUsed", err)
		}
	})
}

func TestSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, people := t.Context(), f
		p := f.newPerson(t, "eve@example.com")
		if err := people.ChangeCredentials(ctx, p.ID, store.CredentialChange{Factor: &store.Factor{Sealed: []byte("sealed"), Codes: []string{"AAAA", "BBBB"}}}); err != nil {
			t.Fatal(err)
		}
		for i, step := range []struct {
			step int64
			want error
		}{{10, nil}, {10, store.ErrUsed}, {9, store.ErrUsed}, {11, nil}} {
			if err := people.UseFactorStep(ctx, p.ID, step.step); !errors.Is(err, step.want) {
				t.Errorf("%d: step %d: got %v, want %v", i, step.step, err, step.want)
			}
		}
		for i, want := range []error{nil, store.ErrUsed} {
			if err := people.UseRecoveryCode(ctx, p.ID, "AAAA"); !errors.Is(err, want) {
				t.Errorf("recovery code, time %d: got %v, want %v", i+1, err, want)
			}
		}
		if n, err := people.RecoveryCodes(ctx, p.ID); err != nil || n != 1 {
			t.Errorf("got %d codes left, %v; want 1", n, err)
		}
		if err := people.ChangeCredentials(ctx, p.ID, store.CredentialChange{Factor: &store.Factor{}}); err != nil {
			t.Fatal(err)
		}
		if got, err := people.User(ctx, p.ID); err != nil || len(got.Factor) != 0 {
			t.Errorf("turned off: got %+v, %v", got, err)
		}
	})
}

// signIn stores a session as the pages do.
func (f *fixture) signIn(t *testing.T, token, personID string) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"deadline": noon, "values": map[string]any{"person": personID, "device": "Firefox on Linux", "address": "203.0.113.40"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CommitSession(t.Context(), token, data, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) sessionTokens(t *testing.T, personID string) []string {
	t.Helper()
	list, err := f.Sessions(t.Context(), personID)
	if err != nil {
		t.Fatal(err)
	}
	tokens := []string{}
	for _, s := range list {
		tokens = append(tokens, s.Token)
	}
	return tokens
}

func TestSessions(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		eve, bob := f.newPerson(t, "eve@example.com"), f.newPerson(t, "bob@example.com")
		f.signIn(t, "one", eve.ID)
		f.clock.Advance(time.Minute)
		f.signIn(t, "two", eve.ID)
		f.signIn(t, "three", bob.ID)
		list, err := f.Sessions(ctx, eve.ID)
		if err != nil || len(list) != 2 || list[0].Token != "two" || list[1].Device != "Firefox on Linux" || list[1].Address != "203.0.113.40" {
			t.Fatalf("got %+v, %v", list, err)
		}
		if err := f.EndSession(ctx, bob.ID, list[0].ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another's session: got %v, want ErrNotFound", err)
		}
		if err := f.EndSession(ctx, eve.ID, list[0].ID); err != nil {
			t.Fatal(err)
		}
		if _, found, err := f.FindSession(ctx, "two"); err != nil || found {
			t.Errorf("an ended session: found %v, %v", found, err)
		}
		// A request that was under way when it was ended stores it once more.
		f.signIn(t, "two", eve.ID)
		if _, found, err := f.FindSession(ctx, "two"); err != nil || found || len(f.sessionTokens(t, eve.ID)) != 1 {
			t.Errorf("an ended session came back: found %v, %v", found, err)
		}
		// Seen again: the time changes, the public id and the beginning do not.
		f.clock.Advance(time.Minute)
		f.signIn(t, "one", eve.ID)
		again, err := f.Sessions(ctx, eve.ID)
		if err != nil || len(again) != 1 || again[0].ID != list[1].ID || !again[0].CreatedAt.Equal(noon) || !again[0].SeenAt.Equal(noon.Add(2*time.Minute)) {
			t.Errorf("seen again: got %+v, %v", again, err)
		}
		if err := f.ChangeCredentials(ctx, eve.ID, store.CredentialChange{Password: new("new"), KeepSession: "kept"}); err != nil {
			t.Fatal(err)
		}
		if left := f.sessionTokens(t, eve.ID); len(left) != 0 {
			t.Errorf("after a new password: %v is left", left)
		}
		if left := f.sessionTokens(t, bob.ID); len(left) != 1 {
			t.Errorf("another's sessions: %v is left", left)
		}
		f.clock.Advance(2 * time.Hour)
		if _, found, err := f.FindSession(ctx, "three"); err != nil || found {
			t.Errorf("an expired session: found %v, %v", found, err)
		}
	})
}

func TestMembers(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, members := t.Context(), f
		eve, bob := f.newPerson(t, "eve@example.com"), f.newPerson(t, "bob@example.com")
		if err := members.AddMember(ctx, f.acc.ID, eve.ID, store.RoleOwner); err != nil {
			t.Fatal(err)
		}
		if err := members.AddMember(ctx, f.acc.ID, eve.ID, store.RoleViewer); !errors.Is(err, store.ErrExists) {
			t.Errorf("a member again: got %v, want ErrExists", err)
		}
		if err := members.AddMember(ctx, f.acc.ID, bob.ID, "king"); err == nil {
			t.Error("an unknown role was accepted")
		}
		for name, leave := range map[string]error{"demoted": members.SetMemberRole(ctx, f.acc.ID, eve.ID, store.RoleViewer), "removed": members.RemoveMember(ctx, f.acc.ID, eve.ID)} {
			if !errors.Is(leave, store.ErrLastOwner) {
				t.Errorf("the last owner %s: got %v, want ErrLastOwner", name, leave)
			}
		}
		f.clock.Advance(time.Second)
		invite := store.Invite{AccountID: f.acc.ID, Email: "Bob@example.com", Role: store.RoleDeveloper, InviterID: eve.ID, ExpiresAt: noon.Add(time.Hour)}
		old, err := members.NewInvite(ctx, invite)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := members.NewInvite(ctx, invite)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := members.AcceptInvite(ctx, old, bob.ID); !errors.Is(err, store.ErrUsed) {
			t.Errorf("the invitation before: got %v, want ErrUsed", err)
		}
		if list, err := members.Invites(ctx, f.acc.ID); err != nil || len(list) != 1 || list[0].Email != "bob@example.com" {
			t.Errorf("invitations: got %+v, %v", list, err)
		}
		if _, err := members.AcceptInvite(ctx, secret, bob.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := members.AcceptInvite(ctx, secret, bob.ID); !errors.Is(err, store.ErrUsed) {
			t.Errorf("accepted again: got %v, want ErrUsed", err)
		}
		f.signIn(t, "bob's", bob.ID)
		if err := members.SetMemberRole(ctx, f.acc.ID, bob.ID, store.RoleBilling); err != nil {
			t.Fatal(err)
		}
		if left := f.sessionTokens(t, bob.ID); len(left) != 0 {
			t.Errorf("after a change of role: %v is left", left)
		}
		list, err := members.AccountMembers(ctx, f.acc.ID)
		if err != nil || len(list) != 2 || list[1].Person.Email != "bob@example.com" || list[1].Role != store.RoleBilling || list[1].AccountName != "ada@example.com" {
			t.Errorf("members: got %+v, %v", list, err)
		}
		if of, err := members.Memberships(ctx, bob.ID); err != nil || len(of) != 1 || of[0].AccountID != f.acc.ID {
			t.Errorf("memberships: got %+v, %v", of, err)
		}
	})
}

// TestOwnersCannotRemoveEachOther lets two owners remove each other at once:
// one of them has to stay.
func TestOwnersCannotRemoveEachOther(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, members := t.Context(), f
		for round := range 10 {
			acc := f.newAccount(t, fmt.Sprintf("acc%d@example.com", round), 0)
			var owners []store.User
			for i := range 2 {
				p := f.newPerson(t, fmt.Sprintf("owner%d-%d@example.com", round, i))
				if err := members.AddMember(ctx, acc.ID, p.ID, store.RoleOwner); err != nil {
					t.Fatal(err)
				}
				owners = append(owners, p)
			}
			var both sync.WaitGroup
			errs := make([]error, 2)
			for i, p := range owners {
				both.Go(func() { errs[i] = members.RemoveMember(ctx, acc.ID, p.ID) })
			}
			both.Wait()
			if left, err := members.AccountMembers(ctx, acc.ID); err != nil || len(left) != 1 {
				t.Fatalf("round %d: %d owners are left, %v; removing said %v", round, len(left), err, errs)
			}
		}
	})
}

func TestAudit(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for i := range 5 {
			f.clock.Advance(time.Second)
			if err := f.AddAuditEntry(ctx, store.AuditEntry{AccountID: f.acc.ID, Who: "eve@example.com", Action: "key.made", Object: fmt.Sprint(i), Operator: i == 4}); err != nil {
				t.Fatal(err)
			}
		}
		f.clock.Advance(time.Second)
		if err := f.AddAuditEntry(ctx, store.AuditEntry{Who: "command line", Action: "settings", Operator: true}); err != nil {
			t.Fatal(err)
		}
		first, err := f.AuditEntries(ctx, f.acc.ID, "", 3)
		if err != nil || len(first) != 3 || first[0].Object != "4" || first[2].Object != "2" {
			t.Fatalf("got %+v, %v", first, err)
		}
		rest, err := f.AuditEntries(ctx, f.acc.ID, first[2].ID, 3)
		if err != nil || len(rest) != 2 || rest[1].Object != "0" {
			t.Errorf("got %+v, %v", rest, err)
		}
		once := store.AuditEntry{AccountID: f.acc.ID, Who: "eve@example.com", Action: "template.changed", Object: "Letter"}
		other := once
		other.Object = "Bill"
		for _, e := range []store.AuditEntry{once, once, other} {
			if err := f.AddAuditEntryOnce(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
		f.clock.Advance(time.Hour + time.Second)
		if err := f.AddAuditEntryOnce(ctx, once); err != nil {
			t.Fatal(err)
		}
		if all, err := f.AuditEntries(ctx, f.acc.ID, "", 10); err != nil || len(all) != 5+3 || all[0].Object != "Letter" {
			t.Errorf("of what is written once: got %+v, %v", all, err)
		}
		if done, err := f.OperatorAuditEntries(ctx, "", 10); err != nil || len(done) != 2 || done[0].Who != "command line" || done[0].AccountID != "" {
			t.Errorf("by operators: got %+v, %v", done, err)
		}
	})
}
