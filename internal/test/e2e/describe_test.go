package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-rod/rod/lib/input"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/fakellm"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/store"
)

// blankTemplate makes a template on the page and waits for its editor.
func (s *screen) blankTemplate(name string) {
	s.t.Helper()
	s.open("/dashboard/templates/new")
	s.fill("name", name)
	s.press("Create template")
	s.edits()
}

// forgives removes an error that a test causes on purpose from the recorded ones.
func (s *screen) forgives(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrongs = slices.DeleteFunc(s.wrongs, func(wrong string) bool { return strings.Contains(wrong, words) })
}

// inEditor waits until an editor's field has a text.
func (s *screen) inEditor(label, text string) {
	s.t.Helper()
	s.holds(label+" has "+text, `document.querySelector('.cm-content[aria-label="'+args[0]+'"]').textContent.includes(args[1])`, label, text)
}

// TestTemplateFromADescription: the editor shows a price, and charges exactly that for a template of a model, which
// one step undoes and redoes. Errors are shown, and cost nothing.
func TestTemplateFromADescription(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	provider := fakellm.New(t, func(fakellm.Asked) fakellm.Reply { return fakellm.Reply{Status: http.StatusBadRequest} })
	app := startPages(t, func(c *app.Config) {
		c.AI = llm.Config{Provider: llm.OpenAI, BaseURL: provider.URL, Key: "the-key", Model: "the-model"}
		c.AIInput, c.AIOutput = 2_500_000, 10_000_000
	})
	maya := openWide(t, app)
	maya.blankTemplate("Letter")
	maya.click("[data-describes]", "Generate with AI")
	maya.fill("prompt", "a label with a name and a number")
	maya.pictures("describe")
	maya.width(1440)
	maya.click("[data-describe-go]", "Show price")
	maya.sees("Price: $0.")
	maya.click("[data-describe-go]", `Generate for \$0\.`)
	maya.holds("the failure is told", `!document.querySelector("[data-describe-error]").hidden && document.querySelector("[data-describe-error]").textContent.includes("AI provider")`)
	maya.pictures("describe-failed")
	maya.width(1440)
	rest := make(chan struct{})
	provider.Say(func(fakellm.Asked) fakellm.Reply {
		return fakellm.Reply{Text: `{"html":"<h1>Label of {{name}}</h1>{{number}}","sampleData":{"name":"Ada","number":12345678901234567890},"options":{"format":"A6"}}`, Input: 100, Output: 50, Rest: rest}
	})
	maya.click("[data-describe-go]", `Generate for \$0\.`)
	// It is seen while the model has not written it all, and is nowhere else yet.
	maya.holds("what is written is seen", `document.querySelector("[data-describe-written]:not([hidden])")?.textContent === "<h1>Label of {{name}}</h1>{{number}}"`)
	maya.inEditor("HTML", "<h1>{{title}}</h1>")
	maya.pictures("describing")
	maya.width(1440)
	close(rest)
	maya.sees("Template generated in")
	maya.inEditor("HTML", "<h1>Label of {{name}}</h1>")
	maya.inEditor("Sample data, JSON", `"number": 12345678901234567890`)
	maya.inEditor("Options, JSON", `"format": "A6"`)
	maya.pictures("described")
	maya.width(1440)

	maya.click("[data-undo] button", "Undo")
	maya.inEditor("HTML", "<h1>{{title}}</h1>")
	maya.inEditor("Sample data, JSON", "A new page")
	maya.inEditor("Options, JSON", `"format": "A4"`)
	if err := maya.page.KeyActions().Press(input.ControlLeft).Type(input.KeyY).Release(input.ControlLeft).Do(); err != nil {
		t.Fatal(err)
	}
	maya.inEditor("HTML", "<h1>Label of {{name}}</h1>")
	maya.inEditor("Sample data, JSON", `"number": 12345678901234567890`)
	maya.inEditor("Options, JSON", `"format": "A6"`)
	maya.forgives("status of 503") // which is the failure that was shown
	maya.calm("the editor")

	account, err := app.Store.AccountByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	calls, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: account.ID})
	if err != nil {
		t.Fatal(err)
	}
	var ends []string
	for _, call := range calls.Items {
		ends = append(ends, call.Operation+" "+call.Status)
	}
	// The latest first: written, failed, and the price, which is free.
	if got := strings.Join(ends, ", "); got != "templates.generate done, templates.generate failed, templates.generate done" {
		t.Errorf("the calls are %s", got)
	}
	if paid := calls.Items[0].Charge; paid == 0 || account.Balance+paid != app.Config.Trial || account.Held != 0 {
		t.Errorf("the balance is %v with %v held after %v", account.Balance, account.Held, paid)
	}
}

// TestTemplatesWithoutAModel: without a provider the box shows that, and sends no request.
func TestTemplatesWithoutAModel(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	_, maya := startWide(t)
	maya.blankTemplate("Letter")
	maya.click("[data-describes]", "Generate with AI")
	maya.sees("No AI provider is configured on this server")
	maya.holds("nothing can be asked", `document.querySelector("[data-describe-go]").disabled`)
	maya.pictures("describe-nobody")
	maya.calm("the editor")
}
