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

// openAI speaks chat completions, as do most servers of models.
type openAI struct {
	endpoint

	model string
	own   bool // it is OpenAI's own service
}

// completionRequest is a request for one completion. Its fields, and those of the
// answer, are described at platform.openai.com/docs/api-reference/chat.
type completionRequest struct {
	Model               string              `json:"model"`
	Messages            []completionMessage `json:"messages"`
	MaxTokens           int                 `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                 `json:"max_completion_tokens,omitempty"`
	Stream              bool                `json:"stream,omitempty"`
	StreamOptions       *streamOptions      `json:"stream_options,omitempty"`
}

type completionMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a string, or a list of completionPart
}

type completionPart struct {
	Type     string         `json:"type"`
	Text     string         `json:"text,omitempty"`
	ImageURL *completionURL `json:"image_url,omitempty"`
}

type completionURL struct {
	URL string `json:"url"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// completion is an answer, or one part of a streamed answer, whose text is in Delta.
type completion struct {
	Choices []struct {
		FinishReason string            `json:"finish_reason"`
		Message      completionContent `json:"message"`
		Delta        completionContent `json:"delta"`
	} `json:"choices"`
	Usage completionUsage `json:"usage"`
	Error *providerError  `json:"error"`
}

type completionContent struct {
	Content string `json:"content"`
}

type completionUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

func newOpenAI(c Config) *openAI {
	header := http.Header{}
	if c.Key != "" {
		header.Set("Authorization", "Bearer "+c.Key)
	}

	return &openAI{
		endpoint: newEndpoint(c.BaseURL, "https://api.openai.com/v1", "/chat/completions", header),
		model:    c.Model, own: c.BaseURL == "",
	}
}

// Respond asks for one completion.
func (m *openAI) Respond(ctx context.Context, c Conversation) (Response, error) {
	request := completionRequest{Model: m.model, Messages: []completionMessage{{Role: "system", Content: c.System}}}
	for i, text := range c.Turns {
		message := completionMessage{Role: roleOf(i), Content: text}
		if i == 0 && len(c.Images) > 0 {
			message.Content = withPictures(text, c.Images)
		}
		request.Messages = append(request.Messages, message)
	}

	if m.own {
		request.MaxCompletionTokens = c.MaxTokens
	} else {
		// The older name is the one that all others know.
		request.MaxTokens = c.MaxTokens
	}

	if hear := listenerOf(ctx); hear != nil {
		return m.hear(ctx, request, hear)
	}
	var response completion
	if err := m.ask(ctx, request, &response); err != nil {
		return Response{}, unavailable(ctx, err)
	}
	if len(response.Choices) == 0 {
		return Response{}, unavailable(ctx, errors.New("it contains no choice"))
	}

	choice := response.Choices[0]
	return Response{
		Text: choice.Message.Content, Truncated: choice.FinishReason == "length", Usage: response.Usage.usage(),
	}, nil
}

// roleOf returns who speaks in a turn.
func roleOf(turn int) string {
	if turn%2 == 0 {
		return "user"
	}
	return "assistant"
}

// withPictures returns a turn with images after its text.
func withPictures(text string, pictures []Image) []completionPart {
	parts := []completionPart{{Type: "text", Text: text}}
	for _, picture := range pictures {
		data := "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(picture.JPEG)
		parts = append(parts, completionPart{Type: "image_url", ImageURL: &completionURL{data}})
	}
	return parts
}

func (u completionUsage) usage() Usage { return usageOf(u.PromptTokens, u.CompletionTokens) }

// hear asks for one completion, and hears it while it is written.
func (m *openAI) hear(ctx context.Context, request completionRequest, hear Listener) (Response, error) {
	request.Stream = true
	request.StreamOptions = &streamOptions{IncludeUsage: true}
	var text strings.Builder
	var reason string
	var used completionUsage

	err := m.stream(ctx, request, func(data []byte) error {
		var part completion
		if err := json.Unmarshal(data, &part); err != nil {
			return err
		}
		if part.Usage != (completionUsage{}) {
			used = part.Usage
		}
		if len(part.Choices) > 0 {
			hear.heard(&text, part.Choices[0].Delta.Content)
			reason = cmp.Or(part.Choices[0].FinishReason, reason)
		}
		return part.Error.asError()
	})

	if errors.Is(err, io.EOF) && reason == "" {
		err = errBroken
	}
	if !errors.Is(err, io.EOF) {
		return Response{}, unavailable(ctx, err)
	}
	return Response{Text: text.String(), Truncated: reason == "length", Usage: used.usage()}, nil
}
