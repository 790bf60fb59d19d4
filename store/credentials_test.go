package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// undoable changes credentials and returns the secret of the link that undoes it.
func (f *fixture) undoable(t *testing.T, id string, c store.CredentialChange) string {
	t.Helper()
	var secret string
	c.BuildMail = func(_ store.User, undo string) ([]store.QueuedEmail, error) {
		secret = undo
		return nil, nil
	}
	if err := f.ChangeCredentials(t.Context(), id, c); err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestChangesOfCredentialsEndPendingChanges makes links of every purpose and sessions:
// each kind of change ends them.
func TestChangesOfCredentialsEndPendingChanges(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, people := t.Context(), f
		for name, change := range map[string]store.CredentialChange{
			"password": {Password: new("new")}, "email": {Email: new("new@example.com")}, "identity": {Identity: new("https://id.example 1")},
			"factor": {Factor: &store.Factor{Sealed: []byte("sealed"), Codes: []string{"AAAA"}}},
		} {
			p := f.newPerson(t, name+"@example.com")
			f.signIn(t, name+" here", p.ID)
			f.signIn(t, name+" there", p.ID)
			secrets := map[string]string{}
			for _, purpose := range []string{store.TokenReset, store.TokenEmail, store.TokenSignIn, store.TokenVerify} {
				secret, err := people.NewToken(ctx, store.Token{Purpose: purpose, PersonID: p.ID, Data: "thief@example.com", ExpiresAt: f.clock.Now().Add(time.Hour)})
				if err != nil {
					t.Fatal(err)
				}
				secrets[purpose] = secret
			}
			change.KeepSession = name + " here"
			if err := people.ChangeCredentials(ctx, p.ID, change); err != nil {
				t.Fatal(err)
			}
			for purpose, secret := range secrets {
				if _, err := people.UseToken(ctx, purpose, secret); !errors.Is(err, store.ErrUsed) {
					t.Errorf("a change of the %s: the link to %s: got %v, want ErrUsed", name, purpose, err)
				}
			}
			if left := f.sessionTokens(t, p.ID); len(left) != 1 || left[0] != name+" here" {
				t.Errorf("a change of the %s: the sessions %v are left", name, left)
			}
		}
	})
}

// TestUndoRestoresCredentials lets an attacker change a user's email, factor and identity, one after the other: the
// first link restores all of them, and ends the others.
func TestUndoRestoresCredentials(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, people := t.Context(), f
		p := f.newPerson(t, "eve@example.com")
		if _, err := people.VerifyUser(ctx, p.ID, ""); err != nil {
			t.Fatal(err)
		}
		owner := f.undoable(t, p.ID, store.CredentialChange{Factor: &store.Factor{Sealed: []byte("hers"), Codes: []string{"AAAA"}}})
		f.clock.Advance(time.Hour)
		first := f.undoable(t, p.ID, store.CredentialChange{Email: new("thief@example.com")})
		f.clock.Advance(time.Minute)
		second := f.undoable(t, p.ID, store.CredentialChange{Factor: &store.Factor{Sealed: []byte("his"), Codes: []string{"BBBB"}}, Identity: new("https://id.example 1")})
		// He signs up with the address that he has taken, to keep it from coming back.
		if _, err := people.CreateUser(ctx, store.NewUser{Email: "eve@example.com", Password: "his"}); err != nil {
			t.Fatal(err)
		}
		f.signIn(t, "his", p.ID)
		if email, err := people.UndoEmail(ctx, first); err != nil || email != "eve@example.com" {
			t.Errorf("the link restores %q, %v", email, err)
		}
		if id, err := people.UndoCredentials(ctx, first, "new hash"); err != nil || id != p.ID {
			t.Fatalf("got %q, %v", id, err)
		}
		got, err := people.UserByEmail(ctx, "eve@example.com")
		if err != nil || got.ID != p.ID || got.Password != "new hash" || string(got.Factor) != "hers" || got.Identity != "" {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := people.UseRecoveryCode(ctx, p.ID, "BBBB"); !errors.Is(err, store.ErrUsed) {
			t.Errorf("his recovery code: got %v, want ErrUsed", err)
		}
		if err := people.UseRecoveryCode(ctx, p.ID, "AAAA"); err != nil {
			t.Errorf("her recovery code: %v", err)
		}
		if left := f.sessionTokens(t, p.ID); len(left) != 0 {
			t.Errorf("the sessions %v are left", left)
		}
		for name, secret := range map[string]string{"the same link": first, "the link of the later change": second, "a guess": "guess"} {
			if _, err := people.UndoCredentials(ctx, secret, "his"); !errors.Is(err, store.ErrUsed) {
				t.Errorf("%s: got %v, want ErrUsed", name, err)
			}
		}
		if _, err := people.UndoEmail(ctx, owner); err != nil {
			t.Errorf("the link of her own change before: %v", err)
		}
		f.clock.Advance(store.UndoLife)
		if _, err := people.UndoCredentials(ctx, owner, "late"); !errors.Is(err, store.ErrUsed) {
			t.Errorf("after a week: got %v, want ErrUsed", err)
		}
	})
}

// TestUndoLeavesVerifiedUsersAlone: an email address that another user has verified since stays with that user.
func TestUndoLeavesVerifiedUsersAlone(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, people := t.Context(), f
		p := f.newPerson(t, "eve@example.com")
		undo := f.undoable(t, p.ID, store.CredentialChange{Email: new("new@example.com")})
		if _, err := people.CreateUser(ctx, store.NewUser{Email: "eve@example.com", Verified: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := people.UndoCredentials(ctx, undo, "hash"); !errors.Is(err, store.ErrExists) {
			t.Errorf("got %v, want ErrExists", err)
		}
	})
}

// TestClaimEndsSetupOfOthers: the owner of an email address gets the user that someone else has made with it,
// without that one's password, sessions and links; once.
func TestClaimEndsSetupOfOthers(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, people := t.Context(), f
		p := f.newPerson(t, "eve@example.com")
		f.signIn(t, "his", p.ID)
		undo := f.undoable(t, p.ID, store.CredentialChange{Identity: new("https://id.example 1"), Factor: &store.Factor{Sealed: []byte("his")}, KeepSession: "his"})
		if err := people.ClaimUser(ctx, p.ID, store.NewUser{Password: "hers", Name: "Eve"}); err != nil {
			t.Fatal(err)
		}
		got, err := people.User(ctx, p.ID)
		if err != nil || got.Password != "hers" || got.Name != "Eve" || got.VerifiedAt == nil || got.Identity != "" || len(got.Factor) != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
		if left := f.sessionTokens(t, p.ID); len(left) != 0 {
			t.Errorf("the sessions %v are left", left)
		}
		if _, err := people.UndoCredentials(ctx, undo, "his"); !errors.Is(err, store.ErrUsed) {
			t.Errorf("his link: got %v, want ErrUsed", err)
		}
		if err := people.ClaimUser(ctx, p.ID, store.NewUser{Password: "his"}); !errors.Is(err, store.ErrExists) {
			t.Errorf("once more: got %v, want ErrExists", err)
		}
	})
}

// TestAddressesHaveOneSpelling finds a user by equivalent spellings of the address.
func TestAddressesHaveOneSpelling(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		p := f.newPerson(t, "zoë@example.com")
		for _, spelling := range []string{"ZOË@example.com", " zoë@EXAMPLE.com\t", "zoe\u0308@example.com", "ｚoë@example.com"} {
			if got, err := f.UserByEmail(t.Context(), spelling); err != nil || got.ID != p.ID {
				t.Errorf("%q: got %+v, %v", spelling, got, err)
			}
		}
	})
}

// TestResetRequestsDoNotEndEarlierLinks: requests of others do not invalidate a user's links, and for an unknown
// address an email is stored as well.
func TestResetRequestsDoNotEndEarlierLinks(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, people := t.Context(), f
		p := f.newPerson(t, "eve@example.com")
		var told []string
		var secrets []string
		for _, email := range []string{"Eve@example.com ", "eve@example.com", "nobody@example.com"} {
			err := people.RequestReset(ctx, email, f.clock.Now().Add(time.Hour), func(to, secret string) ([]store.QueuedEmail, error) {
				told, secrets = append(told, to), append(secrets, secret)
				return []store.QueuedEmail{{ID: f.NewID("let"), Sealed: []byte("sealed")}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if told[0] != "eve@example.com" || told[1] != "eve@example.com" || told[2] != "" {
			t.Errorf("told %q", told)
		}
		if got, err := people.UseToken(ctx, store.TokenReset, secrets[0]); err != nil || got.PersonID != p.ID {
			t.Errorf("the first link: got %+v, %v", got, err)
		}
		if _, err := people.Token(ctx, store.TokenReset, secrets[2]); !errors.Is(err, store.ErrUsed) {
			t.Errorf("nobody's link: got %v, want ErrUsed", err)
		}
		if letters, err := f.ClaimEmails(ctx, 10); err != nil || len(letters) != 3 {
			t.Errorf("%d emails are stored, %v", len(letters), err)
		}
	})
}
