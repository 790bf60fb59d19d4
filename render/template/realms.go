package template

import "sync"

// realms has the next render's realm made while nobody waits for it: each renders
// one document, so that nothing passes from one to another.
type realms struct {
	mu   sync.Mutex
	next func() (*renders, error)
}

// take returns a realm that nothing was rendered in.
func (r *realms) take() (*renders, error) {
	r.mu.Lock()
	next := r.next
	r.next = nil
	r.mu.Unlock()
	if next == nil {
		return newRenders()
	}
	return next()
}

// makeNext begins to make the realm that take returns next.
func (r *realms) makeNext() {
	next := sync.OnceValues(newRenders)
	r.mu.Lock()
	r.next = next
	r.mu.Unlock()
	go next() //nolint:errcheck // take gets the error
}
