package apitest

import (
	"context"
	"fmt"
	"sync"

	"relaypdf/api/call"
)

// Payments is a provider of payments for tests. It charges once for each id, as
// the real ones do, and is safe for concurrent use.
type Payments struct {
	// Answer, if set, is asked before each charge; its error is the charge's.
	Answer func(ctx context.Context, c call.Charge) error

	mu   sync.Mutex
	paid []call.Charge
}

// Name is the provider's.
func (p *Payments) Name() string { return "test" }

// Checkout returns an address that says what is to be paid.
func (p *Payments) Checkout(_ context.Context, c call.Checkout) (string, error) {
	return fmt.Sprintf("https://pay.example/%s/%d", c.AccountID, c.Amount), nil
}

// Charge remembers the charge. Its reference derives from its id.
func (p *Payments) Charge(ctx context.Context, c call.Charge) (string, error) {
	if p.Answer != nil {
		if err := p.Answer(ctx, c); err != nil {
			return "", err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	reference := "ch_" + c.ID
	for _, before := range p.paid {
		if before.ID == c.ID {
			return reference, nil
		}
	}
	p.paid = append(p.paid, c)
	return reference, nil
}

// Paid returns what was charged so far.
func (p *Payments) Paid() []call.Charge {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]call.Charge(nil), p.paid...)
}
