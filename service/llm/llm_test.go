package llm_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/fakellm"
	"github.com/relaypdf/relaypdf/service/llm"
)

// each runs a test with a model of either kind of provider.
func each(t *testing.T, test func(t *testing.T, m llm.Model, p *fakellm.Provider)) {
	t.Helper()
	for _, kind := range []string{llm.OpenAI, llm.Anthropic} {
		t.Run(kind, func(t *testing.T) {
			p := fakellm.New(t, func(fakellm.Asked) fakellm.Reply { return fakellm.Reply{Text: "hello", Input: 7, Output: 5} })
			m, err := llm.New(llm.Config{Provider: kind, Key: "the-key", BaseURL: p.URL, Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			test(t, m, p)
		})
	}
}

func TestAnswer(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, p *fakellm.Provider) {
		got, err := m.Respond(t.Context(), llm.Conversation{System: "rules", Turns: []string{"one", "two", "three"}, MaxTokens: 900})
		if want := (llm.Response{Text: "hello", Usage: llm.Usage{Input: 7, Output: 5}}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		asked := p.Asked()
		if len(asked) != 1 || asked[0].System != "rules" || strings.Join(asked[0].Turns, " ") != "one two three" || asked[0].MaxTokens != 900 || asked[0].Model != "m" {
			t.Errorf("asked %+v", asked)
		}
		if !strings.Contains(asked[0].Key, "the-key") {
			t.Errorf("sent the key %q", asked[0].Key)
		}
		p.Say(func(fakellm.Asked) fakellm.Reply { return fakellm.Reply{Text: "he", Cut: true} })
		if got, err := m.Respond(t.Context(), llm.Conversation{Turns: []string{"one"}, MaxTokens: 900}); err != nil || !got.Truncated {
			t.Errorf("what was cut off is %+v, %v", got, err)
		}
	})
}

// TestListen: a model that streams its output ends with the same response, and an interrupted stream is an error.
func TestListen(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, p *fakellm.Provider) {
		rest := make(chan struct{})
		var parts []string
		var firsts int
		ctx := llm.Listen(t.Context(), func(part string, first bool) {
			parts = append(parts, part)
			if first {
				firsts++
				close(rest) // The second half comes only when the first was heard.
			}
		})
		p.Say(func(fakellm.Asked) fakellm.Reply {
			return fakellm.Reply{Text: "hello, world", Input: 7, Output: 5, Rest: rest}
		})
		conversation := llm.Conversation{System: "rules", Turns: []string{"one"}, MaxTokens: 900}
		got, err := m.Respond(ctx, conversation)
		if want := (llm.Response{Text: "hello, world", Usage: llm.Usage{Input: 7, Output: 5}}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if len(parts) != 2 || strings.Join(parts, "") != "hello, world" || firsts != 1 {
			t.Errorf("heard %q, %d of them first", parts, firsts)
		}
		if asked := p.Asked(); len(asked) != 1 || asked[0].System != "rules" || asked[0].MaxTokens != 900 {
			t.Errorf("asked %+v", asked)
		}
		heard := llm.Listen(t.Context(), func(string, bool) {})
		p.Say(func(fakellm.Asked) fakellm.Reply { return fakellm.Reply{Text: "he", Cut: true} })
		if got, err := m.Respond(heard, conversation); err != nil || !got.Truncated || got.Text != "he" {
			t.Errorf("what was cut off is %+v, %v", got, err)
		}
		for _, reply := range []fakellm.Reply{{Text: "broken", Broken: true}, {Status: http.StatusUnauthorized}, {Raw: "<html>"}, {Raw: "{}"}, {Raw: "data: " + strings.Repeat("x", 5<<20) + "\n\n"}} {
			p.Say(func(fakellm.Asked) fakellm.Reply { return reply })
			var unavailable *llm.UnavailableError
			if got, err := m.Respond(heard, conversation); !errors.As(err, &unavailable) || unavailable.TimedOut {
				t.Errorf("%.40v: got %+v, %v", reply, got, err)
			}
		}
		p.Say(func(fakellm.Asked) fakellm.Reply { return fakellm.Reply{Text: "later", Rest: make(chan struct{})} })
		late, cancel := context.WithTimeout(heard, 200*time.Millisecond)
		defer cancel()
		var unavailable *llm.UnavailableError
		if _, err := m.Respond(late, conversation); !errors.As(err, &unavailable) || !unavailable.TimedOut {
			t.Errorf("a provider that stops in the middle: got %v", err)
		}
	})
}

func TestUnavailable(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, p *fakellm.Provider) {
		ask := func(ctx context.Context) error {
			_, err := m.Respond(ctx, llm.Conversation{Turns: []string{"one"}, MaxTokens: 900})
			return err
		}
		for _, reply := range []fakellm.Reply{
			{Status: http.StatusUnauthorized}, {Status: http.StatusTooManyRequests}, {Status: http.StatusInternalServerError},
			{Raw: "<html>"}, {Raw: "{}"}, {Raw: `{"x":"` + strings.Repeat("x", 5<<20) + `"}`},
		} {
			p.Say(func(fakellm.Asked) fakellm.Reply { return reply })
			var unavailable *llm.UnavailableError
			if err := ask(t.Context()); !errors.As(err, &unavailable) || unavailable.TimedOut || strings.Contains(err.Error(), "the-key") {
				t.Errorf("%.40v: got %v", reply, err)
			}
		}
		p.Say(func(fakellm.Asked) fakellm.Reply { return fakellm.Reply{Hang: true} })
		late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var unavailable *llm.UnavailableError
		if err := ask(late); !errors.As(err, &unavailable) || !unavailable.TimedOut {
			t.Errorf("a provider that hangs: got %v", err)
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		if err := ask(left); !errors.Is(err, context.Canceled) || errors.As(err, &unavailable) && unavailable.Cause == nil {
			t.Errorf("a caller that left: got %v", err)
		}
	})
}

// TestRefusalThatPassesIsRetriedOnce: a busy provider is asked twice, one that refuses the request permanently
// once, and its message is in the error.
func TestRefusalThatPassesIsRetriedOnce(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, p *fakellm.Provider) {
		for status, want := range map[int]int{http.StatusTooManyRequests: 2, http.StatusBadGateway: 2, http.StatusBadRequest: 1} {
			before := len(p.Asked())
			p.Say(func(fakellm.Asked) fakellm.Reply { return fakellm.Reply{Status: status} })
			if _, err := m.Respond(t.Context(), llm.Conversation{Turns: []string{"one"}, MaxTokens: 900}); err == nil || !strings.Contains(err.Error(), "refused by the fake provider") {
				t.Errorf("%d: got %v", status, err)
			}
			if got := len(p.Asked()) - before; got != want {
				t.Errorf("%d: asked %d times, want %d", status, got, want)
			}
		}
		first := true
		p.Say(func(fakellm.Asked) fakellm.Reply {
			if first {
				first = false
				return fakellm.Reply{Status: http.StatusServiceUnavailable}
			}
			return fakellm.Reply{Text: "hello"}
		})
		if got, err := m.Respond(t.Context(), llm.Conversation{Turns: []string{"one"}, MaxTokens: 900}); err != nil || got.Text != "hello" {
			t.Errorf("a provider that was busy: got %+v, %v", got, err)
		}
	})
}

// TestErrorWithinAStream: a provider that fails after its first words gave no answer.
func TestErrorWithinAStream(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, p *fakellm.Provider) {
		p.Say(func(fakellm.Asked) fakellm.Reply {
			return fakellm.Reply{Raw: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"}
		})
		ctx := llm.Listen(t.Context(), func(string, bool) {})
		if got, err := m.Respond(ctx, llm.Conversation{Turns: []string{"one"}, MaxTokens: 900}); err == nil || !strings.Contains(err.Error(), "Overloaded") {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestNoKeyTravels: a provider's redirect gets neither the key nor the question.
func TestNoKeyTravels(t *testing.T) {
	for _, kind := range []string{llm.OpenAI, llm.Anthropic} {
		other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s: %s with %v", kind, r.URL, r.Header) }))
		first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
		m, err := llm.New(llm.Config{Provider: kind, Key: "the-key", BaseURL: first.URL, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Respond(t.Context(), llm.Conversation{Turns: []string{"one"}, MaxTokens: 900}); err == nil {
			t.Errorf("%s: a redirect is an answer", kind)
		}
		first.Close()
		other.Close()
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"html":"<p>","sampleData":{"a":1},"options":{}}`:       "",
		"```json\n{\"html\":\"<p>\",\"sampleData\":null}\n```":   "",
		"Here it is: {\"html\":\"{{#if a}}}\"} Have a nice day.": "",
		`no`:                             "no JSON object",
		`}{`:                             "no JSON object",
		`{"html":`:                       "no JSON object",
		`{"html":}`:                      "not valid JSON",
		`{"html":" "}`:                   "html is missing",
		`{"html":"a\u0000"}`:             "NUL",
		`{"html":"x","sampleData":[1]}`:  "sampleData is not an object",
		`{"html":"x","options":"A4"}`:    "options is not an object",
		`{"html":7}`:                     "not valid JSON",
		strings.Repeat(`{"html":`, 9999): "no JSON object",
	} {
		d, fault := llm.Response{Text: text}.Read()
		if want == "" && (fault != "" || d.HTML == "" || len(d.Options) < 2 || len(d.SampleData) < 2) || !strings.Contains(fault, want) {
			t.Errorf("%.60q: got %+v and %q, want %q", text, d, fault, want)
		}
	}
}

// TestUsageBounds: the expected usage of a conversation is within its maximum, and a repair is within that too.
func TestUsageBounds(t *testing.T) {
	c := llm.Begin(llm.TemplateRequest{Prompt: strings.Repeat("é", 5000), Sample: []byte(`{"a":1}`), Helpers: []string{"qr"}, OptionNames: []string{"format"}})
	c.MaxTokens = 1000
	maximum, usual := c.MaxUsage(), c.ExpectedUsage(12<<10)
	if usual.Input >= maximum.Input || usual.Output > maximum.Output || usual.Output != 1000 {
		t.Errorf("expected %+v of %+v", usual, maximum)
	}
	var faults []string
	for range 1000 {
		faults = append(faults, strings.Repeat("x\xff", 5000))
	}
	again := c.Repair("answer", faults)
	size := int64(len(c.System))
	for _, turn := range again.Turns {
		size += int64(len(turn))
	}
	if first := int64(len(c.System) + len(c.Turns[0])); first+size > maximum.Input || len(c.Turns) != 1 || len(again.Turns) != 3 {
		t.Errorf("two questions have %d bytes, %+v is the most", first+size, maximum)
	}
}
