package e2e

import (
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestEffectiveSettingsOnAPhone: names of settings are whole on narrow screens, above their values.
func TestEffectiveSettingsOnAPhone(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, operator := startWide(t)
	person, err := app.Store.UserByEmail(t.Context(), "maya@example.com")
	if err == nil {
		err = app.Store.SetOperator(t.Context(), person.ID, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	operator.width(360)
	operator.open("/admin/settings")
	operator.fits("the settings on a phone")
	operator.holds("names are on one line, above their values", `[...document.querySelectorAll(".stacks")].every((row) => {
		const name = row.querySelector("th code"), value = row.querySelector("td").getBoundingClientRect();
		return name.getClientRects().length === 1 && value.top >= name.getBoundingClientRect().bottom - 1;
	})`)
	for _, theme := range []string{"light", "dark"} {
		if _, err := operator.page.Eval(`theme => { document.documentElement.dataset.theme = theme }`, theme); err != nil {
			t.Fatal(err)
		}
		operator.picture("settings-phone-" + theme)
	}
	operator.calm("the settings")
}
