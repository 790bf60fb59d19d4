package e2e

import (
	"testing"

	"github.com/go-rod/rod/lib/input"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestPaletteGoesAnywhere opens the palette by its keys and by its button, and goes to a page, a key and a guide with the
// keyboard alone.
func TestPaletteGoesAnywhere(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.open("/dashboard/keys/new")
	maya.fill("name", "web shop")
	maya.press("Create key")
	maya.open("/dashboard/documents")
	maya.holds("the script is not loaded before", `!performance.getEntriesByType("resource").some(e => e.name.includes("palette"))`)
	maya.opensPalette()
	maya.holds("the pages are listed", `[...document.querySelectorAll(".palette [role=option]")].some(o => o.textContent.includes("Wallet"))`)
	maya.lookAt("palette")
	maya.types("two-factor")
	maya.holds("nothing fits but the search", `document.querySelector(".palette [role=option][aria-selected=true]")?.textContent.startsWith("Search documents for")`)
	maya.clearsField()
	maya.types("secu")
	maya.holds("the page is chosen", `document.querySelector(".palette [aria-selected=true]")?.textContent.startsWith("Security") && document.activeElement.getAttribute("aria-activedescendant") === document.querySelector(".palette [aria-selected=true]").id`)
	maya.enter()
	maya.sees("Two-factor authentication")

	maya.opensPalette()
	maya.types("web shop")
	maya.holds("the key is found", `document.querySelector(".palette [aria-selected=true]")?.textContent.startsWith("web shop")`)
	maya.lookAt("palette with a key")
	maya.enter()
	maya.sees("Completed today")

	maya.press("Log out")
	maya.logIn("maya@example.com", "correct horse battery")
	maya.sees("Welcome, Maya")
	maya.click(".go", "Go to page")
	maya.holds("the palette has the focus", inPalette)
	maya.types("watermark")
	maya.holds("a synonym finds the operation", `[...document.querySelectorAll(".palette [role=option]")].some(o => o.textContent.includes("/v1/pdf/stamp"))`)
	if err := maya.page.Keyboard.Type(input.Escape); err != nil {
		t.Fatal(err)
	}
	maya.holds("the focus is back", `!document.querySelector(".palette").open && document.activeElement.matches(".go")`)
	maya.calm("the palette")
}

const inPalette = `document.activeElement?.matches(".palette[open] input")`

// opensPalette presses Ctrl-K, and waits for the field.
func (s *screen) opensPalette() {
	s.t.Helper()
	if err := s.page.KeyActions().Press(input.ControlLeft).Type(input.KeyK).Do(); err != nil {
		s.t.Fatal(err)
	}
	s.holds("the palette has the focus", inPalette)
}

// clearsField empties the field that has the focus.
func (s *screen) clearsField() {
	s.t.Helper()
	if _, err := s.page.Eval(`() => document.activeElement.select()`); err != nil {
		s.t.Fatal(err)
	}
	if err := s.page.Keyboard.Type(input.Backspace); err != nil {
		s.t.Fatal(err)
	}
}

// TestPasswordIsShownOnRequest shows a password, and sends it hidden.
func TestPasswordIsShownOnRequest(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.press("Log out")
	maya.sees("New here?")
	maya.fill("email", "maya@example.com")
	maya.fill("password", "correct horse")
	maya.click("[data-reveal]", "Show")
	maya.holds("the password is shown", `document.querySelector("#password").type === "text" && document.querySelector("[data-reveal]").textContent === "Hide password"`)
	maya.lookAt("login with a shown password")
	maya.holds("it is sent hidden", `(() => {
		const form = document.querySelector("#password").form;
		form.addEventListener("submit", (event) => event.preventDefault());
		form.requestSubmit();
		return document.querySelector("#password").type === "password";
	})()`)
	maya.calm("the password")
}

// TestPublicPagesLeadMembersBack: public pages offer a login to guests, and the dashboard to those who are logged in.
func TestPublicPagesLeadMembersBack(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	for path, action := range map[string]string{"/": "Open dashboard", "/pricing": "Dashboard", "/docs/quick-start": "Dashboard", "/pdf-templates": "Dashboard"} {
		maya.open(path)
		maya.holds(path+" knows the member", `(() => {
			const seen = [...document.querySelectorAll("a.btn")].filter(a => a.checkVisibility()).map(a => a.textContent.trim());
			return seen.includes(args[0]) && !seen.includes("Log in") && !seen.includes("Sign up");
		})()`, action)
	}
	maya.lookAt("gallery of a member")
	maya.click(".top .for-members a", "Dashboard")
	maya.sees("Welcome, Maya")
	maya.press("Log out")
	maya.sees("New here?")
	maya.open("/pricing")
	maya.holds("the page knows the guest", `document.querySelector('.top a[href="/login"]').checkVisibility() && !document.querySelector(".top .for-members").checkVisibility()`)
	maya.calm("public pages")
}
