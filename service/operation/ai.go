package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// AI is the model that writes templates and extracts data from documents, with its prices.
type AI struct {
	Model llm.Model
	// Input and Output are the provider's prices for a million tokens that it reads and writes.
	Input, Output credit.Amount
	// MaxTokens is the maximum number of tokens of one response.
	MaxTokens int
	// Timeout limits one call's conversation with the model, from the first request to the check of the last
	// response.
	Timeout time.Duration
}

const (
	// aiFactor is the factor between the provider's cost and the charge.
	aiFactor = 8
	// million is the number of tokens that providers state prices for.
	million = 1_000_000
)

// charge returns the price of tokens for an account, rounded up to a microdollar. The factors are bounded by
// ai.Usage and the settings, so that it does not overflow.
func (a *AI) charge(used llm.Usage) credit.Amount {
	cost := credit.Amount(used.Input)*a.Input + credit.Amount(used.Output)*a.Output
	return (aiFactor*cost + million - 1) / million
}

// Quotes are the prices that were promised to the account that pays, and its
// generations of the day.
type Quotes interface {
	// Promise stores a price for the request with a digest.
	Promise(ctx context.Context, digest []byte, amount credit.Amount) (Quote, error)
	// Find returns a promised price, or one of the store's errors of quotes.
	Find(ctx context.Context, id string, digest []byte) (credit.Amount, error)
	// Begin counts a generation as failed until spared is called. It refuses one
	// when too many have failed today.
	Begin(ctx context.Context) (spared func(context.Context) error, err error)
}

// Quote is a promised price.
type Quote struct {
	ID        string
	Amount    credit.Amount
	ExpiresAt time.Time
}

// QuoteRefused returns the API error for an invalid quote; other errors are returned unchanged.
func QuoteRefused(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return wire.Invalid("quoteId", "is not a quote of this account. Request one with quote: true")
	case errors.Is(err, store.ErrQuoteOther):
		return wire.Invalid(
			"quoteId",
			"belongs to a different request. Send the quoted fields unchanged, or request a new quote with quote: true",
		)
	case errors.Is(err, store.ErrQuoteUsed):
		return wire.Invalid(
			"quoteId", "was already used: a quote is valid for one call. Request a new one with quote: true",
		)
	case errors.Is(err, store.ErrQuoteExpired):
		return wire.Invalid(
			"quoteId",
			fmt.Sprintf(
				"has expired: a quote is valid for %d minutes. Request a new one with quote: true",
				int(store.QuoteLifetime.Minutes()),
			),
		)
	}
	return err
}

// aiRetryAfter is the Retry-After, in seconds, after a failure of the provider.
const aiRetryAfter = 30

// errNoAI means that the service has no provider of models.
var errNoAI = errors.New("no AI provider is configured")

// unusableError means that a model's answers cannot be used.
type unusableError struct{ fault string }

func (e *unusableError) Error() string { return "the model's response is unusable: " + e.fault }

// aiFailure words the failures of generations for the customer.
func aiFailure(err error) *wire.Error {
	var unavailable *llm.UnavailableError
	var unusable *unusableError
	switch {
	case errors.Is(err, errNoAI):
		return &wire.Error{
			Code:    wire.AIUnavailable,
			Message: "AI features are disabled on this server: no AI provider is configured.",
		}
	case errors.As(err, &unavailable) && unavailable.TimedOut:
		return &wire.Error{
			Code:       wire.AIUnavailable,
			Message:    "The AI provider timed out. Retry, or send a shorter description or fewer pages.",
			RetryAfter: aiRetryAfter,
		}
	case errors.As(err, &unavailable):
		return &wire.Error{Code: wire.AIUnavailable, RetryAfter: aiRetryAfter}
	case errors.As(err, &unusable):
		return &wire.Error{
			Code: wire.ProcessingFailed,
			Message: "The model returned no valid result after a second attempt: " + unusable.fault +
				" Reword the description and retry.",
		}
	}
	return nil
}

// QuoteFields are the fields of an input whose price depends on the tokens of a model.
type QuoteFields struct {
	Quote   bool   `json:"quote,omitempty" jsonschema:"default=false" jsonschema_description:"If true, return a fixed price instead of a result, free of charge. The quote is valid for 15 minutes and one call with the same input."`
	QuoteID string `json:"quoteId,omitempty" jsonschema:"maxLength=100" jsonschema_description:"ID of the quote to use; the call costs exactly its amount. Without a quote, the price depends on the tokens that the model uses."`
}

func (q QuoteFields) check(faults *schema.FieldErrors) {
	if q.Quote && q.QuoteID != "" {
		faults.Add("quoteId", "is mutually exclusive with quote, which requests a new one")
	}
}

// Promised is a quoted price, if one was requested.
type Promised struct {
	QuoteID            string         `json:"quoteId,omitempty" jsonschema_description:"ID of the quote, if the request asked for one."`
	AmountMicrodollars *credit.Amount `json:"amountMicrodollars,omitempty" jsonschema_description:"Price of a call with the quote, in microdollars."`
	ExpiresAt          *time.Time     `json:"expiresAt,omitempty" jsonschema_description:"Expiry time of the quote."`
}

// promise quotes a price for the request with a digest.
func (e *Deps) promise(ctx context.Context, digest []byte, amount credit.Amount) (Promised, error) {
	quote, err := e.Quotes.Promise(ctx, digest, amount)
	if err != nil {
		return Promised{}, err
	}
	expires := quote.ExpiresAt.Truncate(time.Millisecond)
	return Promised{QuoteID: quote.ID, AmountMicrodollars: &quote.Amount, ExpiresAt: &expires}, nil
}

// promised returns the quoted price for the request with a digest.
func (e *Deps) promised(ctx context.Context, id string, digest []byte) (schema.Price, error) {
	amount, err := e.Quotes.Find(ctx, id, digest)
	return schema.Price{Amount: amount, QuoteID: id}, QuoteRefused(err)
}

const (
	// aiTries is the number of attempts with a model: the first, and a second with the errors of the first.
	aiTries = 2
	// maxReason limits the validation error of a model's response that a customer sees.
	maxReason = 300
)

// judge checks a response, and returns its errors. Its own error has another cause than the response.
type judge func(ctx context.Context, answer llm.Response) (faults []string, err error)

// ask has the model answer until its answer is usable, and returns the used tokens. An account whose answers fail
// too often has to wait until tomorrow.
func (e *Deps) ask(ctx context.Context, c llm.Conversation, look judge) (used llm.Usage, err error) {
	spared, err := e.Quotes.Begin(ctx)
	if err != nil {
		return used, err
	}

	bounded, cancel := context.WithTimeout(ctx, e.AI.Timeout)
	defer cancel()
	used, err = e.converse(bounded, c, look)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = &llm.UnavailableError{Cause: err, TimedOut: true}
	}

	if !blamed(ctx, err) {
		// If this fails, the failure counts once more.
		_ = spared(context.WithoutCancel(ctx))
	}

	return used, err
}

// converse asks the model, and asks again with the errors of its response.
func (e *Deps) converse(ctx context.Context, c llm.Conversation, look judge) (used llm.Usage, err error) {
	var faults []string
	for range aiTries {
		answer, err := e.AI.Model.Respond(ctx, c)
		if err != nil {
			return used, err
		}

		used = used.Add(answer.Usage)
		if faults, err = look(ctx, answer); err != nil || len(faults) == 0 {
			return used, err
		}
		c = c.Repair(answer.Text, faults)
	}

	return used, &unusableError{fault: strings.ToValidUTF8(faults[0][:min(len(faults[0]), maxReason)], "")}
}

// blamed reports whether a failure counts: the model was asked without success, and the cause is neither the
// provider nor this service.
func blamed(ctx context.Context, err error) bool {
	var unavailable *llm.UnavailableError
	var unusable *unusableError
	return errors.As(err, &unusable) || errors.As(err, &unavailable) && unavailable.TimedOut ||
		err != nil && ctx.Err() != nil
}

// busyPause is the minimum pause before busy renderers are asked again.
const busyPause = 200 * time.Millisecond

// WhenFree repeats do while the renderers are busy, until ctx ends: for work that has been paid for, or that no client
// waits for.
func WhenFree(ctx context.Context, do func() error) error {
	for {
		err := do()
		var busy *chrome.BusyError
		if !errors.As(err, &busy) {
			return err
		}
		if guard.Pause(ctx, max(busyPause, min(busy.RetryAfter, time.Second))); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
