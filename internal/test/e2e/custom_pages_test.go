package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestCustomPages reads the terms and the privacy policy of the operator, from the footer and from the sign-up form.
func TestCustomPages(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"terms.md": "# Terms of service\n\nThese terms apply to the use of this service. Read the [privacy policy](privacy.md), too.\n\n## Payment\n\n" +
			"- Calls are paid from a prepaid wallet.\n- Failed calls are **not** charged.\n\n| Plan | Price |\n|---|---|\n| Trial | $0 |\n| Paid | by call |\n\n<script>document.title = 'no'</script>\n",
		"privacy.md": "# Privacy policy\n\nResults are deleted after 24 hours.\n",
		"contact.md": "Write to support@example.com.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	visitor := openScreen(t, openBrowser(t), startPages(t, func(c *app.Config) { c.Pages = dir }))
	visitor.open("/signup")
	visitor.sees("By signing up you accept the terms and the privacy policy.")
	visitor.lookAt("sign up with terms")
	visitor.follow("terms")
	visitor.sees("Failed calls are not charged.")
	visitor.lookAt("terms")
	visitor.width(390)
	visitor.picture("terms-390")
	visitor.follow("privacy policy")
	visitor.sees("Results are deleted after 24 hours.")
	visitor.pressWhere("footer a", "Contact")
	visitor.sees("Write to support@example.com.")
	visitor.calm("custom pages")
}
