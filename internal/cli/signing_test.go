package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// TestAccountSigningIdentities lists and deletes signing identities.
func TestAccountSigningIdentities(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	made, err := b.Store.CreateSigningIdentity(t.Context(), store.SigningIdentity{
		ID: b.Store.NewID("sig"), AccountID: b.Account.ID, Name: "contracts", Certificate: `{"subject":"CN=Ada"}`, Secret: []byte("canary"),
	})
	if err != nil {
		t.Fatal(err)
	}
	list := decodeJSON[struct{ SigningIdentities []client.SigningIdentity }](t, b.run("", "signing", "list", "--json").out).SigningIdentities
	if len(list) != 1 || list[0].ID != made.ID || list[0].Name != "contracts" {
		t.Errorf("list: got %+v", list)
	}
	if r := b.run("", "signing", "list"); !strings.Contains(r.out, made.ID+"  contracts  CN=Ada") {
		t.Errorf("list: got %+v", r)
	}
	if r := b.run("", "signing", "delete", made.ID); r.code != 0 {
		t.Errorf("delete: got %+v", r)
	}
	if r := b.run("", "signing", "delete", made.ID); r.code != exitNotFound {
		t.Errorf("delete again: got %+v", r)
	}
}

// TestSigningIdentityIsSent creates a signing identity from a file and a password on standard input.
func TestSigningIdentityIsSent(t *testing.T) {
	t.Parallel()
	var got struct{ Name, PKCS12, Password string }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.URL.Path != "/v1/signing-identities" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"sig_1"}`))
	}))
	t.Cleanup(server.Close)
	file := sharedtest.WriteFile(t, "contracts.p12", "key")
	made := runRows(t, docRows(nil), "correct horse\n", "signing", "create", file, "--api-url", server.URL, "--api-key", "pdf_test_key")
	if made.code != 0 || made.out != "sig_1\n" || got.Name != "contracts" || got.PKCS12 != "a2V5" || got.Password != "correct horse" {
		t.Errorf("got %+v and sent %+v", made, got)
	}
}
