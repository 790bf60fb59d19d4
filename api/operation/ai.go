package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"relaypdf/ai"
	"relaypdf/api/fault"
	"relaypdf/render"
	"relaypdf/store"
	"relaypdf/store/credit"
)

// AI is the model that writes templates, and what it costs.
type AI struct {
	Model ai.Model
	// Input and Output are what the provider takes for a million tokens that it
	// reads and writes.
	Input, Output credit.Amount
	// MaxTokens is the most that one answer may have.
	MaxTokens int
	// Timeout bounds a generation, from the first question to the last page.
	Timeout time.Duration
}

const (
	// aiFactor is how often the provider's cost is charged.
	aiFactor = 8
	// million tokens are what providers tell prices for.
	million = 1_000_000
)

// charge returns what tokens cost a customer, rounded up to a microdollar. The
// factors are bounded by ai.Usage and the settings, so that it does not overflow.
func (a *AI) charge(used ai.Usage) credit.Amount {
	cost := credit.Amount(used.Input)*a.Input + credit.Amount(used.Output)*a.Output
	return (aiFactor*cost + million - 1) / million
}

// Quotes are the prices that were promised to the account that pays, and its
// generations of the day.
type Quotes interface {
	// Promise keeps a price for what the digest sums up.
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

// QuoteRefused words why a quote does not hold; any other error it returns as it is.
func QuoteRefused(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fault.Invalid("quoteId", "is not a quote of this account; ask for one with quote: true")
	case errors.Is(err, store.ErrQuoteOther):
		return fault.Invalid("quoteId", "was given for another prompt, sampleData or options; send these as they were, or ask for a new one with quote: true")
	case errors.Is(err, store.ErrQuoteUsed):
		return fault.Invalid("quoteId", "was used: a quote holds for one call; ask for a new one with quote: true")
	case errors.Is(err, store.ErrQuoteExpired):
		return fault.Invalid("quoteId", fmt.Sprintf("has expired: a quote holds for %d minutes; ask for a new one with quote: true", int(store.QuoteLifetime.Minutes())))
	}
	return err
}

// aiRetryAfter is when a client should come back whom the provider did not answer,
// in seconds.
const aiRetryAfter = 30

// errNoAI means that the service has no provider of models.
var errNoAI = errors.New("no provider of models is set up")

// unusableError means that a model's answers cannot be used.
type unusableError struct{ faults []string }

func (e *unusableError) Error() string { return "a model's template is unusable: " + e.faults[0] }

// aiFailure words the failures of generations for the customer.
func aiFailure(err error) *fault.Error {
	var unavailable *ai.UnavailableError
	var unusable *unusableError
	switch {
	case errors.Is(err, errNoAI):
		return &fault.Error{Code: fault.AIUnavailable, Message: "This service has no AI provider, so that it cannot generate templates."}
	case errors.As(err, &unavailable) && unavailable.Late:
		return &fault.Error{Code: fault.AIUnavailable, Message: "The AI provider did not answer in time. A simpler description may help.", RetryAfter: aiRetryAfter}
	case errors.As(err, &unavailable):
		return &fault.Error{Code: fault.AIUnavailable, RetryAfter: aiRetryAfter}
	case errors.As(err, &unusable):
		return &fault.Error{Code: fault.ProcessingFailed, Message: "The model wrote no template that works, also when it was told what is wrong: " + unusable.faults[0] +
			" Describe the document in other words."}
	}
	return nil
}

// patiently does something that may find the renderers busy again until ctx ends:
// what a model has written was paid for.
func patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		var busy *render.BusyError
		if !errors.As(err, &busy) {
			return err
		}
		timer := time.NewTimer(min(max(busy.RetryAfter, 200*time.Millisecond), time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}
