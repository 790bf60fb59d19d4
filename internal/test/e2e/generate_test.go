package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/fakellm"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestGenerateWithSettings: the whole service, with a provider in its settings, quotes a price, and charges exactly
// that for a template.
func TestGenerateWithSettings(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		kind := llm.OpenAI
		if strings.HasPrefix(db.URL, "postgres") {
			kind = llm.Anthropic
		}
		provider := fakellm.New(t, func(a fakellm.Asked) fakellm.Reply {
			return fakellm.Reply{Text: `{"html":"<p>{{name}}</p>","sampleData":{"name":"Ada"},"options":{"format":"A6"}}`, Input: 100, Output: 50}
		})
		c := newCrashBench(t, db)
		c.env = append(c.env, "RELAYPDF_AI_PROVIDER="+kind, "RELAYPDF_AI_BASE_URL="+provider.URL, "RELAYPDF_AI_API_KEY=the-key", "RELAYPDF_AI_MODEL=the-model",
			"RELAYPDF_AI_PRICE_INPUT=2.50", "RELAYPDF_AI_PRICE_OUTPUT=10")
		server := c.start("none")
		defer server.end(syscall.SIGTERM)
		ctx, cancel := context.WithTimeout(t.Context(), crashPatience)
		defer cancel()
		ask := func(body string) (answer struct {
			HTML, QuoteID      string
			AmountMicrodollars int64
		}) {
			t.Helper()
			response, err := c.send(ctx, server.url+"/v1/templates/generate", "", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err == nil && response.StatusCode == http.StatusOK {
				err = json.Unmarshal(text, &answer)
			}
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s, %v", body, response.StatusCode, text, err)
			}
			return answer
		}
		quote := ask(`{"prompt":"a label","quote":true}`)
		if made := ask(`{"prompt":"a label","quoteId":"` + quote.QuoteID + `"}`); made.HTML != "<p>{{name}}</p>" {
			t.Errorf("made %+v", made)
		}
		ask(`{"prompt":"a label"}`)
		account, err := c.store.Account(ctx, c.account.ID)
		want := 5*credit.Dollar - credit.Amount(quote.AmountMicrodollars) - 4000 - 8*(100*5/2+50*10)
		if err != nil || account.Balance != want || account.Held != 0 {
			t.Errorf("the balance is %v with %v held, %v; want %v after a quote of %d", account.Balance, account.Held, err, want, quote.AmountMicrodollars)
		}
		for _, asked := range provider.Asked() {
			if !strings.Contains(asked.Key, "the-key") || asked.Model != "the-model" || asked.MaxTokens != app.AIMaxTokens {
				t.Errorf("the provider was asked %+v", asked)
			}
		}
	})
}
