package template

import "sync"

// maxRenders is the maximum number of documents that one realm renders, so that its retained memory stays small.
const maxRenders = 1000

// realms holds realms for reuse. A realm that rendered a document without a fault renders the next document of the
// same account; accounts never share a realm. New realms are created in advance.
type realms struct {
	native map[string]nativeHelper // helpers of each

	mu   sync.Mutex
	used *renders // that the account of its last document may use again
	next func() (*renders, error)
}

// take returns a realm for an account's document.
func (r *realms) take(account string) (*renders, error) {
	r.mu.Lock()
	used := r.used
	next := r.next
	r.used = nil
	if used == nil || used.account != account {
		r.next = nil
	}
	r.mu.Unlock()

	switch {
	case used != nil && used.account == account:
		return used, nil
	case next != nil:
		return next()
	}
	return newRenders(r.native)
}

// keep has the account's next document rendered in a realm in which nothing failed.
func (r *realms) keep(used *renders) {
	if used.count++; used.count >= maxRenders {
		return
	}
	used.forget()
	r.mu.Lock()
	r.used = used
	r.mu.Unlock()
}

// makeNext begins to make the realm that take returns to the next account, if there is none.
func (r *realms) makeNext() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil {
		return
	}

	next := sync.OnceValues(func() (*renders, error) { return newRenders(r.native) })
	r.next = next
	go next() //nolint:errcheck // take gets the error
}
