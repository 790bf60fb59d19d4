package e2e

import (
	"slices"
	"testing"

	"github.com/go-rod/rod/lib/input"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/credit"
)

// TestPlaygroundByKeyboard makes a document without a mouse: it types HTML, leaves the text with Tab, opens the folded
// options, and runs.
func TestPlaygroundByKeyboard(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	maya := openWide(t, startPlayground(t))
	maya.open("/dashboard/playground")
	maya.attends()
	passed := maya.walks("Operation", "HTML", "html")
	maya.keys(input.End)
	maya.types("<p>Typed without a mouse</p>")
	passed = append(passed, maya.walks("options.format", "More options")...)
	maya.keys(input.Space)
	passed = append(passed, maya.walks("options.width", "More fields", "Run")...)
	if slices.Contains(passed, "") {
		t.Errorf("an element without a name has the focus: %q", passed)
	}
	maya.keys(input.Enter)
	maya.sees("Completed")
	maya.holds("the call has the typed text", `document.querySelector('[data-call] pre[aria-label="JSON sample"]').textContent.includes("Typed without a mouse")`)
	maya.calm("the playground by keyboard")
}

// TestWalletByKeyboard tops up without a mouse, and filters the ledger.
func TestWalletByKeyboard(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	maya := openWide(t, startPages(t, func(c *app.Config) { c.Dev = true }))
	before := maya.account().Balance
	maya.open("/dashboard/wallet")
	maya.walks("Per call", "Save limits", "$20")
	maya.keys(input.ArrowLeft)
	maya.walks("Pay $5.00 with Stripe")
	maya.enter()
	maya.tabTo("Pay with the test card 4242")
	maya.enter()
	maya.sees("$5.00 was added to the wallet.")
	if got := maya.account().Balance; got != before+5*credit.Dollar {
		t.Errorf("the wallet holds %s", got)
	}
	maya.walks("Kind")
	maya.keys(input.KeyC, input.KeyA) // Calls
	maya.sees("Payments, calls and credits appear here.")
	maya.calm("the wallet by keyboard")
}
