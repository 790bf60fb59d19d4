package render

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"relaypdf/internal/guard"
	"relaypdf/render/chrome"
	"relaypdf/render/engine"
)

// Background returns the Renderer as an account uses it for what nobody pays for,
// such as previews while somebody types. Browser and engines are of its own kind
// there, and have what the others leave of the processor: apart tells so. Where the
// machine has no memory for both, until they have started, and where they do not, it
// is For.
func (r *Renderer) Background(account string) (a *Account, apart bool) {
	if r == nil || !r.behind.cfg.plan.Background {
		return r.For(account), false
	}
	if behind := r.behind.renderer(); behind != nil {
		return behind.For(account), true
	}
	return r.For(account), false
}

// background is a browser and an engine of low priority, which start when they are
// first wanted.
type background struct {
	front *Renderer
	cfg   Config

	mu      sync.Mutex
	made    *Renderer
	failed  time.Time // when it last did not start
	leave   context.CancelFunc
	closed  bool
	started sync.WaitGroup
}

const (
	backgroundStart = time.Minute // bounds a start
	backgroundPause = time.Minute // after one that failed
)

// renderer returns what has started; nil where that is still to come, for which
// nobody waits.
func (b *background) renderer() *Renderer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.made != nil || b.leave != nil || time.Since(b.failed) < backgroundPause {
		return b.made
	}
	ctx, cancel := context.WithTimeout(context.Background(), backgroundStart)
	b.leave = cancel
	b.started.Go(func() {
		defer cancel()
		var made *Renderer
		err := guard.Try(func() (err error) {
			made, err = b.start(ctx)
			return err
		})
		b.mu.Lock()
		defer b.mu.Unlock()
		b.made, b.leave = made, nil
		if err != nil && !b.closed {
			b.failed = time.Now()
			b.cfg.Logger.Warn("start the browser of previews failed; previews wait in line with calls", "error", err)
		}
	})
	return nil
}

// running is renderer without a start.
func (b *background) running() *Renderer {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.made
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

// close ends what has started, and what is about to.
func (b *background) close() error {
	b.mu.Lock()
	b.closed = true
	if b.leave != nil {
		b.leave()
	}
	b.mu.Unlock()
	b.started.Wait()
	if b.made == nil {
		return nil
	}
	return errors.Join(b.made.browser.Close(), b.made.engines.Close())
}
