package e2e

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// TestVersionPages compares the pages of a published version with those of the draft, with and without scripts.
func TestVersionPages(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t, func(c *app.Config) { c.RateLimits = false }), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	account := maya.account().ID
	const style = `<style>body{font:15px Inter,sans-serif}table{width:100%;border-collapse:collapse}td{border-bottom:1px solid #ccc;padding:8px}h1+p{margin-bottom:24px}.next{break-before:page}</style>`
	const first = style + `<h1>Invoice {{number}}</h1><p>Due in 30 days</p>{{> items}}<h1 class="next">Terms</h1><p>Goods stay ours until they are paid.</p>`
	const second = style + `<h1>Invoice {{number}}</h1><p>Due in 14 days</p>{{> items}}<h1 class="next">Contact</h1><p>hello@example.com</p><h1 class="next">Terms</h1><p>Goods stay ours until they are paid.</p>`
	const items = `<table><tr><td>Paper<td>12.00<tr><td>Ink<td>30.00</table>`
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := app.Store.PutPartial(t.Context(), account, "items", items+"<p>Thank you for the order.</p>")
	must(err)
	made, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{
		AccountID: account, Slug: "invoice", Name: "Invoice", Content: store.TemplateContent{HTML: first, SampleData: []byte(`{"number":"2041"}`), Options: []byte(`{"format":"A5"}`)},
	})
	must(err)
	_, err = app.Store.PublishTemplate(t.Context(), account, made.ID, 0, "", map[string]string{"items": items})
	must(err)
	path := "/dashboard/templates/" + made.ID + "/versions/1"

	// The partial is another one since.
	maya.open(path + "/pages")
	maya.sees("1 of 2 pages differs")
	_, err = app.Store.PutPartial(t.Context(), account, "items", items)
	must(err)
	maya.open(path + "/pages")
	maya.sees("All pages look the same")
	maya.lookAt("version pages equal")

	_, err = app.Store.UpdateTemplate(t.Context(), account, made.ID, 0, store.TemplateChange{HTML: new(second)})
	must(err)
	maya.open(path)
	maya.follow("Compare pages")
	maya.sees("2 of 3 pages differ")
	maya.sees("Page 2, now page 3")
	maya.holds("the pages are shown", `document.querySelector(".compared img").naturalWidth > 1000`)
	maya.lookAt("version pages changed")
	maya.follow("Next")
	maya.sees("Difference 2 of 2")
	maya.holds("the added page is shown", `document.querySelector(".compared img").naturalWidth > 1000`)
	maya.lookAt("version pages added")
	maya.calm("the pages of a version")
	image := path + "/pages/1"

	// An approval holds until the pages look different.
	maya.press("Approve these pages")
	maya.sees("Pages approved by maya@example.com")
	maya.lookAt("version pages approved")
	publish := "/dashboard/templates/" + made.ID + "/publish"
	maya.open(publish)
	maya.sees("Pages approved by maya@example.com")
	_, err = app.Store.UpdateTemplate(t.Context(), account, made.ID, 0, store.TemplateChange{HTML: new(second + "<!-- no change -->")})
	must(err)
	maya.open(publish)
	maya.sees("Pages approved by maya@example.com")
	_, err = app.Store.UpdateTemplate(t.Context(), account, made.ID, 0, store.TemplateChange{HTML: new(strings.Replace(second, "14 days", "7 days", 1))})
	must(err)
	maya.open(publish)
	maya.sees("1 page differs from the pages that maya@example.com approved")
	maya.follow("Compare pages with version 1")
	maya.sees("The draft has changed since maya@example.com approved its pages")
	maya.open(publish)
	maya.lookAt("publish pages changed")
	maya.calm("an approval")

	plain := openScreen(t, browser, app)
	plain.withoutScript()
	plain.signIn("maya@example.com")
	plain.open(path + "/pages?page=2")
	plain.sees("Difference 2 of 2")
	plain.press("Approve these pages")
	plain.sees("Pages approved by maya@example.com")
	plain.open(publish)
	plain.press("Publish version 2")
	plain.sees("Version 2 published")
	if _, err := app.Store.TemplateApproval(t.Context(), account, made.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the approval after publication: %v, want %v", err, store.ErrNotFound)
	}

	_, err = app.Store.UpdateTemplate(t.Context(), account, made.ID, 0, store.TemplateChange{HTML: new("{{#if}}")})
	must(err)
	maya.open(path + "/pages")
	maya.holds("the fault is shown", `document.querySelector(".banner[data-is=bad]") !== null`)

	mallory := openScreen(t, browser, app)
	mallory.join("mallory@example.com")
	for _, address := range []string{path + "/pages", image} {
		r, err := mallory.page.Eval(`async address => (await fetch(address)).status`, address)
		if err != nil || r.Value.Int() != http.StatusNotFound {
			t.Errorf("%s: another account gets status %v, %v", address, r, err)
		}
	}
}
