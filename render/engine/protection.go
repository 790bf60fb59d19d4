package engine

import "context"

// Protection is one of the ways in which children are locked in, and whether
// it works on this machine.
type Protection struct {
	Name string `json:"name"`
	On   bool   `json:"on"`
	// Why says what is missing when On is false.
	Why string `json:"why,omitempty"`
}

// Protections returns what protects the system from the pool's children. It
// waits for the first of them to be ready, until ctx ends.
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

// note keeps what the first child reports, and warns of what is missing.
func (p *Pool) note(r report) {
	p.firstReport.Do(func() {
		p.protections = r.Protections
		for _, protection := range r.Protections {
			if !protection.On {
				p.cfg.Logger.Warn("engines lack a protection", "protection", protection.Name, "why", protection.Why)
			}
		}
		close(p.reported)
	})
}
