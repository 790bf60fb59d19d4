package ratelimit

import "sync"

// Gate lets a number of requests of one key run at once in this process.
type Gate struct {
	maximum int
	mu      sync.Mutex
	inside  map[string]int
}

// NewGate returns a gate for at most most requests of a key at once.
func NewGate(maximum int) *Gate { return &Gate{maximum: maximum, inside: map[string]int{}} }

// Enter reports whether one more request of key may run. One that may must
// call leave when it has ended.
func (g *Gate) Enter(key string) (leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside[key] >= g.maximum {
		return nil, false
	}
	g.inside[key]++

	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.inside[key]--; g.inside[key] == 0 {
			delete(g.inside, key)
		}
	}), true
}
