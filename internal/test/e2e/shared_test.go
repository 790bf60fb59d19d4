package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
)

var sharedRenderers sharedtest.Pool[*render.Renderer]

// sharedRenderer has an App render with the Renderer of those other tests whose settings
// for it are the same, because its browsers and engines take long to start. Accounts
// are of one App each.
func sharedRenderer(t testing.TB) func(render.Config) (*render.Renderer, error) {
	t.Helper()
	return func(c render.Config) (*render.Renderer, error) {
		c.Slots = 2 // Two tests need not wait for each other.
		c.Logger = nil
		return sharedRenderers.Lend(t, fmt.Sprintf("%+v", c), func() (*render.Renderer, func() error, error) {
			r, err := render.New(context.Background(), c)
			if err != nil {
				return nil, nil, err
			}
			return r, r.Close, nil
		})
	}
}
