package main

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/go-rod/rod"

	"relaypdf/render"
)

// shared is what tests use together while they run side by side, one for each key.
// It ends with the last of them, so that none outlives those that count processes.
type shared[T any] struct {
	mu   sync.Mutex
	made map[string]*lent[T]
}

// lent is one of them, with how many use it.
type lent[T any] struct {
	users int
	ready sync.Once
	thing T
	end   func() error
	err   error
}

// lend returns the thing of the key to a test, made by the first that asks.
func (s *shared[T]) lend(t testing.TB, key string, start func() (T, func() error, error)) (T, error) {
	t.Helper()
	s.mu.Lock()
	one := s.made[key]
	if one == nil {
		one = &lent[T]{}
		if s.made == nil {
			s.made = map[string]*lent[T]{}
		}
		s.made[key] = one
	}
	one.users++
	s.mu.Unlock()
	t.Cleanup(func() {
		s.mu.Lock()
		one.users--
		last := one.users == 0
		if last {
			delete(s.made, key)
		}
		s.mu.Unlock()
		if last && one.end != nil {
			if err := one.end(); err != nil {
				t.Error(err)
			}
		}
	})
	one.ready.Do(func() { one.thing, one.end, one.err = start() })
	return one.thing, one.err
}

var (
	sharedRenderers shared[*render.Renderer]
	sharedBrowsers  shared[*rod.Browser]
)

// sharedRenderer has an App render with the Renderer of those other tests whose settings
// for it are the same, because its browsers and engines take long to start. Accounts
// are of one App each.
func sharedRenderer(t testing.TB) func(render.Config) (*render.Renderer, error) {
	t.Helper()
	return func(c render.Config) (*render.Renderer, error) {
		c.Slots = 2 // Two tests need not wait for each other.
		c.Logger = nil
		return sharedRenderers.lend(t, fmt.Sprintf("%+v", c), func() (*render.Renderer, func() error, error) {
			r, err := render.New(context.Background(), c)
			if err != nil {
				return nil, nil, err
			}
			return r, r.Close, nil
		})
	}
}
