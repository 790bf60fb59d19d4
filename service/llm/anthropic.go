package llm

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// claude speaks Anthropic's messages.
type claude struct {
	endpoint

	model string
}

// messageRequest is a request for one message. Its fields, and those of the answer,
// are described at docs.anthropic.com/en/api/messages.
type messageRequest struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	System    string        `json:"system,omitempty"`
	Messages  []messageTurn `json:"messages"`
	Stream    bool          `json:"stream,omitempty"`
}

type messageTurn struct {
	Role    string         `json:"role"`
	Content []messageBlock `json:"content"`
}

type messageBlock struct {
	Type   string         `json:"type"`
	Text   string         `json:"text,omitempty"`
	Source *messageSource `json:"source,omitempty"`
}

type messageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// message is an answer.
type message struct {
	Type       string         `json:"type"`
	Content    []messageBlock `json:"content"`
	StopReason string         `json:"stop_reason"`
	Usage      messageUsage   `json:"usage"`
}

// messageUsage counts tokens. Streams count them so far, and leave out those that
// did not change.
type messageUsage struct {
	InputTokens              int64 `json:"input_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
}

// messageEvent is one event of a streamed answer.
type messageEvent struct {
	Type    string  `json:"type"`
	Message message `json:"message"`
	Delta   struct {
		Text       string `json:"text"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage messageUsage   `json:"usage"`
	Error *providerError `json:"error"`
}

func newAnthropic(c Config) *claude {
	header := http.Header{}
	header.Set("X-Api-Key", c.Key)
	header.Set("Anthropic-Version", "2023-06-01")
	return &claude{
		endpoint: newEndpoint(c.BaseURL, "https://api.anthropic.com", "/v1/messages", header), model: c.Model,
	}
}

// Respond asks for one message.
func (m *claude) Respond(ctx context.Context, c Conversation) (Response, error) {
	request := messageRequest{Model: m.model, MaxTokens: c.MaxTokens, System: c.System}
	for i, text := range c.Turns {
		blocks := []messageBlock{{Type: "text", Text: text}}
		if i == 0 {
			for _, picture := range c.Images {
				data := base64.StdEncoding.EncodeToString(picture.JPEG)
				blocks = append(blocks, messageBlock{
					Type: "image", Source: &messageSource{Type: "base64", MediaType: "image/jpeg", Data: data},
				})
			}
		}
		request.Messages = append(request.Messages, messageTurn{Role: roleOf(i), Content: blocks})
	}

	var response message
	var err error
	if hear := listenerOf(ctx); hear != nil {
		response, err = m.hear(ctx, request, hear)
	} else {
		err = m.ask(ctx, request, &response)
	}

	if err == nil && response.Type != "message" {
		err = errors.New("it is not a message")
	}
	if err != nil {
		return Response{}, unavailable(ctx, err)
	}
	return response.answer(), nil
}

func (m message) answer() Response {
	var text strings.Builder
	for _, block := range m.Content {
		if block.Type == "text" {
			text.WriteString(block.Text)
		}
	}

	used := m.Usage
	return Response{
		Text: text.String(), Truncated: m.StopReason == "max_tokens",
		Usage: usageOf(used.InputTokens+used.CacheCreationInputTokens+used.CacheReadInputTokens, used.OutputTokens),
	}
}

// hear asks for one message, and hears it while it is written.
func (m *claude) hear(ctx context.Context, request messageRequest, hear Listener) (message, error) {
	request.Stream = true
	var whole message
	var text strings.Builder
	done := false

	err := m.stream(ctx, request, func(data []byte) error {
		var event messageEvent
		if err := json.Unmarshal(data, &event); err != nil {
			return err
		}
		switch event.Type {
		case "message_start":
			whole = event.Message
		case "content_block_delta":
			hear.heard(&text, event.Delta.Text)
		case "message_delta":
			whole.StopReason = event.Delta.StopReason
			whole.Usage.add(event.Usage)
		case "message_stop":
			done = true
		}
		return event.Error.asError()
	})

	if !errors.Is(err, io.EOF) {
		return message{}, err
	}
	if !done {
		return message{}, errBroken
	}
	whole.Content = []messageBlock{{Type: "text", Text: text.String()}}
	return whole, nil
}

// add adopts the counts of a later event.
func (u *messageUsage) add(later messageUsage) {
	u.InputTokens = cmp.Or(later.InputTokens, u.InputTokens)
	u.CacheCreationInputTokens = cmp.Or(later.CacheCreationInputTokens, u.CacheCreationInputTokens)
	u.CacheReadInputTokens = cmp.Or(later.CacheReadInputTokens, u.CacheReadInputTokens)
	u.OutputTokens = cmp.Or(later.OutputTokens, u.OutputTokens)
}
