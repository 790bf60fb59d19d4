package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"relaypdf/api/operation"
	"relaypdf/client"
)

// TestAccountSigningIdentities creates a signing identity from a file, lists it, and deletes it.
func TestAccountSigningIdentities(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var example struct {
		PKCS12   []byte `json:"pkcs12"`
		Password string `json:"password"`
	}
	if err := json.Unmarshal([]byte(operation.ExampleIdentity("a")), &example); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "contracts.p12")
	if err := os.WriteFile(file, example.PKCS12, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := b.run("wrong\n", "signing", "create", file); r.code != exitInput || !strings.Contains(r.err, "password") {
		t.Errorf("a wrong password: got %+v", r)
	}
	made := b.run(example.Password+"\n", "signing", "create", file)
	id := strings.TrimSpace(made.out)
	if made.code != 0 || !strings.HasPrefix(id, "sig_") {
		t.Fatalf("create: got %+v", made)
	}
	if r := b.run(example.Password, "signing", "create", file); r.code != exitInput || !strings.Contains(r.err, "must be unique") {
		t.Errorf("create again: got %+v", r)
	}
	list := decodeJSON[struct{ SigningIdentities []client.SigningIdentity }](t, b.run("", "signing", "list", "--json").out).SigningIdentities
	if len(list) != 1 || list[0].ID != id || list[0].Name != "contracts" {
		t.Errorf("list: got %+v", list)
	}
	if r := b.run("", "signing", "list"); !strings.Contains(r.out, "CN=Example") {
		t.Errorf("list: got %+v", r)
	}
	if r := b.run("", "signing", "delete", id); r.code != 0 {
		t.Errorf("delete: got %+v", r)
	}
	if r := b.run("", "signing", "delete", id); r.code != exitNotFound {
		t.Errorf("delete again: got %+v", r)
	}
}
