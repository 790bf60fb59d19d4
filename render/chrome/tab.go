package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-rod/rod/lib/proto"
)

const (
	// A warm page is replaced after this much work: its renderer never gives
	// all memory back, and fifty pages cost as much as a new target.
	pageMaxDocuments = 500
	pageMaxPages     = 200
)

// kind is the purpose of a page.
type kind struct {
	mode RenderMode
	// A still page draws no frames: it can be printed but not captured, and code that waits for a frame never runs.
	// Without drawing, a document takes a fifth less processor time.
	still bool
	// An offline page has no network, whatever its mode.
	offline bool
}

// tab is one target: a tab with its renderer. It serves one job at a time.
type tab struct {
	session
	kind
	target   proto.TargetTargetID
	frame    proto.PageFrameID
	context  proto.BrowserBrowserContextID
	window   proto.BrowserGetWindowForTargetResult // as it was made; scripts can resize it
	emulated emulation

	documents, pages int          // work done since it was made
	dirty            bool         // holds the last document still
	blank            *pendingCall // the navigation to a new realm under way

	mu          sync.Mutex
	cancel      context.CancelCauseFunc // ends the job under way
	brokenBy    error                   // why the page may not be used again
	eventsMuted bool                    // its scripts reported so much that further reports are ignored
	load        loadState
	changed     chan struct{} // holds a value when load changed
	headers     *headerRule
	sheets      []sheet        // of the document, while the CSS domain is enabled
	assets      *Job           // whose assets are served
	serving     sync.WaitGroup // goroutines that read them
}

// emulation holds the settings of a job that must not apply to the next one. The zero value is the state of a new
// page.
type emulation struct {
	media       string
	scheme      string
	viewport    Viewport
	transparent bool
}

// newPage makes a target in a browser context and prepares it for its mode.
func newPage(ctx context.Context, root session, id proto.BrowserBrowserContextID, k kind) (*tab, error) {
	var target proto.TargetCreateTargetResult
	// Full Chromium does not know this control and draws as ever.
	create := proto.TargetCreateTarget{URL: blankURL, BrowserContextID: id, EnableBeginFrameControl: k.still}
	if err := root.call(ctx, create, &target); err != nil {
		return nil, err
	}

	created := target.TargetID
	var attached proto.TargetAttachToTargetResult
	if err := root.call(ctx, proto.TargetAttachToTarget{TargetID: created, Flatten: true}, &attached); err != nil {
		root.post(proto.TargetCloseTarget{TargetID: created})
		return nil, err
	}

	p := preparePage(root.conn.session(string(attached.SessionID)), k, created, id)
	err := p.prepare(ctx)
	if err != nil {
		p.close(root)
		return nil, err
	}
	return p, nil
}

// prepare sets up a new target for its render mode. It ends at once when the renderer crashes, because the commands
// would never be answered.
func (t *tab) prepare(ctx context.Context) error {
	ctx, cancel := t.tie(ctx)
	defer cancel(nil)
	err := t.batch(ctx, t.setup()...)
	if err == nil && t.mode == ModeRealm {
		err = t.call(ctx, proto.BrowserGetWindowForTarget{}, &t.window)
	}
	return err
}

// tie makes the returned context end with ctx, and with the use of the page.
func (t *tab) tie(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel = cancel
	if t.brokenBy != nil {
		cancel(t.brokenBy)
	}
	return ctx, cancel
}

// preparePage returns the page of a target that was attached to. From then on it takes
// the target's events.
func preparePage(s session, k kind, target proto.TargetTargetID, id proto.BrowserBrowserContextID) *tab {
	p := &tab{
		session: s,
		kind:    k,
		target:  target,
		frame:   proto.PageFrameID(target), // The main frame of a target has its id.
		context: id,
		load:    newLoadState(),
		changed: make(chan struct{}, 1),
	}

	s.conn.handle(s.id, p.event)
	return p
}

// setup lists the commands that prepare a new target.
func (t *tab) setup() []request {
	// Response bodies are not needed, so the browser need not store them.
	one := 1
	reqs := []request{
		proto.PageEnable{},
		proto.PageSetLifecycleEventsEnabled{Enabled: true},
		proto.NetworkEnable{MaxTotalBufferSize: &one, MaxResourceBufferSize: &one},
		proto.InspectorEnable{}, // Reports the renderer's crash.
	}

	switch t.mode {
	case ModeInline:
		reqs = append(reqs, proto.EmulationSetScriptExecutionDisabled{Value: true})
	case ModeRealm:
		// Reports workers, whose traffic this session would not see, and exceptions of scripts.
		attach := proto.TargetSetAutoAttach{AutoAttach: true, Flatten: true}
		reqs = append(reqs, attach, proto.RuntimeEnable{}, onNewDocument(stayScript))
		if !t.still {
			reqs = append(reqs, onNewDocument(watchScript))
		}
	case ModeOnce:
		reqs = append(reqs, proto.RuntimeEnable{}, onNewDocument(stayScript), onNewDocument(watchScript))
	}

	return reqs
}

// stayScript keeps documents from closing their window: many print themselves when
// they have loaded, and then close it.
const stayScript = `Object.defineProperty(window, 'close',
  {value: function close() {}, writable: true, enumerable: true, configurable: true})`

// onNewDocument runs a script before the scripts of each document.
func onNewDocument(script string) request {
	return proto.PageAddScriptToEvaluateOnNewDocument{Source: script, RunImmediately: true}
}

// close ends the target, even one whose script never ends. The browser kills
// the renderer within about a second.
func (t *tab) close(root session) {
	root.conn.forget(t.id)
	root.post(proto.TargetCloseTarget{TargetID: t.target})
}

// spent reports that the page should not serve another job.
func (t *tab) spent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.brokenBy != nil || t.eventsMuted || t.documents >= pageMaxDocuments || t.pages >= pageMaxPages
}

// begin ties the page to a job: the returned context ends with ctx, and with
// the page's crash or attempt to use a network that its mode does not have.
func (t *tab) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	t.mu.Lock()
	t.documents++
	t.dirty = true
	if t.blank == nil { // Else the state belongs to the navigation under way.
		t.load = newLoadState()
	}

	t.headers = nil
	t.mu.Unlock()
	return t.tie(ctx)
}

// end unties the page from its job, and starts the next realm in advance, so
// that timers of the last document stop now and the next job need not wait.
func (t *tab) end() {
	t.mu.Lock()
	t.cancel = nil
	t.mu.Unlock()
	if t.mode == ModeRealm {
		t.renew()
	}
}

// renew sends the navigation to a new realm without waiting for it.
func (t *tab) renew() {
	t.mu.Lock()
	t.load = newLoadState()
	t.mu.Unlock()
	if call, err := t.conn.send(t.id, proto.PageNavigate{URL: blankURL}); err == nil {
		t.blank = &call
		t.dirty = false
	}
}

// emulate sets the page's emulated state to the job's, which costs a round trip only if the latest job wanted
// another state.
func (t *tab) emulate(ctx context.Context, want emulation) error {
	var reqs []request
	if want.media != t.emulated.media || want.scheme != t.emulated.scheme {
		reqs = append(reqs, proto.EmulationSetEmulatedMedia{
			Media:    want.media,
			Features: []*proto.EmulationMediaFeature{{Name: "prefers-color-scheme", Value: want.scheme}},
		})
	}
	if want.viewport != t.emulated.viewport {
		reqs = append(reqs, want.viewport.request())
	}
	if want.viewport.Mobile != t.emulated.viewport.Mobile {
		reqs = append(reqs, proto.EmulationSetTouchEmulationEnabled{Enabled: want.viewport.Mobile})
	}
	if want.transparent != t.emulated.transparent {
		reqs = append(reqs, background(want.transparent))
	}

	if len(reqs) == 0 {
		return nil
	}
	t.emulated = want
	return t.batch(ctx, reqs...)
}

func (v Viewport) request() request {
	if v == (Viewport{}) {
		return proto.EmulationClearDeviceMetricsOverride{}
	}
	v = v.withDefaults()
	return proto.EmulationSetDeviceMetricsOverride{
		Width: v.Width, Height: v.Height, DeviceScaleFactor: v.Scale, Mobile: v.Mobile,
	}
}

func (v Viewport) withDefaults() Viewport {
	if v.Width == 0 {
		v.Width = 800
	}
	if v.Height == 0 {
		v.Height = 600
	}
	if v.Scale == 0 {
		v.Scale = 1
	}
	return v
}

func background(transparent bool) request {
	if !transparent {
		return proto.EmulationSetDefaultBackgroundColorOverride{}
	}
	return proto.EmulationSetDefaultBackgroundColorOverride{Color: &proto.DOMRGBA{A: new(float64)}}
}

// markBroken ends the job under way with a cause, and the use of the page.
func (t *tab) markBroken(cause error) {
	t.brokenBy = cause
	if t.cancel != nil {
		t.cancel(cause)
	}
}

// event handles an event of the browser. It runs on the connection's reading goroutine.
func (t *tab) event(method string, params json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if name, long := strings.CutPrefix(method, eventOversize); long {
		// A URL that does not fit into a message is a data: URL, and loads nothing.
		switch {
		case strings.HasPrefix(name, "Network."):
		case strings.HasPrefix(name, "Runtime."):
			countEvent(t, name, nil)
		default:
			t.markBroken(errOversize)
		}
		return
	}

	switch method {
	case "Inspector.targetCrashed", "Inspector.detached":
		t.markBroken(errTargetCrashed)
	case eventLost:
		t.markBroken(errConnClosed)
	case eventBroken:
		t.markBroken(errMessage)
	case eventEnded:
		t.markBroken(errWindowClosed)
	case "Target.attachedToTarget", "Network.webSocketCreated", "Network.webTransportCreated":
		if t.mode != ModeOnce {
			t.markBroken(errNeedsNetwork)
		}
	case "Page.javascriptDialogOpening":
		// A dialog stops the page until it is closed.
		t.post(proto.PageHandleJavaScriptDialog{Accept: true})
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
		countEvent(t, method, params)
	case "CSS.styleSheetAdded":
		t.styleSheetAdded(params)
	case "Fetch.requestPaused":
		paused(t, params)
	case "Page.lifecycleEvent", "Page.frameNavigated", "Page.frameDetached", "Network.requestWillBeSent",
		"Network.responseReceived", "Network.responseReceivedExtraInfo",
		"Network.loadingFinished", "Network.loadingFailed":
		t.loadEvent(method, params)
	}
}

// countEvent records a script's report, until the page has reported too much.
func countEvent(p *tab, method string, params json.RawMessage) {
	if p.eventsMuted {
		return
	}
	p.load.troubles.reported(method, params)
	if p.load.troubles.console++; p.load.troubles.console >= maxConsole {
		p.eventsMuted = true
		p.post(proto.RuntimeDisable{})
	}
}

// warningsOf returns the document's problems so far.
func warningsOf(p *tab) []Warning {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.load.troubles.all()
}

// strictWarnings returns the faults that fail the job, now that the document is as it
// will be shown.
func strictWarnings(p *tab, rule FailOn) []Warning {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load.troubles.unfinished(p.load.inFlight)
	return p.load.troubles.strict(rule)
}

// maxOpen is the maximum number of requests that an error names.
const maxOpen = 5

// openRequests returns the addresses of some requests that are under way.
func openRequests(p *tab) (open []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.load.inFlight {
		open = append(open, cut(f.url, maxMessageURL))
	}
	slices.Sort(open)
	return open[:min(len(open), maxOpen)]
}

// loadEvent updates the load state and wakes who waits for it.
func (t *tab) loadEvent(method string, params json.RawMessage) {
	var e loadEvent
	if json.Unmarshal(params, &e) != nil {
		return
	}

	switch {
	case method == "Network.requestWillBeSent" && t.mode != ModeOnce && !local(e.Request.URL):
		t.markBroken(errNeedsNetwork)
	case method == "Page.frameNavigated" && t.mode == ModeInline && e.Frame.ID == string(t.frame):
		// A refresh led away, perhaps after its job was done: the next document
		// would be set on whatever is there now.
		t.markBroken(errNeedsNetwork)
	}

	t.load.apply(method, e, string(t.frame))
	if t.load.moves > maxMoves {
		t.markBroken(&LoadError{URL: t.load.address[e.LoaderID], Reason: endless})
	}

	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// local reports that a URL is answered inside the renderer.
func local(url string) bool {
	for _, scheme := range [...]string{"data:", "blob:", "about:"} {
		if strings.HasPrefix(url, scheme) {
			return true
		}
	}
	return false
}

// await waits until ready returns true for the load state; ready is called
// with the state locked.
func (t *tab) await(ctx context.Context, ready func(*loadState) bool) error {
	for {
		t.mu.Lock()
		ok := ready(&t.load)
		t.mu.Unlock()
		if ok {
			return nil
		}

		select {
		case <-t.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// eval runs an asynchronous function expression in an isolated world, which the document's scripts cannot see or
// break, and which works even if scripts are disabled. args is passed as its one argument.
func (t *tab) eval(ctx context.Context, fn string, args, result any) error {
	return t.evalIn(ctx, t.frame, fn, args, result)
}

// evalIn is eval in one of the document's frames.
func (t *tab) evalIn(ctx context.Context, frame proto.PageFrameID, fn string, args, result any) error {
	arg, err := json.Marshal(args)
	if err != nil {
		return err
	}

	var world proto.PageCreateIsolatedWorldResult
	if err := t.call(ctx, proto.PageCreateIsolatedWorld{FrameID: frame, WorldName: "relaypdf"}, &world); err != nil {
		return err
	}

	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *proto.RuntimeExceptionDetails
	}
	err = t.call(ctx, proto.RuntimeEvaluate{
		Expression:    "(" + fn + ")(" + string(arg) + ")",
		ContextID:     world.ExecutionContextID,
		AwaitPromise:  true,
		ReturnByValue: true,
	}, &out)
	if err != nil {
		return err
	}

	if out.ExceptionDetails != nil {
		return fmt.Errorf("chrome: evaluate: %s", out.ExceptionDetails.Text)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(out.Result.Value, result)
}
