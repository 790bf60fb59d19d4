package template

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestRealmsAreOneAccounts: an account's next document may use its realm again,
// finds nothing of the last one there, and no other account comes into it.
func TestRealmsAreOneAccounts(t *testing.T) {
	c := newCache()
	render := func(account, html, data string, strict bool, partials map[string]string) (string, error) {
		call := Call{Template: Template{HTML: html, Partials: partials}, Data: json.RawMessage(data), Strict: strict}
		out, _, err := c.render(context.Background(), account, &call, nil)
		return out, err
	}
	first, err := render("a", `{{#*inline "mine"}}x{{/inline}}{{> mine}}{{> p}}{{secret}}`, `{"secret":"s"}`, false, map[string]string{"p": "p"})
	if err != nil || first != "xps" {
		t.Fatalf("got %q, %v", first, err)
	}
	realm := c.realms.used
	if realm == nil || realm.account != "a" {
		t.Fatal("a realm in which nothing failed is not kept")
	}
	for html, want := range map[string]string{"{{> p}}": "p", "{{> mine}}": "mine"} {
		if out, err := render("a", html, `{}`, false, nil); err == nil {
			t.Errorf("%s: got %q; the partial %s is another document's", html, out, want)
		}
		if c.realms.used != nil {
			t.Errorf("%s: the realm of what failed is kept", html)
		}
		if _, err := render("a", "ok", "", false, nil); err != nil {
			t.Fatal(err)
		}
	}
	realm = c.realms.used
	if out, err := render("a", "{{secret}}{{#with @root}}{{secret}}{{/with}}", `{}`, false, nil); err != nil || out != "" || c.realms.used != realm {
		t.Errorf("got %q, %v, in the same realm: %t", out, err, c.realms.used == realm)
	}
	if _, err := render("a", "{{secret}}", `{}`, true, nil); err == nil {
		t.Error("strict finds what another document had")
	}
	if _, err := render("a", "ok", "", false, nil); err != nil {
		t.Fatal(err)
	}
	realm = c.realms.used
	if _, err := render("b", "ok", "", false, nil); err != nil || c.realms.used == realm || c.realms.used.account != "b" {
		t.Errorf("another account's document: %v, in the same realm: %t", err, c.realms.used == realm)
	}
}

// TestQuickHelpersAreTheSame compares the helpers in Go with those they stand for,
// on all kinds of arguments.
func TestQuickHelpersAreTheSame(t *testing.T) {
	sharedtest.Slow(t)
	arguments := []string{"", "0", "1", "-2", "1.005", "1e3", `"7.10"`, `"x"`, `"EUR"`, `"2026-11-21"`, "null", "undefined", "true", "o", "l", "n", `n "EUR"`, `n "DKK" 1`, "n 0", "n n",
		`"2026-11-21" "long"`, "1 2", "1 0", `1 "1"`, "o o", `n decimals=1`, `n locale="de"`, `n locale="xx-nonsense"`, `1 "row"`, `2 "row" "rows"`}
	names := slices.Sorted(maps.Keys(nativeHelpers))
	renderAll := func(helpers map[string]nativeHelper) map[string]string {
		out, c := map[string]string{}, newCache()
		c.realms.native = helpers
		for _, name := range names {
			for _, args := range arguments {
				for _, html := range []string{"{{%s %s}}", "{{#%s %s}}y{{else}}n{{/%[1]s}}"} {
					html = fmt.Sprintf(html, name, args)
					call := Call{Template: Template{HTML: html}, Data: json.RawMessage(`{"n":1234.5,"o":{"a":1},"l":[3,4],"add":"field"}`)}
					got, _, err := c.render(context.Background(), "a", &call, nil)
					out[html] = fmt.Sprint(got, err)
				}
			}
		}
		return out
	}
	quick := renderAll(nativeHelpers)
	for html, want := range renderAll(nil) {
		if quick[html] != want {
			t.Errorf("%s: got %q, want %q", html, quick[html], want)
		}
	}
}
