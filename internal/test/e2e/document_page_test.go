package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// TestDocumentsOnTheirPages follows an account from a refused first request: the page of the first run shows the refusal
// and then the document. The page of a document shows its pages, its image or its text, and the list follows a job.
func TestDocumentsOnTheirPages(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t, func(c *app.Config) { c.RateLimits = false }), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	_, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: maya.account().ID, Name: "website", Test: true})
	if err != nil {
		t.Fatal(err)
	}
	send := func(path, body string, want int) (id string) {
		t.Helper()
		var result struct{ ID string }
		if err := json.Unmarshal(mustSend(t, http.MethodPost, app.URL+path, secret, body, want), &result); err != nil {
			t.Fatal(err)
		}
		return result.ID
	}
	const twoPages = `<h1>Order</h1><p style=\"break-before: page\">Terms`
	maya.open("/dashboard")
	maya.sees("Waiting for your first call")
	send("/v1/pdf", `{"html":"<h1>Order</h1>","options":{"formt":"A4"}}`, http.StatusBadRequest)
	maya.sees("options.formt")
	maya.sees("Waiting for your next call")
	maya.holds("the refusal has a page", `document.querySelector('.steps a[href^="/dashboard/requests/"]')`)
	maya.lookAt("first run refused")
	result := send("/v1/pdf", `{"html":"`+twoPages+`","filename":"order-1042","response":"url"}`, http.StatusOK)
	maya.sees("Your first document took")

	const images = `[...document.querySelectorAll("aside .doc-view img")].filter(image => image.naturalWidth > 100).length`
	maya.open("/dashboard/documents/" + store.CallID(result))
	maya.holds("the pages are shown", `document.querySelectorAll("aside .doc-view img").length === 2 && `+images+` > 0`)
	maya.sees("order-1042.pdf")
	maya.sees("2 pages")
	maya.lookAt("document pages")
	maya.open("/dashboard/documents/" + store.CallID(send("/v1/images", `{"html":"<h1>Hello","response":"url","options":{"viewport":{"width":400,"height":300}}}`, http.StatusOK)))
	maya.holds("the image is shown", images+` === 1`)
	maya.lookAt("document image")
	maya.open("/dashboard/documents/" + store.CallID(send("/v1/pdf/info", `{"fileId":"`+result+`","response":"url"}`, http.StatusOK)))
	maya.sees(`"pageCount": 2`)
	maya.lookAt("document text")

	made, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{AccountID: maya.account().ID, Slug: "letter", Name: "Letter to a customer", Content: store.TemplateContent{HTML: "<h1>Dear {{name}}</h1>", SampleData: []byte(`{}`), Options: []byte(`{}`)}})
	if err == nil {
		_, err = app.Store.PublishTemplate(t.Context(), made.AccountID, made.ID, 0, "", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	maya.open("/dashboard/documents")
	maya.sees("order-1042.pdf")
	send("/v1/pdf", `{"templateId":"letter","templateData":{"name":"Ada"},"response":"async"}`, http.StatusAccepted)
	maya.sees("Letter to a customer")
	maya.holds("the list follows the job", `[...document.querySelectorAll("tbody tr")].every(row => row.textContent.includes("Completed"))`)
	maya.lookAt("documents live")
	maya.calm("documents")

	mallory := openScreen(t, browser, app)
	mallory.join("mallory@example.com")
	r, err := mallory.page.Eval(`async address => (await fetch(address)).status`, "/dashboard/documents/"+store.CallID(result)+"/images/1")
	if err != nil || r.Value.Int() != http.StatusNotFound {
		t.Errorf("another account gets status %v, %v", r, err)
	}
	plain := openScreen(t, browser, app)
	plain.withoutScript()
	plain.signIn("maya@example.com")
	plain.open("/dashboard/documents/" + store.CallID(result))
	plain.sees("2 pages")
	another := send("/v1/pdf", `{"html":"`+twoPages+`","response":"url"}`, http.StatusOK)
	plain.open("/dashboard/documents/" + store.CallID(another))
	plain.follow("Show preview")
	plain.sees("2 pages")
	plain.calm("a document without script")
}

// TestBulkJobOnItsPage watches a bulk job on its page, and cancels it.
func TestBulkJobOnItsPage(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	account := maya.account().ID
	_, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account, Name: "website"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{AccountID: account, Slug: "letter", Name: "Letter to a customer", Content: store.TemplateContent{HTML: "<h1>Dear {{name}}</h1>", SampleData: []byte(`{}`), Options: []byte(`{}`)}})
	if err == nil {
		_, err = app.Store.PublishTemplate(t.Context(), made.AccountID, made.ID, 0, "", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	records := `{},` + strings.TrimSuffix(strings.Repeat(`{"name":"Ada"},`, 200), ",")
	var job struct{ ID string }
	// The wait makes each chunk last long enough to be seen.
	body := `{"templateId":"letter","strict":true,"options":{"waitForTimeout":50},"records":[` + records + `]}`
	if err := json.Unmarshal(mustSend(t, http.MethodPost, app.URL+"/v1/pdf/bulk", secret, body, http.StatusAccepted), &job); err != nil {
		t.Fatal(err)
	}
	maya.open("/dashboard/documents/" + store.CallID(job.ID))
	maya.sees("of 201 records")
	maya.holds("the job progresses", `document.querySelector("progress")?.value > 0`)
	maya.sees("1 failed")
	maya.sees("left")
	maya.lookAt("bulk job")
	maya.calm("bulk job")
	maya.follow("Cancel job")
	maya.sees("Keep job")
	maya.lookAt("bulk job cancel")
	maya.calm("bulk job cancel")
	maya.press("Cancel job")
	maya.sees("cancelled")
	maya.holds("the job has ended", `document.querySelector(".facts .status")?.textContent === "Completed" && !document.querySelector("progress")`)
	maya.sees("records[0] is missing")
	maya.lookAt("bulk job cancelled")
	maya.calm("bulk job cancelled")
}
