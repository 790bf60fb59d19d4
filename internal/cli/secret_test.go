package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// TestSecretRotate changes the key twice while a server runs: old secrets can be decrypted, and are then encrypted
// with the newest key.
func TestSecretRotate(t *testing.T) {
	dir, data := dataDir(t)
	config := app.Config{DataDir: dir, DatabaseURL: "sqlite:", BaseURL: "http://localhost:8787"}
	box, err := app.OpenBox(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	account, err := s.CreateAccount(t.Context(), "eve@example.com", credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	id := s.NewID("we")
	sealed, err := box.Seal(delivery.SecretPurpose(id), []byte("whsec"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateWebhook(t.Context(), store.NewWebhook{ID: id, AccountID: account.ID, URL: "https://example.com", Secret: sealed}); err != nil {
		t.Fatal(err)
	}
	connection := store.Connection{ID: s.NewID("conn"), AccountID: account.ID, Name: "archive", Kind: "s3", Settings: "{}"}
	if connection.Secret, err = box.Seal(delivery.SecretPurpose(connection.ID), []byte("key")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateConnection(t.Context(), connection); err != nil {
		t.Fatal(err)
	}
	identity := store.SigningIdentity{ID: s.NewID("sig"), AccountID: account.ID, Name: "contracts", Certificate: "{}"}
	if identity.Secret, err = box.Seal(delivery.SecretPurpose(identity.ID), []byte("key")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateSigningIdentity(t.Context(), identity); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, want := mustRun(t, "secret", "rotate", data), "3 secrets are encrypted with the new key\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	w, err := s.Webhook(t.Context(), account.ID, id)
	if err != nil || bytes.Equal(w.Secret, sealed) {
		t.Fatalf("the secret is the old one, %v", err)
	}
	fresh, err := app.OpenBox(config)
	if err != nil || !fresh.Newest(w.Secret) {
		t.Errorf("the secret is not sealed with the newest key: %v", err)
	}
	stored, err := s.Connection(t.Context(), account.ID, connection.ID)
	if err != nil || !fresh.Newest(stored.Secret) {
		t.Errorf("the secret of the connection is not sealed with the newest key: %v", err)
	}
	if plain, err := fresh.Open(delivery.SecretPurpose(connection.ID), stored.Secret); err != nil || string(plain) != "key" {
		t.Errorf("opened %q, %v", plain, err)
	}
	if identity, err = s.SigningIdentity(t.Context(), account.ID, identity.ID); err != nil || !fresh.Newest(identity.Secret) {
		t.Errorf("the signing identity is not sealed with the newest key: %v", err)
	}
	for _, text := range [][]byte{sealed, w.Secret} {
		if plain, err := fresh.Open(delivery.SecretPurpose(id), text); err != nil || string(plain) != "whsec" {
			t.Errorf("opened %q, %v", plain, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, store.SecretFile)); err != nil || len(app.Secrets(string(text))) != 3 {
		t.Errorf("the file has %d keys, %v; want 3", len(app.Secrets(string(text))), err)
	}
}
