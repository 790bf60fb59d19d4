package chrome

import (
	"context"
	"fmt"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

// animationPause is the time between two looks at a document that draws.
const animationPause = 30 * time.Millisecond

// watchScript counts the callbacks that scripts wait for: frames, and timers that fire within a second. Endless
// chains of timers are left out, because a page that polls would never be done. The script runs in the document's
// own world before its scripts do, and is invisible to the page.
const watchScript = `(() => {
  if (window[Symbol.for('relaypdf')]) return;
  const frames = new Set(), timers = new Set();
  const {requestAnimationFrame: ask, cancelAnimationFrame: unask, setTimeout: start, clearTimeout: stop} = window;
  let depth = 0;
  const replace = (name, f) =>
      Object.defineProperty(window, name, {value: f, writable: true, enumerable: true, configurable: true});
  replace('requestAnimationFrame', function requestAnimationFrame(f) {
    if (typeof f !== 'function') return ask.call(window, f);
    const id = ask.call(window, t => { frames.delete(id); f.call(window, t); });
    frames.add(id);
    return id;
  });
  replace('cancelAnimationFrame', function cancelAnimationFrame(id) { frames.delete(id); unask.call(window, id); });
  replace('setTimeout', function setTimeout(f, delay, ...args) {
    if (typeof f !== 'function' || depth > 3 || delay > 1000) return start.call(window, f, delay, ...args);
    const below = depth;
    const id = start.call(window, () => {
      timers.delete(id);
      depth = below + 1;
      try { f.apply(window, args); } finally { depth = 0; }
    }, delay);
    timers.add(id);
    return id;
  });
  replace('clearTimeout', function clearTimeout(id) { timers.delete(id); stop.call(window, id); });
  Object.defineProperty(window, Symbol.for('relaypdf'), {value: () => frames.size * 1e6 + timers.size});
})()`

// pendingScript returns the number of frames and timers that scripts wait for: a frame counts frameUnit, a timer 1.
const pendingScript = `(f => typeof f === 'function' ? Number(f()) || 0 : 0)(window[Symbol.for('relaypdf')])`

// frameUnit is the value of a frame in the result of pendingScript.
const frameUnit = 1_000_000

// finishScript ends the animations and transitions of style sheets and of the Web Animations API, and returns how
// many it ended: later ones may start then. With wait, it waits for the frame in which scripts learn of the end.
// Endless animations are rewound to their beginning. Animations that a script has paused, or that follow the scrolling,
// stay as they are.
const finishScript = `async wait => {
  let ended = 0;
  for (const a of document.getAnimations()) {
    const timing = a.effect && a.effect.getComputedTiming();
    if (!timing || a.timeline !== document.timeline || a.playState === 'paused' || a.playState === 'finished') continue;
    try {
      if (timing.endTime === Infinity) { a.pause(); a.currentTime = timing.delay; } else { a.finish(); }
      ended++;
    } catch {}
  }
  for (const svg of document.querySelectorAll('svg')) {
    if (svg.ownerSVGElement || svg.animationsPaused()) continue;
    let end = 0;
    for (const e of svg.querySelectorAll('animate, animateTransform, animateMotion, set')) {
      try {
        const last = e.getStartTime() + e.getSimpleDuration() * (Number(e.getAttribute('repeatCount')) || 1);
        if (last < 60) end = Math.max(end, last);
      } catch {}
    }
    if (end > svg.getCurrentTime()) { svg.setCurrentTime(end); ended++; }
  }
  if (wait && ended) await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return ended;
}`

// mayAnimate reports whether the job's document can be under way when it has loaded.
func (r *jobRun) mayAnimate() bool {
	switch {
	case r.job.Animate:
		return false
	case r.job.URL != "" || r.job.WaitForFunction != "":
		return true
	case containsFold(r.job.HTML, "anim") || containsFold(r.job.HTML, "transition"):
		return true
	case r.job.RenderMode == ModeOnce:
		return containsFold(r.job.HTML, "script") || containsFold(r.job.HTML, "stylesheet") ||
			containsFold(r.job.HTML, "@import")
	}
	return r.job.RenderMode == ModeRealm && draws(r.job.HTML)
}

// finish brings a document to where its animations and its drawing scripts lead,
// as far as that takes no longer than the limit.
func finish(ctx context.Context, p *tab, limit time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2) // The rest is for the output.
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	left := frameUnit // until the first check
	for bounded.Err() == nil {
		// Count the scripts' pending work first: animations that start until it is done are
		// ended below, and later ones are waited for again.
		if p.mode != ModeInline {
			var out struct{ Result struct{ Value float64 } }
			pending := proto.RuntimeEvaluate{Expression: pendingScript, ReturnByValue: true, Silent: true}
			err := p.call(bounded, pending, &out)
			if stale := ignoreStale(ctx, err); stale != nil {
				return stale
			}
			if err == nil {
				left = int(out.Result.Value)
			}
		}

		ended := 0
		if err := ignoreStale(ctx, p.eval(bounded, finishScript, p.mode != ModeInline, &ended)); err != nil {
			return err
		}
		if p.mode == ModeInline || left == 0 && ended == 0 {
			return nil // There is nothing that could start another.
		}

		if ended > 0 {
			continue // The script has waited for frames.
		}
		if err := pause(bounded, animationPause); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}

	if left >= frameUnit {
		warnf(p, AnimationUnfinished,
			"scripts were still drawing after %.1f s. "+
				"Set waitForFunction or waitForSelector, or set animations to allow",
			limit.Seconds())
	}

	return nil
}

// warn adds a warning about the page.
func warn(p *tab, w Warning) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load.troubles.add(w)
}

// warnf is warn with a formatted message, without a URL.
func warnf(p *tab, code, format string, args ...any) {
	warn(p, Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}
