package engine

import (
	"context"
	"fmt"
)

// Protection is one of the ways in which children are locked in, and whether
// it works on this machine.
type Protection struct {
	Name string `json:"name"`
	On   bool   `json:"on"`
	// Why is the reason if On is false.
	Why string `json:"why,omitempty"`
}

// Protections returns the protections of the system against the pool's children. It waits for the first of them to
// be ready, until ctx ends.
func (p *Pool) Protections(ctx context.Context) ([]Protection, error) {
	select {
	case <-p.reported:
		return p.protections, nil
	case <-p.ctx.Done():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, waiting(ctx)
	}
}

// note stores the report of the first child.
func (p *Pool) note(r report) {
	p.firstReport.Do(func() {
		p.protections = r.Protections
		for _, protection := range r.Protections {
			if !protection.On {
				p.cfg.Logger.Debug("engines lack a protection", "protection", protection.Name, "why", protection.Why)
			}
		}
		close(p.reported)
	})
}

// startAttempts is the number of children that must fail to start before the pool reports that none can. A very
// busy machine gets several attempts.
const startAttempts = 3

// Ready returns when a first child has started, or the reason why none can. It
// is for a program's start, and called once. The error matches ErrUnavailable.
func (p *Pool) Ready(ctx context.Context) error {
	var last error
	for range startAttempts {
		select {
		case <-p.reported:
			return nil
		case last = <-p.failures:
		case <-p.ctx.Done():
			return ErrClosed
		case <-ctx.Done():
			return waiting(ctx)
		}
	}

	return fmt.Errorf("%w: %w", ErrUnavailable, last)
}

// Starting reports whether the first child is still being started: no job could run at once. A first start that failed
// has ended too, so that one kind of engine cannot keep a service from being ready.
func (p *Pool) Starting() bool { return !p.began.Load() }

// noteFailure keeps why a child could not start.
func (p *Pool) noteFailure(err error) {
	select {
	case p.failures <- err:
	default: // the first ones said enough
	}
}
