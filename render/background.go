package render

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"relaypdf/render/chrome"
	"relaypdf/render/engine"
)

// Background returns the Renderer as an account uses it for what nobody pays for,
// such as previews while somebody types. Browser and engines are of its own kind
// there, and have what the others leave of the processor: apart tells so. Where the
// machine has no memory for both, or they do not start, it is For.
func (r *Renderer) Background(account string) (a *Account, apart bool) {
	if r == nil || !r.behind.cfg.plan.Background {
		return r.For(account), false
	}
	behind, err := r.behind.renderer()
	if err != nil {
		r.behind.cfg.Logger.Warn("start the browser of previews failed; calls wait for previews", "error", err)
		return r.For(account), false
	}
	return behind.For(account), true
}

// background is a browser and an engine of low priority, which start when they are
// first wanted.
type background struct {
	front *Renderer
	cfg   Config

	mu     sync.Mutex
	made   *Renderer
	failed time.Time // when it last did not start
	closed bool
}

// errPause says why it does not start again yet.
var errPause = errors.New("it did not start a moment ago")

const (
	backgroundStart = 20 * time.Second // bounds a start
	backgroundPause = time.Minute      // after one that failed
)

func (b *background) renderer() (*Renderer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, ErrClosed
	case b.made != nil:
		return b.made, nil
	case time.Since(b.failed) < backgroundPause:
		return nil, errPause
	}
	// Whoever comes first may leave: it starts for all.
	ctx, cancel := context.WithTimeout(context.Background(), backgroundStart)
	defer cancel()
	made, err := b.start(ctx)
	if err != nil {
		b.failed = time.Now()
		return nil, err
	}
	b.made = made
	return made, nil
}

// start starts what works, beside all else of the Renderer in front.
func (b *background) start(ctx context.Context) (*Renderer, error) {
	made := *b.front
	e := b.cfg.engine()
	e.Size, e.Background = 1, true
	var err error
	if made.engines, err = engine.Start(e); err != nil {
		return nil, fmt.Errorf("start the engines: %w", err)
	}
	made.markup = made.engines
	c := b.cfg.chrome("http://" + b.front.proxy.Addr())
	c.Slots, c.Browsers, c.WarmPages, c.Background = 1, 2, min(c.WarmPages, 4), true
	if made.browser, err = chrome.Start(ctx, c); err != nil {
		return nil, errors.Join(fmt.Errorf("start the browser: %w", err), made.engines.Close())
	}
	return &made, nil
}

// close ends what has started.
func (b *background) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.made == nil {
		return nil
	}
	return errors.Join(b.made.browser.Close(), b.made.engines.Close())
}
