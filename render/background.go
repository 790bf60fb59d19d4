package render

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
)

// Background returns the Renderer of an account for work without a charge, such as previews during typing. This
// work has its own browser and engines, which use only the processor time that the others leave. In that case apart
// is true. If they have not started yet, cannot start, or there is too little memory for both, Background returns
// the same as For.
func (r *Renderer) Background(account string) (a *Account, apart bool) {
	if r == nil || !r.behind.cfg.plan.Background {
		return r.For(account), false
	}
	if behind := r.behind.renderer(); behind != nil {
		return behind.For(account), true
	}
	return r.For(account), false
}

// background holds a browser and an engine of low priority. They start on first use.
type background struct {
	front *Renderer
	cfg   Config

	mu      sync.Mutex
	made    *Renderer
	failed  time.Time // time of the latest failed start
	leave   context.CancelFunc
	closed  bool
	started sync.WaitGroup
}

const (
	backgroundStart = time.Minute // limit of one start
	backgroundPause = time.Minute // pause after a failed start
)

// renderer returns the started Renderer. If there is none yet, it returns nil without waiting.
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
		b.made = made
		b.leave = nil

		if err != nil && !b.closed {
			b.failed = time.Now()
			b.cfg.Logger.Warn("start the browser of previews failed; previews wait in line with calls", "error", err)
		}
	})
	return nil
}

// running returns the started Renderer, or nil, and starts nothing.
func (b *background) running() *Renderer {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.made
}

// start starts the low-priority Renderer while the main one runs.
func (b *background) start(ctx context.Context) (*Renderer, error) {
	made := *b.front

	e := b.cfg.engine()
	e.Size = 1
	e.Background = true

	var err error
	if made.engines, err = engine.Start(e); err != nil {
		return nil, fmt.Errorf("start the engines: %w", err)
	}
	made.markup = made.engines

	c := b.cfg.chrome("http://" + b.front.proxy.Addr())
	c.Slots = 1
	c.Browsers = 2
	c.WarmPages = min(c.WarmPages, 4)
	c.Background = true
	if made.browser, err = chrome.Start(ctx, c); err != nil {
		return nil, errors.Join(fmt.Errorf("start the browser: %w", err), made.engines.Close())
	}
	return &made, nil
}

// close ends the started Renderer, and one that is starting.
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
