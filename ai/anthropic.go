package ai

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// claude speaks Anthropic's messages.
type claude struct {
	messages anthropic.MessageService
	model    string
}

func newAnthropic(c Config) *claude {
	// The service and not the client, which would read the environment.
	options := []option.RequestOption{option.WithHTTPClient(newClient()), option.WithMaxRetries(retries), option.WithAPIKey(c.Key)}
	if c.BaseURL == "" {
		options = append(options, option.WithEnvironmentProduction())
	} else {
		options = append(options, option.WithBaseURL(c.BaseURL))
	}
	return &claude{messages: anthropic.NewMessageService(options...), model: c.Model}
}

// Answer asks for one message.
func (m *claude) Answer(ctx context.Context, c Conversation) (Answer, error) {
	request := anthropic.MessageNewParams{
		Model: m.model, MaxTokens: int64(c.MaxTokens), System: []anthropic.TextBlockParam{{Text: c.System}},
	}
	for i, text := range c.Turns {
		turn := anthropic.NewUserMessage
		if i%2 == 1 {
			turn = anthropic.NewAssistantMessage
		}
		blocks := []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(text)}
		if i == 0 {
			for _, picture := range c.Pictures {
				blocks = append(blocks, anthropic.NewImageBlockBase64("image/jpeg", base64.StdEncoding.EncodeToString(picture.JPEG)))
			}
		}
		request.Messages = append(request.Messages, turn(blocks...))
	}
	var options []option.RequestOption
	if deadline, ok := ctx.Deadline(); ok {
		// Without one of its own the library refuses answers that may take long.
		options = append(options, option.WithRequestTimeout(until(deadline)))
	}
	var response *anthropic.Message
	var err error
	if hear := listenerOf(ctx); hear != nil {
		response, err = m.stream(ctx, request, hear, options)
	} else {
		response, err = m.messages.New(ctx, request, options...)
	}
	if err != nil {
		return Answer{}, unavailable(ctx, err)
	}
	if response == nil || response.Type != "message" {
		return Answer{}, unavailable(ctx, errors.New("it is no message"))
	}
	var text strings.Builder
	for _, block := range response.Content {
		if block.Type == "text" {
			text.WriteString(block.Text)
		}
	}
	used := response.Usage
	return Answer{
		Text: text.String(), Cut: response.StopReason == anthropic.StopReasonMaxTokens,
		Usage: usageOf(used.InputTokens+used.CacheCreationInputTokens+used.CacheReadInputTokens, used.OutputTokens),
	}, nil
}

// stream asks for one message, and hears it.
func (m *claude) stream(ctx context.Context, request anthropic.MessageNewParams, hear Listener, options []option.RequestOption) (*anthropic.Message, error) {
	stream := m.messages.NewStreaming(ctx, request, options...)
	defer func() { _ = stream.Close() }() // what it said is read, or the request has failed
	var message anthropic.Message
	var text strings.Builder
	done := false
	for stream.Next() {
		event := stream.Current()
		if err := message.Accumulate(event); err != nil {
			return nil, err
		}
		switch said := event.AsAny().(type) {
		case anthropic.ContentBlockDeltaEvent:
			hear.heard(&text, said.Delta.Text)
		case anthropic.MessageStopEvent:
			done = true
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if !done {
		return nil, errBroken
	}
	return &message, nil
}
