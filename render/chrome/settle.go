package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

// scrollSteps bounds the way down a page, at one frame (16 ms) each.
const scrollSteps = 60

// settleScript waits until the document has its final appearance. It loads lazy images, scrolls down the page so
// that content that waits to be visible is drawn, and waits for fonts, images and two frames. Images that were
// loading before are left alone, because the job's own wait condition did not ask for them. If the job did not ask
// for the load event either, the script waits only for fonts that are loading: fonts.ready would wait for that
// event.
const settleScript = `async ({lazy, draw, steps, patient}) => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const root = document.scrollingElement || document.documentElement;
  const loading = new Set([...document.images].filter(i => !i.complete && i.loading !== 'lazy'));
  if (lazy) {
    for (const e of document.querySelectorAll('[loading=lazy i]')) e.loading = 'eager';
  }
  if (draw && root.scrollHeight > innerHeight) {
    const top = root.scrollTop;
    const step = Math.max(innerHeight, Math.ceil(root.scrollHeight / steps));
    for (let y = step, n = 0; y < root.scrollHeight && n < steps; y += step, n++) {
      scrollTo({top: y, behavior: 'instant'});
      await frame();
    }
    await frame(); // what was scrolled into view last is only seen at the end of its frame
    scrollTo({top, behavior: 'instant'});
  }
  root.getBoundingClientRect();
  if (patient) await document.fonts.ready;
  else await Promise.allSettled([...document.fonts].filter(f => f.status === 'loading').map(f => f.loaded));
  await Promise.allSettled([...document.images].filter(i => !loading.has(i)).map(i => i.decode()));
  if (draw) { await frame(); await frame(); }
}`

// settleOptions is the script's argument.
type settleOptions struct {
	Lazy  bool `json:"lazy"`
	Draw  bool `json:"draw"`
	Steps int  `json:"steps"`
	// Patient waits for the load event, which a job may do without.
	Patient bool `json:"patient"`
}

// settle waits for the conditions beyond the load event, up to a limit.
func (t *tab) settle(ctx context.Context, opt settleOptions, limit time.Duration) error {
	opt.Steps = scrollSteps
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2) // The rest is for the output.
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return ignoreStale(ctx, t.eval(bounded, settleScript, opt, nil))
}

// ignoreStale drops the error of a script that timed out or whose document is gone, as long
// as the job itself continues.
func ignoreStale(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errConnClosed) {
		return err
	}
	return nil
}

// draws reports whether the text of a document without network can contain
// script that draws later than the load event. Only such documents pay for the
// frames they need.
func draws(html string) bool {
	for _, name := range [...]string{
		"AnimationFrame", "Observer", "setTimeout", "Promise", "async", "Idle",
		"FontFace", "fonts", "decode", "animate", "ransition", "scroll", "matchMedia", "Offscreen", "webg",
		"eval", "Function", "import(", // Code that these run is unknown here.
	} {
		if strings.Contains(html, name) {
			return true
		}
	}
	return false
}

// holdsResources reports whether a document without script can refer to a font
// or an image that loads after the load event.
func holdsResources(html string) bool {
	return containsFold(html, "@font-face") || containsFold(html, "lazy")
}

// containsFold is strings.Contains without regard to ASCII case; sub is lower
// case.
func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		// Setting bit 5 folds letters and leaves "@" alone only by luck of the
		// comparison that follows; it is there to skip most positions fast.
		if s[i]|0x20 == sub[0]|0x20 && strings.EqualFold(s[i:i+len(sub)], sub) {
			return true
		}
	}
	return false
}

// containsAny reports whether a text has one of some words in lower case, without regard to ASCII case.
func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return containsFold(s, word) })
}

// selectorScript waits until a selector matches.
const selectorScript = `async ({selector, wait}) => {
  const found = () => document.querySelector(selector) !== null;
  try { if (found()) return 'found'; } catch { return 'invalid'; }
  if (!wait) return 'missing';
  return new Promise(done => {
    const look = () => { if (found()) { observer.disconnect(); done('found'); } };
    const observer = new MutationObserver(look);
    observer.observe(document, {childList: true, subtree: true, attributes: true});
    look();
  });
}`

// awaitSelector waits until the selector matches an element. Without script a
// document does not change, so there it is decided at once.
func (t *tab) awaitSelector(ctx context.Context, selector string) error {
	args := struct {
		Selector string `json:"selector"`
		Wait     bool   `json:"wait"`
	}{selector, t.mode != ModeInline}

	for {
		var answer string
		err := t.eval(ctx, selectorScript, args, &answer)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errConnClosed):
			return err
		case answer == "found":
			return nil
		case answer == "invalid":
			return ErrWaitForSelector
		case answer == "missing":
			return errStill
		}

		// The document was replaced by a navigation: look in the new one.
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// functionPause is the pause between two evaluations of the function to wait for.
const functionPause = 50 * time.Millisecond

// awaitFunction waits until an expression of the document's own scripts is truthy. An expression that throws is
// evaluated again, because a variable that it names may not exist yet.
func awaitFunction(ctx context.Context, p *tab, expression string) error {
	// A comment at its end must not hide the rest.
	text := "(v => typeof v === 'function' ? v() : v)((" + strings.TrimRight(expression, "; \t\r\n") + "\n))"

	for {
		var out struct {
			Result           remoteValue
			ExceptionDetails *struct{ Exception remote }
		}
		err := p.call(ctx, proto.RuntimeEvaluate{Expression: text, AwaitPromise: true, Silent: true}, &out)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errConnClosed):
			return err
		case err != nil: // The document was replaced by a navigation.
		case out.ExceptionDetails != nil:
			text, _, _ := strings.Cut(out.ExceptionDetails.Exception.String(), "\n")
			if strings.HasPrefix(text, "SyntaxError") {
				return &FunctionError{Text: cut(text, maxMessageText)}
			}
		case out.Result.truthy():
			return nil
		}

		if err := pause(ctx, functionPause); err != nil {
			return err
		}
	}
}

// remoteValue is the value of an expression.
type remoteValue struct {
	Type, Subtype, UnserializableValue string
	Value                              json.RawMessage
}

// truthy reports whether a value is truthy in JavaScript.
func (v remoteValue) truthy() bool {
	switch v.Type {
	case "undefined":
		return false
	case "object":
		return v.Subtype != "null"
	case "bigint", "number":
		if v.UnserializableValue != "" {
			return v.UnserializableValue != "NaN" && v.UnserializableValue != "-0" && v.UnserializableValue != "0n"
		}
	case "function", "symbol":
		return true
	}

	switch string(v.Value) {
	case "", "false", "0", `""`:
		return false
	}
	return true
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
