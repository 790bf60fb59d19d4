package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/fakellm"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

const generatePath = "/v1/templates/generate"

// generatePatience limits steps that take seconds on an idle machine.
const generatePatience = 5 * time.Minute

// generateLab is a whole server with a model provider that responds as configured.
type generateLab struct {
	*apitest.Server
	t        *testing.T
	provider *fakellm.Provider
}

// Prices of a million tokens, in the labs: 3 and 15 dollars.
const (
	inputPrice  = 3 * credit.Dollar
	outputPrice = 15 * credit.Dollar
	labTokens   = 2000 // that one response may have
)

// says returns a provider's response with a template.
func says(html string, sample, options object, input, output int64) fakellm.Reply {
	text, err := json.Marshal(object{"html": html, "sampleData": sample, "options": options})
	if err != nil {
		panic(err)
	}
	return fakellm.Reply{Text: string(text), Input: input, Output: output}
}

// always answers everything alike.
func always(r fakellm.Reply) func(fakellm.Asked) fakellm.Reply {
	return func(fakellm.Asked) fakellm.Reply { return r }
}

var good = says("<h1>Bill for {{customer.name}}</h1>{{#each items}}<p>{{name}} {{formatCurrency price \"EUR\"}}</p>{{/each}}",
	object{"customer": object{"name": "Ada"}, "items": []object{{"name": "Pen", "price": 1.5}}}, object{"format": "A5", "margin": object{"top": "10mm"}}, 1000, 500)

func newGenerateLab(t *testing.T, db storetest.DB, kind string, timeout time.Duration) generateLab {
	t.Helper()
	provider := fakellm.New(t, always(good))
	s := toolServerOn(t, &db, func(cfg *apitest.Settings) { cfg.AI = generator(t, kind, provider, timeout) })
	s.HTTP.Timeout = generatePatience
	return generateLab{s, t, provider}
}

// eachGenerateLab runs a test on both databases, each with another kind of provider.
func eachGenerateLab(t *testing.T, test func(l generateLab)) {
	t.Helper()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		kind := llm.OpenAI
		if strings.HasPrefix(db.URL, "postgres") {
			kind = llm.Anthropic
		}
		test(newGenerateLab(t, db, kind, generatePatience))
	})
}

func (l generateLab) ask(body object, header ...string) apitest.Response {
	l.t.Helper()
	return l.askAt(generatePath, body, header...)
}

func (l generateLab) askAt(path string, body object, header ...string) apitest.Response {
	l.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	q := apitest.Request{Path: path, Body: string(text), Header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	return l.Send(l.t, q)
}

// quote asks for a price.
func (l generateLab) quote(body object) (id string, amount int64) {
	l.t.Helper()
	body["quote"] = true
	answer := l.ask(body).OK(l.t)
	delete(body, "quote")
	got := decode[operation.GeneratedTemplate](l.t, answer)
	if got.QuoteID == "" || got.AmountMicrodollars == nil || got.ExpiresAt == nil || got.HTML != "" || answer.Header.Get("x-service-charged-microdollars") != "0" {
		l.t.Fatalf("the quote is %s", answer.Body)
	}
	if want := l.Clock.Now().Add(15 * time.Minute); !got.ExpiresAt.Equal(want) {
		l.t.Errorf("the quote ends at %v, want %v", got.ExpiresAt, want)
	}
	return got.QuoteID, int64(*got.AmountMicrodollars)
}

func (l generateLab) refusedField(r apitest.Response, field, words string) {
	l.t.Helper()
	got := r.Refused(l.t, wire.InvalidRequest)
	if len(got.Details) != 1 || got.Details[0].Field != field || !strings.Contains(got.Message, words) {
		l.t.Errorf("refused with %+v, want %s … %s", got, field, words)
	}
}

func charged(t *testing.T, r apitest.Response) int64 {
	t.Helper()
	n, err := strconv.ParseInt(r.Header.Get("x-service-charged-microdollars"), 10, 64)
	if err != nil {
		t.Fatalf("charged: %v", err)
	}
	return n
}

// tokensCost returns the charge for tokens at the prices of the labs.
func tokensCost(input, output int64) int64 { return 8 * (3*input + 15*output) }

// TestGenerate has a template written, pays for exactly that, and makes a PDF of it.
func TestGenerate(t *testing.T) {
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		answer := l.ask(object{"prompt": "a bill with a table", "options": object{"landscape": true, "margin": object{"left": "5mm"}}}).OK(l.t)
		want := 2000 + 2000 + tokensCost(1000, 500)
		if got := charged(l.t, answer); got != want || answer.Header.Get("Content-Type") != "application/json" {
			l.t.Errorf("charged %d for %s, want %d", got, answer.Header.Get("Content-Type"), want)
		}
		made := decode[operation.GeneratedTemplate](l.t, answer)
		if !strings.Contains(made.HTML, "Bill for {{customer.name}}") || !strings.Contains(string(made.SampleData), `"Ada"`) ||
			string(made.Options) != `{"format":"A5","landscape":true,"margin":{"left":"5mm","top":"10mm"}}` {
			l.t.Errorf("made %s", answer.Body)
		}
		asked := l.provider.Asked()
		if len(asked) != 1 || !strings.Contains(asked[0].Key, "provider-key") || asked[0].Model != "some-model" || asked[0].MaxTokens != labTokens ||
			!strings.Contains(asked[0].System, "formatCurrency") || len(asked[0].Turns) != 1 || !strings.Contains(asked[0].Turns[0], "a bill with a table") ||
			!strings.Contains(asked[0].Turns[0], `"landscape":true`) {
			l.t.Errorf("the provider was asked %+v", asked)
		}
		var ledger []string
		for _, line := range l.Effects(l.t) {
			if strings.HasPrefix(line, "ledger") || strings.HasPrefix(line, "call") {
				ledger = append(ledger, line)
			}
		}
		held := l.held(ledger)
		if maximum := 4000 + tokensCost(0, 2*labTokens); held <= maximum || held > 2*maximum {
			l.t.Errorf("held %d, want somewhat more than %d", held, maximum)
		}
		wantLedger := []string{
			fmt.Sprintf("call templates.generate done charged %d", want),
			fmt.Sprintf("ledger hold wallet -%d", held), fmt.Sprintf("ledger hold held %d", held),
			fmt.Sprintf("ledger settle held -%d", held), fmt.Sprintf("ledger settle revenue %d", want), fmt.Sprintf("ledger settle wallet %d", held-want),
		}
		if !slices.Equal(ledger, wantLedger) {
			l.t.Errorf("the ledger has %q, want %q", ledger, wantLedger)
		}
		// The result is a valid template, and data of the request stays unchanged.
		if got := l.Send(l.t, apitest.Request{Path: "/v1/templates", Body: `{"name":"made",` + answer.Body[1:]}); got.Status != http.StatusCreated {
			l.t.Errorf("what was made is refused: %s", got.Body)
		}
		own := decode[operation.GeneratedTemplate](l.t, l.ask(object{"prompt": "a bill", "sampleData": object{"customer": object{"name": "Eve"}}}).OK(l.t))
		if string(own.SampleData) != `{"customer":{"name":"Eve"}}` || !strings.Contains(l.provider.Asked()[1].Turns[0], "Eve") {
			l.t.Errorf("with own data: %s", own.SampleData)
		}
	})
}

// held reads the one hold of a ledger.
func (l generateLab) held(ledger []string) (held int64) {
	l.t.Helper()
	for _, line := range ledger {
		if text, ok := strings.CutPrefix(line, "ledger hold held "); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || held != 0 {
				l.t.Fatalf("holds in %q", ledger)
			}
			held = n
		}
	}
	return held
}

// TestGenerateQuote: a call pays exactly the quoted price, once, for the quoted request only.
func TestGenerateQuote(t *testing.T) {
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		start, _ := l.Balance(l.t)
		body := object{"prompt": "a bill", "sampleData": object{"a": 1}, "options": object{"format": "A5"}}
		id, amount := l.quote(body)
		if balance, held := l.Balance(l.t); balance != start || held != 0 || len(l.provider.Asked()) != 0 {
			l.t.Errorf("a quote took %d, held %d, asked %d", start-balance, held, len(l.provider.Asked()))
		}
		if amount < 4000 || amount > 4000+tokensCost(20_000, labTokens) {
			l.t.Errorf("quoted %d", amount)
		}
		body["quoteId"] = id
		for name, other := range map[string]object{
			"prompt":  {"prompt": "another bill", "sampleData": object{"a": 1}, "options": object{"format": "A5"}},
			"data":    {"prompt": "a bill", "sampleData": object{"a": 2}, "options": object{"format": "A5"}},
			"no data": {"prompt": "a bill", "options": object{"format": "A5"}},
			"options": {"prompt": "a bill", "sampleData": object{"a": 1}, "options": object{"format": "A4"}},
		} {
			other["quoteId"] = id
			if got := l.ask(other).Refused(l.t, wire.InvalidRequest); got.Details[0].Field != "quoteId" {
				l.t.Errorf("with another %s: %+v", name, got)
			}
		}
		_, _, secret := l.NewAccount(l.t, "other@example.com")
		l.refusedField(l.ask(body, "Authorization", "Bearer "+secret), "quoteId", "not a quote of this account")
		l.ask(body, "X-Service-Max-Charge-Microdollars", strconv.FormatInt(amount-1, 10)).Refused(l.t, wire.PaymentRequired)
		// A call that fails gives it back.
		l.provider.Say(always(fakellm.Reply{Status: http.StatusBadRequest}))
		l.ask(body).Refused(l.t, wire.AIUnavailable)
		if balance, held := l.Balance(l.t); balance != start || held != 0 {
			l.t.Errorf("a failure took %d, held %d", start-balance, held)
		}
		l.provider.Say(always(good))
		first := l.ask(body, "Idempotency-Key", "k").OK(l.t)
		if got := charged(l.t, first); got != amount {
			l.t.Errorf("charged %d, want the quote %d", got, amount)
		}
		if balance, held := l.Balance(l.t); start-balance != amount || held != 0 {
			l.t.Errorf("took %d, held %d, want %d", start-balance, held, amount)
		}
		again := l.ask(body, "Idempotency-Key", "k").OK(l.t)
		if again.Body != first.Body || again.Header.Get("Idempotent-Replayed") != "true" {
			l.t.Errorf("the repetition is %s, replayed %q", again.Body, again.Header.Get("Idempotent-Replayed"))
		}
		l.refusedField(l.ask(body), "quoteId", "was already used")
		delete(body, "quoteId")
		late, _ := l.quote(body)
		body["quoteId"] = late
		l.Clock.Advance(store.QuoteLifetime)
		l.refusedField(l.ask(body), "quoteId", "has expired")
		body["quoteId"] = "quote_nobody"
		l.refusedField(l.ask(body), "quoteId", "not a quote of this account")
		body["quote"] = true
		l.refusedField(l.ask(body), "quoteId", "is mutually exclusive with quote, which requests a new one")
	})
}

// TestGenerateQuoteOnce lets calls race for one quote.
func TestGenerateQuoteOnce(t *testing.T) {
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		body := object{"prompt": "a bill"}
		id, amount := l.quote(body)
		body["quoteId"] = id
		start, _ := l.Balance(l.t)
		answers := make(chan apitest.Response)
		for range 4 {
			go func() { answers <- l.ask(body) }()
		}
		won := 0
		for range 4 {
			answer := <-answers
			if answer.Status == http.StatusOK {
				won++
				continue
			}
			l.refusedField(answer, "quoteId", "was already used")
		}
		if balance, _ := l.Balance(l.t); won != 1 || start-balance != amount {
			l.t.Errorf("%d calls had the quote, and %d was taken, want 1 and %d", won, start-balance, amount)
		}
	})
}

// TestGenerateRepair sends the errors to the model, once, and charges both answers.
func TestGenerateRepair(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		broken := says("<p>\n{{#each items}}{{formatDat when}}</p>", object{}, object{}, 100, 10)
		for name, first := range map[string]fakellm.Reply{
			"did you mean":   says("<p>{{formatDat when}}</p>", object{}, object{}, 100, 10),
			"line":           broken,
			"JSON":           {Text: "Here is your template: {html", Input: 100, Output: 10},
			"no JSON":        {Text: "I cannot do that.", Input: 100, Output: 10},
			"empty":          {Input: 100, Output: 10},
			"cut off":        {Text: `{"html":"<p>`, Cut: true, Input: 100, Output: 10},
			"options.scale":  says("<p>x</p>", object{}, object{"scale": 9}, 100, 10),
			"self-contained": says(`<img src="https://example.com/{{name}}">`, object{}, object{}, 100, 10),
			"2 s":            says(`{{#each (range 1 9999)}}{{#each (range 1 9999)}}{{this}}{{/each}}{{/each}}`, object{}, object{}, 100, 10),
		} {
			before := len(l.provider.Asked())
			l.provider.Say(func(a fakellm.Asked) fakellm.Reply {
				if len(a.Turns) == 1 {
					return first
				}
				return good
			})
			answer := l.ask(object{"prompt": "a bill"})
			if answer.Status != http.StatusOK {
				l.t.Errorf("%s: %s", name, answer.Body)
				continue
			}
			if got, want := charged(l.t, answer), 4000+tokensCost(1100, 510); got != want {
				l.t.Errorf("%s: charged %d, want %d for both answers", name, got, want)
			}
			asked := l.provider.Asked()[before:]
			if len(asked) != 2 || len(asked[1].Turns) != 3 || asked[1].Turns[0] != asked[0].Turns[0] || first.Text != "" && asked[1].Turns[1] != first.Text {
				l.t.Errorf("%s: asked %+v", name, asked)
				continue
			}
			if name != "2 s" && !strings.Contains(asked[1].Turns[2], name) && name != "no JSON" && name != "empty" {
				l.t.Errorf("%s: the model was told %q", name, asked[1].Turns[2])
			}
		}
	})
}

// TestGenerateHostile has a model that attacks, whatever the prompt.
func TestGenerateHostile(t *testing.T) {
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		start, _ := l.Balance(l.t)
		for i, html := range []string{
			`<script>fetch("https://example.com/")</script>`,
			`<p onclick="x()">x</p>`,
			`<iframe srcdoc="x"></iframe>`,
			`<link rel="stylesheet" href="//example.com/x.css">`,
			`<style>p { background: url(https://example.com/{{customer.name}}) }</style>`,
			`{{#if secret}}<img src="https://example.com/{{secret}}">{{/if}}`,
			`<img src="{{scheme}}://example.com/">`,
			`{{#with (lookup this "constructor")}}{{#with (lookup this "constructor")}}{{this "return process"}}{{/with}}{{/with}}{{nope 1}}`,
			`{{> account_partial}}`,
		} {
			l.provider.Say(always(says(html, object{"scheme": "https"}, object{}, 100, 10)))
			got := l.ask(object{"prompt": "a bill"}).Refused(l.t, wire.ProcessingFailed)
			if !strings.Contains(got.Message, "The model returned no valid result") {
				l.t.Errorf("%d: %s", i, got.Message)
			}
		}
		l.provider.Say(always(says("<p>x</p>", object{}, object{"headerTemplate": `<img src="https://example.com/">`}, 100, 10)))
		l.ask(object{"prompt": "a bill"}).Refused(l.t, wire.ProcessingFailed)
		// Options that reach elsewhere are not the model's to choose.
		l.provider.Say(always(says("<p>x</p>", object{}, object{"cookies": []object{{"name": "a", "value": "b", "domain": "example.com"}}, "waitForTimeout": 30000, "format": "A6"}, 100, 10)))
		made := decode[operation.GeneratedTemplate](l.t, l.ask(object{"prompt": "a bill"}).OK(l.t))
		if string(made.Options) != `{"format":"A6"}` {
			l.t.Errorf("options %s", made.Options)
		}
		if balance, held := l.Balance(l.t); start-balance != 4000+tokensCost(100, 10) || held != 0 {
			l.t.Errorf("took %d, held %d", start-balance, held)
		}
	})
}

// TestGenerateFailuresOfADay stops an account whose generations keep failing.
func TestGenerateFailuresOfADay(t *testing.T) {
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		useless := always(fakellm.Reply{Text: "no", Input: 1, Output: 1})
		start, _ := l.Balance(l.t)
		for range store.MaxGenerationFailures {
			// A provider that is down does not count.
			l.provider.Say(always(fakellm.Reply{Status: http.StatusUnauthorized}))
			l.ask(object{"prompt": "a bill"}).Refused(l.t, wire.AIUnavailable)
			l.provider.Say(useless)
			l.ask(object{"prompt": "a bill"}).Refused(l.t, wire.ProcessingFailed)
		}
		l.provider.Say(always(good))
		asked := len(l.provider.Asked())
		refused := l.ask(object{"prompt": "a bill"})
		if got := refused.Refused(l.t, wire.RateLimited); got.Message != "Failed AI request limit reached: 20 of 20 per day. It resets at midnight UTC, in 12 hours." || refused.Header.Get("Retry-After") != strconv.Itoa(12*60*60) {
			l.t.Errorf("refused with %+v, Retry-After %s", got, refused.Header.Get("Retry-After"))
		}
		if balance, held := l.Balance(l.t); balance != start || held != 0 || len(l.provider.Asked()) != asked {
			l.t.Errorf("failures took %d, held %d", start-balance, held)
		}
		_, _, secret := l.NewAccount(l.t, "other@example.com")
		l.ask(object{"prompt": "a bill"}, "Authorization", "Bearer "+secret).OK(l.t)
		l.Clock.Advance(12 * time.Hour)
		l.ask(object{"prompt": "a bill"}).OK(l.t)
	})
}

// TestGenerateUnavailable has providers that are down in every way.
func TestGenerateUnavailable(t *testing.T) {
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		effects := len(l.Effects(l.t))
		for name, reply := range map[string]fakellm.Reply{
			"refuses the key": {Status: http.StatusUnauthorized},
			"unknown model":   {Status: http.StatusNotFound},
			"redirects":       {Status: http.StatusTemporaryRedirect},
			"garbage":         {Raw: "<html>Bad gateway</html>"},
			"another's JSON":  {Raw: `{"hello":"world"}`},
			"endless":         {Raw: `{"id":"` + strings.Repeat("x", 5<<20) + `"}`},
		} {
			l.provider.Say(always(reply))
			answer := l.ask(object{"prompt": "a bill"})
			if got := answer.Refused(l.t, wire.AIUnavailable); answer.Header.Get("Retry-After") == "" || strings.Contains(got.Message, "fake") {
				l.t.Errorf("%s: %+v", name, got)
			}
		}
		start, held := l.Balance(l.t)
		if start != int64(apitest.Trial) || held != 0 {
			l.t.Errorf("after failures the balance is %d, held %d", start, held)
		}
		for _, line := range l.Effects(l.t)[effects:] {
			if strings.Contains(line, "done") || strings.Contains(line, "revenue") {
				l.t.Errorf("failures left %q", line)
			}
		}
		if strings.Contains(l.Log.String(), "provider-key") {
			l.t.Error("the provider's key is in the log")
		}
	})
}

// TestGenerateSlow gives up on a provider that hangs, and counts that.
func TestGenerateSlow(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := newGenerateLab(t, db, llm.OpenAI, 500*time.Millisecond)
		l.provider.Say(always(fakellm.Reply{Hang: true}))
		got := l.ask(object{"prompt": "a bill"}).Refused(t, wire.AIUnavailable)
		if !strings.Contains(got.Message, "timed out") {
			t.Errorf("refused with %q", got.Message)
		}
		if balance, held := l.Balance(t); balance != int64(apitest.Trial) || held != 0 {
			t.Errorf("the balance is %d, held %d", balance, held)
		}
	})
}

// TestGenerateWithoutProvider refuses both a quote and a template.
func TestGenerateWithoutProvider(t *testing.T) {
	t.Parallel()
	s := toolServer(t, func(cfg *apitest.Settings) { cfg.AI = nil })
	for _, body := range []string{`{"prompt":"x"}`, `{"prompt":"x","quote":true}`, `{"prompt":"x","quoteId":"q"}`, `{"prompt":"x","response":"async"}`} {
		if got := s.Send(t, apitest.Request{Path: generatePath, Body: body}).Refused(t, wire.AIUnavailable); !strings.Contains(got.Message, "no AI provider") {
			t.Errorf("%s: %s", body, got.Message)
		}
	}
	if got := s.Effects(t); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

// TestGenerateNeverAboveTheHold has a provider that counts more than can be.
func TestGenerateNeverAboveTheHold(t *testing.T) {
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		much := good
		much.Input, much.Output = 1<<40, 1<<62
		l.provider.Say(always(much))
		answer := l.ask(object{"prompt": "a bill"}).OK(l.t)
		got := charged(l.t, answer)
		if held := l.held(l.Effects(l.t)); got != held {
			l.t.Errorf("charged %d, want what was held, %d", got, held)
		}
		much.Input, much.Output = -5, -5
		l.provider.Say(always(much))
		if got := charged(l.t, l.ask(object{"prompt": "a bill"}).OK(l.t)); got != 4000 {
			l.t.Errorf("charged %d for tokens below zero, want 4000", got)
		}
	})
}

// TestGenerateLikeAnyRow: keys that may not, faults, an empty wallet, jobs, addresses.
func TestGenerateLikeAnyRow(t *testing.T) {
	t.Parallel()
	eachGenerateLab(t, func(l generateLab) {
		_, limited := l.NewKey(l.t, store.NewKey{AccountID: l.Account.ID, Name: "only PDFs", Operations: []string{"pdf.create"}})
		l.ask(object{"prompt": "a bill"}, "Authorization", "Bearer "+limited).Refused(l.t, wire.Unauthorized)
		l.ask(object{"prompt": "a bill", "quote": true}, "Authorization", "Bearer "+limited).Refused(l.t, wire.Unauthorized)
		l.ask(object{"prompt": "a bill"}, "Authorization", "Bearer nope").Refused(l.t, wire.Unauthorized)
		l.refusedField(l.ask(object{"prompt": "  "}), "prompt", "must describe")
		l.refusedField(l.ask(object{}), "prompt", "required")
		l.refusedField(l.ask(object{"prompt": "x", "sampleData": object{"x": strings.Repeat("x", 64<<10)}}), "sampleData", "at most")
		l.refusedField(l.ask(object{"prompt": "x", "options": object{"scale": 9}}), "options.scale", "0.1")
		l.ask(object{"prompt": "x"}, "X-Service-Max-Charge-Microdollars", "5000").Refused(l.t, wire.PaymentRequired)
		if len(l.provider.Asked()) != 0 {
			l.t.Error("a refused request reached the provider")
		}
		l.Work(l.t)
		job := l.Enqueue(l.t, apitest.Request{Path: generatePath, Body: `{"prompt":"a bill","response":"async"}`})
		done := l.Await(l.t, job.ID)
		if done.Status != "completed" || !strings.Contains(l.Content(l.t, job.ID), "Bill for") {
			l.t.Errorf("the job is %+v", done)
		}
		if balance, held := l.Balance(l.t); int64(apitest.Trial)-balance != 4000+tokensCost(1000, 500) || held != 0 {
			l.t.Errorf("the job took %d, held %d", int64(apitest.Trial)-balance, held)
		}
		before, _ := l.Balance(l.t)
		quote, amount := l.quote(object{"prompt": "a bill"})
		job = l.Enqueue(l.t, apitest.Request{Path: generatePath, Body: `{"prompt":"a bill","response":"async","quoteId":"` + quote + `"}`})
		if done := l.Await(l.t, job.ID); done.Status != "completed" {
			l.t.Errorf("the job with a quote is %+v", done)
		}
		if balance, held := l.Balance(l.t); before-balance != amount || held != 0 {
			l.t.Errorf("the job with a quote took %d, held %d, want %d", before-balance, held, amount)
		}
		address := l.ask(object{"prompt": "a bill", "response": "url", "filename": "bill"}).OK(l.t)
		if !strings.Contains(address.Body, `"filename":"bill.json"`) {
			l.t.Errorf("as an address: %s", address.Body)
		}
	})
}
