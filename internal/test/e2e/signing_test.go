package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// TestSigningIdentityIsAdded adds a key in the dashboard, with its file and a wrong password first, and deletes it.
func TestSigningIdentityIsAdded(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser, authority := startPlayground(t), openBrowser(t), pdftest.NewAuthority(t, "")
	signer := authority.Identity("Ada", pdftest.NewKey(t, "P-256"), &authority.Issuer, pdftest.Years)
	file := filepath.Join(t.TempDir(), "key.p12")
	if err := os.WriteFile(file, authority.PKCS12(signer, "correct horse"), 0o600); err != nil {
		t.Fatal(err)
	}
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	for _, password := range []string{"wrong", "correct horse"} {
		maya.open("/dashboard/signing/new")
		maya.fill("name", "contracts")
		choose(t, maya, `[name="pkcs12"]`, file)
		maya.fill("password", password)
		maya.press("Add signing identity")
		if password == "wrong" {
			maya.sees("It is incorrect: it does not open the key.")
			maya.forgives("422")
		}
	}
	maya.sees("Signing identity contracts added.")
	maya.sees("CN=Ada")
	maya.calm("the signing identities")
}
