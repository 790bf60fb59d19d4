// Package fakellm is a fake provider of language models for tests: a server on this machine that speaks the protocols
// of both kinds of providers and responds as the test configures.
package fakellm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Asked is a request that the provider has received, whichever kind it was of.
type Asked struct {
	Path, Key, Model, System string
	// Turns are the user's and the model's in turn.
	Turns     []string
	MaxTokens int
	// Images of all turns, in Base64.
	Pictures []string
}

// Reply is the provider's response. The zero value is an empty response.
type Reply struct {
	Text          string
	Input, Output int64 // tokens
	Cut           bool
	// Status other than 0 is a refusal of that status.
	Status int
	// Raw, if set, is sent in place of a response as providers write it.
	Raw string
	// Rest, if set, blocks the second half of a streamed text.
	Rest <-chan struct{}
	// Broken breaks a streamed text off in the middle.
	Broken bool
	// Hang keeps the request waiting until its client leaves.
	Hang bool
}

// Provider is a running fake provider.
type Provider struct {
	URL string

	mu     sync.Mutex
	asked  []Asked
	replay func(Asked) Reply
}

// New starts a provider that ends with its test. answer is called for each request,
// one at a time.
func New(t testing.TB, answer func(Asked) Reply) *Provider {
	t.Helper()
	p := &Provider{replay: answer}
	stop := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chat/completions", func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, stop, completion, completionEvents) })
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, stop, message, messageEvents) })
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		close(stop)
		server.Close()
	})
	p.URL = server.URL
	return p
}

// Say changes the provider's responses.
func (p *Provider) Say(answer func(Asked) Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replay = answer
}

// Asked returns the requests that the provider received.
func (p *Provider) Asked() []Asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Asked{}, p.asked...)
}

// body is a request of either kind.
type body struct {
	Model               string          `json:"model"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Stream              bool            `json:"stream"`
	System              json.RawMessage `json:"system"`
	Messages            []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// textOf reads a content: a string, or blocks that have texts.
func textOf(content json.RawMessage) (text string) {
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(content, &blocks) // anything else has no text
	for _, block := range blocks {
		text += block.Text
	}
	return text
}

// picturesOf reads the images of a content.
func picturesOf(content json.RawMessage) (found []string) {
	var blocks []struct {
		Source struct{ Data string }
		URL    struct{ URL string } `json:"image_url"`
	}
	_ = json.Unmarshal(content, &blocks) // a string has none
	for _, block := range blocks {
		_, data, _ := strings.Cut(block.URL.URL, ";base64,")
		if data += block.Source.Data; data != "" {
			found = append(found, data)
		}
	}
	return found
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request, stop <-chan struct{}, write func(Reply) any, events func(Reply, string, string) ([]object, []object)) {
	var in body
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked := Asked{Path: r.URL.Path, Key: r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"), Model: in.Model, System: textOf(in.System), MaxTokens: in.MaxTokens + in.MaxCompletionTokens}
	for _, m := range in.Messages {
		if m.Role == "system" {
			asked.System = textOf(m.Content)
			continue
		}
		asked.Turns = append(asked.Turns, textOf(m.Content))
		asked.Pictures = append(asked.Pictures, picturesOf(m.Content)...)
	}
	p.mu.Lock()
	p.asked = append(p.asked, asked)
	reply := p.replay(asked)
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case reply.Hang:
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	case reply.Raw != "":
		_, _ = io.WriteString(w, reply.Raw)
	case reply.Status != 0:
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, `{"error":{"type":"fake","message":"refused by the fake provider"}}`)
	case in.Stream:
		stream(w, r, stop, reply, events)
	default:
		out, err := json.Marshal(write(reply))
		if err != nil {
			panic(err) // objects of texts and numbers
		}
		_, _ = w.Write(out) // the client may have left
	}
}

type object = map[string]any

// completion writes a reply as OpenAI does.
func completion(r Reply) any {
	reason := "stop"
	if r.Cut {
		reason = "length"
	}
	return object{
		"id": "fake", "object": "chat.completion", "created": 1, "model": "fake",
		"choices": []object{{"index": 0, "finish_reason": reason, "message": object{"role": "assistant", "content": r.Text}}},
		"usage":   object{"prompt_tokens": r.Input, "completion_tokens": r.Output, "total_tokens": r.Input + r.Output},
	}
}

// message writes a reply as Anthropic does.
func message(r Reply) any {
	reason := "end_turn"
	if r.Cut {
		reason = "max_tokens"
	}
	return object{
		"id": "fake", "type": "message", "role": "assistant", "model": "fake", "stop_reason": reason,
		"content": []object{{"type": "text", "text": r.Text}},
		"usage":   object{"input_tokens": r.Input, "output_tokens": r.Output},
	}
}

// stream writes a reply in two parts.
func stream(w http.ResponseWriter, r *http.Request, stop <-chan struct{}, reply Reply, events func(Reply, string, string) ([]object, []object)) {
	w.Header().Set("Content-Type", "text/event-stream")
	half := len(reply.Text) / 2
	first, rest := events(reply, reply.Text[:half], reply.Text[half:])
	send := func(list []object) {
		for _, event := range list {
			out, err := json.Marshal(event)
			if err != nil {
				panic(err) // objects of texts and numbers
			}
			kind, _ := event["type"].(string)
			_, _ = io.WriteString(w, "event: "+kind+"\ndata: "+string(out)+"\n\n") // the client may have left
		}
		_ = http.NewResponseController(w).Flush() // as above
	}
	send(first)
	if reply.Rest != nil {
		select {
		case <-reply.Rest:
		case <-stop:
		case <-r.Context().Done():
			return
		}
	}
	if !reply.Broken {
		send(rest)
	}
}

// completionEvents are a reply in the parts in which OpenAI streams it.
func completionEvents(r Reply, first, rest string) (before, after []object) {
	chunk := func(text string, reason any) object {
		return object{
			"id": "fake", "object": "chat.completion.chunk", "created": 1, "model": "fake",
			"choices": []object{{"index": 0, "finish_reason": reason, "delta": object{"role": "assistant", "content": text}}},
		}
	}
	whole, _ := completion(r).(object)
	choices, _ := whole["choices"].([]object)
	reason := choices[0]["finish_reason"]
	return []object{chunk(first, nil)}, []object{
		chunk(rest, nil), chunk("", reason), {"id": "fake", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": []object{}, "usage": whole["usage"]},
	}
}

// messageEvents are a reply in the parts in which Anthropic streams it.
func messageEvents(r Reply, first, rest string) (before, after []object) {
	whole, _ := message(r).(object)
	used, _ := whole["usage"].(object)
	begun := object{"id": "fake", "type": "message", "role": "assistant", "model": "fake", "stop_reason": nil, "content": []object{}, "usage": object{"input_tokens": r.Input, "output_tokens": 1}}
	delta := func(text string) object {
		return object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": text}}
	}
	return []object{
			{"type": "message_start", "message": begun}, {"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}}, delta(first),
		}, []object{
			delta(rest), {"type": "content_block_stop", "index": 0},
			{"type": "message_delta", "delta": object{"stop_reason": whole["stop_reason"]}, "usage": object{"output_tokens": used["output_tokens"]}}, {"type": "message_stop"},
		}
}
