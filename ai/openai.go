package ai

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// openAI speaks chat completions, as do most servers of models.
type openAI struct {
	chat  openai.ChatCompletionService
	model string
	own   bool // it is OpenAI's own service
}

func newOpenAI(c Config) *openAI {
	// The service and not the client, which would read the environment.
	options := []option.RequestOption{
		option.WithHTTPClient(newClient()), option.WithMaxRetries(retries), option.WithMaxRetryDelay(maxRetryDelay),
	}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	if c.BaseURL == "" {
		options = append(options, option.WithEnvironmentProduction())
	} else {
		options = append(options, option.WithBaseURL(c.BaseURL))
	}
	return &openAI{chat: openai.NewChatCompletionService(options...), model: c.Model, own: c.BaseURL == ""}
}

// Answer asks for one completion.
func (m *openAI) Answer(ctx context.Context, c Conversation) (Answer, error) {
	messages := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(c.System)}
	for i, text := range c.Turns {
		switch {
		case i == 0 && len(c.Pictures) > 0:
			messages = append(messages, openai.UserMessage(withPictures(text, c.Pictures)))
		case i%2 == 0:
			messages = append(messages, openai.UserMessage(text))
		default:
			messages = append(messages, openai.AssistantMessage(text))
		}
	}
	request := openai.ChatCompletionNewParams{Model: m.model, Messages: messages}
	if m.own {
		request.MaxCompletionTokens = openai.Int(int64(c.MaxTokens))
	} else {
		// The older name is the one that all others know.
		request.MaxTokens = openai.Int(int64(c.MaxTokens))
	}
	if hear := listenerOf(ctx); hear != nil {
		return m.stream(ctx, request, hear)
	}
	response, err := m.chat.New(ctx, request)
	if err != nil {
		return Answer{}, unavailable(ctx, err)
	}
	if response == nil || len(response.Choices) == 0 {
		return Answer{}, unavailable(ctx, errors.New("it has no choice in it"))
	}
	choice := response.Choices[0]
	return Answer{
		Text: choice.Message.Content, Cut: choice.FinishReason == "length",
		Usage: usageOf(response.Usage.PromptTokens, response.Usage.CompletionTokens),
	}, nil
}

// withPictures is a turn with pictures behind its text.
func withPictures(text string, pictures []Picture) []openai.ChatCompletionContentPartUnionParam {
	parts := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(text)}
	for _, picture := range pictures {
		parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
			URL: "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(picture.JPEG),
		}))
	}
	return parts
}

// stream asks for one completion, and hears it.
func (m *openAI) stream(ctx context.Context, request openai.ChatCompletionNewParams, hear Listener) (Answer, error) {
	request.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := m.chat.NewStreaming(ctx, request)
	defer func() { _ = stream.Close() }() // what it said is read, or the request has failed
	var text strings.Builder
	var reason string
	var used openai.CompletionUsage
	for stream.Next() {
		chunk := stream.Current()
		if chunk.Usage.PromptTokens+chunk.Usage.CompletionTokens > 0 {
			used = chunk.Usage
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		hear.heard(&text, chunk.Choices[0].Delta.Content)
		reason = cmp.Or(chunk.Choices[0].FinishReason, reason)
	}
	err := stream.Err()
	if err == nil && reason == "" {
		err = errBroken
	}
	if err != nil {
		return Answer{}, unavailable(ctx, err)
	}
	return Answer{Text: text.String(), Cut: reason == "length", Usage: usageOf(used.PromptTokens, used.CompletionTokens)}, nil
}
